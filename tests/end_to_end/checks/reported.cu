// Faults that were reported to public projects, in our own code with the same pattern, and the same kernels
// without them (`RIGHT`). Kernels are named after their cases, and those after the projects. A comment after
// the second access names the case and its finding.
#include <cuda_fp16.h>

#include "tests/end_to_end/checks/async_instructions.h"
#include "tests/end_to_end/checks/cases.h"

constexpr int warps = 4;  // that compute; one more loads
constexpr int block = 32 * (warps + 1);
constexpr int stage = 32 * warps;  // elements of a buffer
constexpr int stage_bytes = 4 * stage;
constexpr int tokens = 3;

__device__ inline bool computes() { return threadIdx.x < 32 * warps; }
__device__ inline bool is_loader() { return threadIdx.x == 32 * warps; }

// ---------------------------------------------------------------- MoonshotAI/FlashKDA#24

/// The state is converted by ordinary stores and then stored by a bulk copy.
template <bool RIGHT>
__global__ void flash_kda_conversion(int* in, int* out) {
  __shared__ alignas(128) __half narrow[stage];
  __shared__ alignas(128) float wide[stage];
  if (computes()) {
    narrow[threadIdx.x] = __int2half_rn(in[threadIdx.x]);
    wide[threadIdx.x] = __half2float(narrow[threadIdx.x]);
    if (RIGHT) PROXY_FENCE();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out + stage * blockIdx.x, wide, stage_bytes);  // flash_kda_conversion: missing proxy fence
    BULK_COMMIT();
    BULK_WAIT(0);
  }
}

/// A block per sequence. The loop over its tiles has the fence, but the second sequence is empty.
template <bool RIGHT>
__global__ void flash_kda_empty(int* in, int* out) {
  __shared__ alignas(128) int state[stage];
  if (computes()) state[threadIdx.x] = 0;
  const int tiles = blockIdx.x == 0 ? 2 : in[0];
  for (int tile = 0; tile < tiles; ++tile) {
    if (computes()) state[threadIdx.x] += in[stage * tile + threadIdx.x];
    PROXY_FENCE();
    __syncthreads();
  }
  if (RIGHT) PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x == 0) {
    BULK_STORE(out + stage * blockIdx.x, state, stage_bytes);  // flash_kda_empty: missing proxy fence
    BULK_COMMIT();
    BULK_WAIT(0);
  }
}

// ---------------------------------------------------------------- deepseek-ai/DeepEP#621, #632 and #642

/// A warp loads contributions of experts into two stages, which the others add up and release.
template <bool RIGHT>
__global__ void deep_ep_stage(int* in, int* out) {
  __shared__ alignas(128) int stages[2][stage];
  __shared__ std::uint64_t full[2];
  __shared__ std::uint64_t empty[2];
  if (is_loader()) {
    for (int i = 0; i < 2; ++i) {
      INIT(&full[i], 1);
      INIT(&empty[i], 32 * warps);
    }
  }
  __syncthreads();
  if (is_loader()) {
    for (int i = 0; i < 2 * tokens; ++i) {
      WAIT_OBJECT(&empty[i % 2], (i / 2 & 1) ^ 1);
      ARRIVE_EXPECT(&full[i % 2], stage_bytes);
      int* const to = stages[i % 2];
      BULK_LOAD(to, in + stage * i, stage_bytes, &full[i % 2]);  // deep_ep_stage: missing proxy fence
    }
  } else if (computes()) {
    int sum = 0;
    for (int i = 0; i < 2 * tokens; ++i) {
      WAIT_OBJECT(&full[i % 2], i / 2 & 1);
      sum += stages[i % 2][threadIdx.x];
      if (RIGHT) PROXY_FENCE();
      ARRIVE(&empty[i % 2]);
    }
    out[stage * blockIdx.x + threadIdx.x] = sum;
  }
}

/// The first block sends a token and sets a flag, for which the second waits before it loads the token.
template <bool RIGHT>
__global__ void deep_ep_flag(int* in, int* out) {
  __shared__ alignas(128) int token[stage];
  __shared__ std::uint64_t full;
  int* const flag = in + stage;
  if (blockIdx.x == 0) {
    if (computes()) out[threadIdx.x] = in[threadIdx.x] + 1;
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
    return;
  }
  if (threadIdx.x == 0) {
    INIT(&full, 1);
    int is_set = 0;
    while (is_set == 0)
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(is_set) : "l"(flag) : "memory");
    if (RIGHT) asm volatile("fence.proxy.async;" ::: "memory");
    ARRIVE_EXPECT(&full, stage_bytes);
    BULK_LOAD(token, out, stage_bytes, &full);  // deep_ep_flag: missing proxy fence
  }
  __syncthreads();
  WAIT_OBJECT(&full, 0);
  if (computes()) out[stage + threadIdx.x] = token[threadIdx.x];
}

// ---------------------------------------------------------------- NVIDIA/TransformerEngine#2695

/// Two buffers in turn: the next tile is loaded while this one is reduced.
template <bool RIGHT>
__global__ void transformer_engine_amax(int* in, int* out) {
  __shared__ alignas(128) int buffers[2][stage];
  __shared__ std::uint64_t full[tokens];
  if (threadIdx.x == 0) {
    for (int i = 0; i < tokens; ++i) INIT(&full[i], 1);
  }
  __syncthreads();
  int most = 0;
  for (int i = -1; i < tokens; ++i) {
    const int next = i + 1;
    if (next < tokens && threadIdx.x == 0) {
      ARRIVE_EXPECT(&full[next], stage_bytes);
      int* const to = buffers[next % 2];
      const int* const from = in + stage * next;
      BULK_LOAD(to, from, stage_bytes, &full[next]);  // transformer_engine_amax: missing proxy fence
    }
    if (i < 0) continue;
    WAIT_OBJECT(&full[i], 0);
    if (computes()) most = max(most, buffers[i % 2][threadIdx.x]);
    if (RIGHT) PROXY_FENCE();
    __syncthreads();
  }
  if (computes()) out[stage * blockIdx.x + threadIdx.x] = most;
}

// ---------------------------------------------------------------- vllm-project/vllm#26026

/// Tiles without work skip the epilogue: there the computing warps arrive, but do not wait for the loader.
template <bool RIGHT>
__global__ void vllm_epilogue(int* in, int* out) {
  for (int tile = 0; tile < tokens; ++tile) {
    if (!computes()) {
      asm volatile("bar.sync 1, 160;" ::: "memory");  // vllm_epilogue: endless barrier
    } else if (in[tile] == 0 && !RIGHT) {
      asm volatile("bar.arrive 1, 160;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 160;" ::: "memory");
    }
  }
  if (computes()) out[stage * blockIdx.x + threadIdx.x] = 1;
}

// ---------------------------------------------------------------- facebookexperimental/CUTracer#106

/// Returns the descriptor of a tile of 8 x 8 matrices, two next to each other.
__device__ inline std::uint64_t descriptor(const void* tile) {
  constexpr std::uint64_t next_in_k = 128 >> 4;
  constexpr std::uint64_t next_row = 256 >> 4;
  return (shared_address(tile) >> 4) | next_in_k << 16 | next_row << 32;
}

#define PRODUCT(sums, a, b)                                                                                 \
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                 \
               : "l"(descriptor(a)), "l"(descriptor(b)))

#define BEGIN_PRODUCT()                                    \
  __shared__ alignas(128) __half a[64 * 16];               \
  __shared__ alignas(128) __half b[8 * 16];                \
  __shared__ std::uint64_t full_a;                         \
  __shared__ std::uint64_t full_b;                         \
  if (is_loader()) {                                       \
    INIT(&full_a, 1);                                      \
    INIT(&full_b, 1);                                      \
  }                                                        \
  __syncthreads();                                         \
  if (is_loader()) {                                       \
    ARRIVE_EXPECT(&full_a, static_cast<int>(sizeof a));    \
    BULK_LOAD(a, in, static_cast<int>(sizeof a), &full_a); \
    ARRIVE_EXPECT(&full_b, static_cast<int>(sizeof b));    \
    BULK_LOAD(b, in, static_cast<int>(sizeof b), &full_b); \
  }                                                        \
  if (!computes()) return;                                 \
  float sums[4] = {};                                      \
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory")

#define END_PRODUCT()                                                                   \
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"      \
               : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])::"memory"); \
  out[stage * blockIdx.x + threadIdx.x] = __float2int_rn(sums[0] + sums[1] + sums[2] + sums[3])

/// The wait for A comes after the product.
template <bool RIGHT>
__global__ void cutracer_late_wait(int* in, int* out) {
  BEGIN_PRODUCT();
  if (RIGHT) WAIT_OBJECT(&full_a, 0);
  WAIT_OBJECT(&full_b, 0);
  PRODUCT(sums, a, b);  // cutracer_late_wait: unfinished operation
  WAIT_OBJECT(&full_a, 0);
  END_PRODUCT();
}

/// Nothing waits for B: a loop passes the time.
template <bool RIGHT>
__global__ void cutracer_missing_wait(int* in, int* out) {
  BEGIN_PRODUCT();
  WAIT_OBJECT(&full_a, 0);
  for (int i = 0; i < 4; ++i) __nanosleep(100);
  if (RIGHT) WAIT_OBJECT(&full_b, 0);
  PRODUCT(sums, a, b);  // cutracer_missing_wait: unfinished operation
  END_PRODUCT();
  WAIT_OBJECT(&full_b, 0);
}

// ---------------------------------------------------------------- a practice of NVIDIA/cutlass

#define PRODUCT_WITH_REGISTERS(sums, a, b)                                                                  \
  asm volatile(                                                                                             \
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, " \
      "0;"                                                                                                  \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                          \
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "l"(descriptor(b)))

/// A buffer is refilled without a proxy fence, because products have consumed what was read from it.
template <bool RIGHT>
__global__ void cutlass_refill(int* in, int* out) {
  __shared__ alignas(128) uint4 a[stage];
  __shared__ alignas(128) __half b[8 * 16];
  __shared__ std::uint64_t full;
  __shared__ std::uint64_t empty;
  b[threadIdx.x % 128] = __int2half_rn(1);
  PROXY_FENCE();
  if (is_loader()) {
    INIT(&full, 1);
    INIT(&empty, 32 * warps);
  }
  __syncthreads();
  float sums[4] = {};
  uint4 words = {};
  for (int i = 0; i < 2; ++i) {
    if (is_loader()) {
      WAIT_OBJECT(&empty, i ^ 1);
      ARRIVE_EXPECT(&full, static_cast<int>(sizeof a));
      BULK_LOAD(a, in, static_cast<int>(sizeof a), &full);  // cutlass_refill: missing proxy fence
    } else if (computes()) {
      WAIT_OBJECT(&full, i);
      if (RIGHT) words = a[threadIdx.x];
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      PRODUCT_WITH_REGISTERS(sums, words, b);
      asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
      if (!RIGHT) words = a[threadIdx.x];
      ARRIVE(&empty);
    }
  }
  if (computes()) out[stage * blockIdx.x + threadIdx.x] = __float2int_rn(sums[0]) + static_cast<int>(words.x);
}

// ---------------------------------------------------------------- cases

#define PAIR(name)                                          \
  if (cases.has(#name)) name<false><<<2, block>>>(in, out); \
  if (cases.has(#name "_right")) name<true><<<2, block>>>(in, out)

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const in = zeroed(2 * tokens * stage);
  int* const out = zeroed(2 * stage);
  PAIR(flash_kda_conversion);
  PAIR(flash_kda_empty);
  PAIR(deep_ep_stage);
  PAIR(deep_ep_flag);
  PAIR(transformer_engine_amax);
  PAIR(vllm_epilogue);
  PAIR(cutracer_late_wait);
  PAIR(cutracer_missing_wait);
  PAIR(cutlass_refill);
  return cases.finish();
}
