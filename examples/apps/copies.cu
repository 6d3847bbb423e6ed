// copies: one kernel for each instruction that moves data other than loads, stores and atomic operations:
// cp.async of every width, with source sizes and with the predicate that ignores the source, bulk copies in
// both directions and with a reduction, ldmatrix, stmatrix, st.async and red.async. Each block copies part of
// the input to the output, through shared memory. Compute capability 9.0.
#include "example.h"

constexpr int threads = 64;
constexpr int blocks = 6;
constexpr int row_bytes = 16 * threads;  // per block

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
__device__ void wait_for_copies() {
  asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
}
__device__ void initialize(std::uint64_t* barrier) {
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  __syncthreads();
}
__device__ void expect(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
/// Waits with the whole block. Queries once, so that runs execute equal instructions: 10 ms is enough.
__device__ void wait_for(std::uint64_t* barrier) {
  __syncthreads();
  asm volatile(
      "{\n.reg .pred done;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0, 10000000;\n"
      "@!done trap;\n}" ::"r"(shared_address(barrier))
      : "memory");
}
/// Stores the block's part of the output, in 4-byte words.
__device__ void store_words(unsigned* out, const unsigned* tile) {
  for (int i = threadIdx.x; i < row_bytes / 4; i += threads) out[blockIdx.x * row_bytes / 4 + i] = tile[i];
}

// ---- cp.async, by width

#define COPY_KERNEL(name, opcode, bytes)                                            \
  __global__ void name(const char* in, unsigned* out) {                             \
    __shared__ alignas(128) unsigned tile[row_bytes / 4];                           \
    char* const to = reinterpret_cast<char*>(tile);                                 \
    for (int i = threadIdx.x * (bytes); i < row_bytes; i += threads * (bytes))      \
      asm volatile(opcode " [%0], [%1], " #bytes ";" ::"r"(shared_address(to + i)), \
                   "l"(in + blockIdx.x * row_bytes + i)                             \
                   : "memory");                                                     \
    wait_for_copies();                                                              \
    store_words(out, tile);                                                         \
  }
COPY_KERNEL(copy_4, "cp.async.ca.shared.global", 4)
COPY_KERNEL(copy_8, "cp.async.ca.shared.global", 8)
COPY_KERNEL(copy_16, "cp.async.cg.shared.global", 16)
COPY_KERNEL(copy_cached, "cp.async.ca.shared::cta.global.L2::128B", 16)
#undef COPY_KERNEL

/// Threads from `limit` on copy nothing, so their part is zero; their addresses are invalid.
__global__ void copy_filled(const char* in, unsigned* out, int limit) {
  __shared__ alignas(128) unsigned tile[row_bytes / 4];
  const bool is_in = static_cast<int>(threadIdx.x) < limit;
  const char* const from = is_in ? in + blockIdx.x * row_bytes + 16 * threadIdx.x : nullptr;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(tile + 4 * threadIdx.x)),
               "l"(from), "r"(is_in ? 16 : 0)
               : "memory");
  wait_for_copies();
  store_words(out, tile);
}
__global__ void copy_ignored(const char* in, unsigned* out, int limit) {
  __shared__ alignas(128) unsigned tile[row_bytes / 4];
  const int ignores = static_cast<int>(threadIdx.x) >= limit;
  const char* const from = ignores ? nullptr : in + blockIdx.x * row_bytes + 16 * threadIdx.x;
  asm volatile("{.reg .pred p; setp.ne.s32 p, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, p;}" ::"r"(
                   shared_address(tile + 4 * threadIdx.x)),
               "l"(from), "r"(ignores)
               : "memory");
  wait_for_copies();
  store_words(out, tile);
}
/// Thread t copies 4 * (t mod 5) bytes of 16; every third thread copies none.
__global__ void copy_part(const char* in, unsigned* out) {
  __shared__ alignas(128) unsigned tile[row_bytes / 4];
  for (int i = threadIdx.x; i < row_bytes / 4; i += threads) tile[i] = ~0u;
  __syncthreads();
  if (threadIdx.x % 3 != 0)
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(tile + 4 * threadIdx.x)),
        "l"(in + blockIdx.x * row_bytes + 16 * threadIdx.x), "r"(4 * (threadIdx.x % 5))
        : "memory");
  wait_for_copies();
  store_words(out, tile);
}

// ---- bulk copies

/// Copies two parts: 16 bytes from the middle of a sector, then the rest.
__global__ void bulk_in(const char* in, unsigned* out, unsigned bytes) {
  __shared__ alignas(128) unsigned tile[row_bytes / 4];
  __shared__ std::uint64_t barrier;
  initialize(&barrier);
  const char* const from = in + blockIdx.x * row_bytes;
  if (threadIdx.x == 0) {
    expect(&barrier, row_bytes);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];\n" ::"r"(
            shared_address(tile)),
        "l"(from), "r"(shared_address(&barrier))
        : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::"r"(
            shared_address(tile + 4)),
        "l"(from + 16), "r"(bytes), "r"(shared_address(&barrier))
        : "memory");
  }
  wait_for(&barrier);
  store_words(out, tile);
}
__device__ void fill_tile(const char* in, unsigned* tile) {
  const auto* const words = reinterpret_cast<const unsigned*>(in + blockIdx.x * row_bytes);
  for (int i = threadIdx.x; i < row_bytes / 4; i += threads) tile[i] = words[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
}
__global__ void bulk_out(const char* in, unsigned* out, unsigned bytes) {
  __shared__ alignas(128) unsigned tile[row_bytes / 4];
  fill_tile(in, tile);
  if (threadIdx.x % 32 == 0) {
    const unsigned first = threadIdx.x / 32 * (bytes / 4);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                     out + blockIdx.x * row_bytes / 4 + first),
                 "r"(shared_address(tile + first)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
__global__ void bulk_add(const char* in, unsigned* out) {
  __shared__ alignas(128) unsigned tile[row_bytes / 4];
  fill_tile(in, tile);
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 1024;" ::"l"(
                     out + blockIdx.x * row_bytes / 4),
                 "r"(shared_address(tile))
                 : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

// ---- matrices: rows 144 bytes apart have no conflicts, rows 128 bytes apart have eight at each bank

#define MATRIX_KERNEL(name, count, registers, operands, constraints)                                     \
  __global__ void name(const char* in, unsigned* out, int pitch) {                                       \
    __shared__ alignas(128) char tile[32 * 144];                                                         \
    for (int i = threadIdx.x; i < 32 * 144 / 4; i += threads)                                            \
      reinterpret_cast<unsigned*>(tile)[i] = reinterpret_cast<const unsigned*>(in)[i % (row_bytes / 4)]; \
    __syncthreads();                                                                                     \
    const int lane = threadIdx.x % 32;                                                                   \
    /* Lanes without a row have an invalid address.      */                                              \
    const unsigned row = lane < 8 * (count) ? shared_address(tile + lane * pitch) : 0xfffff0u;           \
    unsigned a[4] = {};                                                                                  \
    asm volatile("ldmatrix.sync.aligned.m8n8.x" #count ".shared.b16 " registers ", [" operands "];"      \
                 : constraints                                                                           \
                 : "r"(row)                                                                              \
                 : "memory");                                                                            \
    for (int i = 0; i < (count); ++i) out[(blockIdx.x * threads + threadIdx.x) * 4 + i] = a[i];          \
  }
MATRIX_KERNEL(matrix_1, 1, "{%0}", "%1", "=r"(a[0]))
#define PAIR "=r"(a[0]), "=r"(a[1])
MATRIX_KERNEL(matrix_2, 2, "{%0, %1}", "%2", PAIR)
#define FOUR "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
MATRIX_KERNEL(matrix_4, 4, "{%0, %1, %2, %3}", "%4", FOUR)
#undef FOUR
#undef PAIR
#undef MATRIX_KERNEL

__global__ void matrix_store(const char* in, unsigned* out, int pitch) {
  __shared__ alignas(128) char tile[2][16 * 144];
  char* const own = tile[threadIdx.x / 32];
  for (int i = threadIdx.x % 32; i < 16 * 144 / 4; i += 32) reinterpret_cast<unsigned*>(own)[i] = 0;
  __syncwarp();
  const int lane = threadIdx.x % 32;
  const unsigned value = reinterpret_cast<const unsigned*>(in)[threadIdx.x];
  const unsigned row = lane < 16 ? shared_address(own + lane * pitch) : 0xfffff0u;
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(value), "r"(~value)
               : "memory");
  __syncwarp();
  for (int i = 0; i < 4; ++i)
    out[(blockIdx.x * threads + threadIdx.x) * 4 + i] = reinterpret_cast<unsigned*>(own)[i * 32 + lane];
}

// ---- stores and reductions that signal a barrier

// Without a cluster launch, an H200 reports an illegal instruction.
__global__ void __cluster_dims__(1, 1, 1) async_store(const char* in, unsigned* out) {
  __shared__ alignas(128) unsigned tile[row_bytes / 4];
  __shared__ std::uint64_t barrier;
  for (int i = threadIdx.x; i < row_bytes / 4; i += threads) tile[i] = 7;
  initialize(&barrier);
  if (threadIdx.x == 0) expect(&barrier, threads * 8);
  __syncthreads();
  const unsigned value = reinterpret_cast<const unsigned*>(in)[threadIdx.x];
  unsigned place, told;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(place) : "r"(shared_address(tile + threadIdx.x)));
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(told) : "r"(shared_address(&barrier)));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(place),
               "r"(value), "r"(told)
               : "memory");
  asm volatile(
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(
          place + 4 * threads),
      "r"(value), "r"(told)
      : "memory");
  wait_for(&barrier);
  store_words(out, tile);
}

namespace {

struct Result {
  bool right = true;
  std::uint64_t checksum = example::fnv1a(nullptr, 0);
};

/// Runs `launch` on a zeroed output and compares the result with `expected`.
template <typename Launch, typename Expected>
void check(const char* name, Result& result, const Launch& launch, const Expected& expected) {
  example::DeviceArray<unsigned> out(blocks * row_bytes / 4);
  out.clear();
  launch(out.get());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  std::vector<unsigned> wanted(blocks * row_bytes / 4);
  for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = expected(i);
  const std::vector<unsigned> found = out.download();
  result.right = example::same(name, found, wanted) && result.right;
  result.checksum = example::fnv1a(found, result.checksum);
  std::printf("copies: %s\n", name);
}

/// Checks matrices with rows `pitch` bytes apart.
void check_matrices(const char* in, const std::vector<unsigned>& values, Result& result, int pitch) {
  const auto run = [&](const char* name, auto kernel, const auto& expected) {
    check(
        name, result, [&](unsigned* out) { kernel<<<blocks, threads>>>(in, out, pitch); }, expected);
  };
  // Lane l holds elements 2 * (l mod 4) and the next one of row l / 4 of each matrix.
  const auto matrix = [&](int count) {
    return [&values, count, pitch](std::size_t i) -> unsigned {
      const int number = static_cast<int>(i % 4), lane = static_cast<int>(i / 4 % 32);
      if (number >= count) return 0;
      return values[((number * 8 + lane / 4) * pitch / 4 + lane % 4) % (row_bytes / 4)];
    };
  };
  run("matrix_1", matrix_1, matrix(1));
  run("matrix_2", matrix_2, matrix(2));
  run("matrix_4", matrix_4, matrix(4));
  run("matrix_store", matrix_store, [&](std::size_t i) -> unsigned {
    const int thread = static_cast<int>(i / 4 % threads), word = static_cast<int>(i % 4) * 32 + thread % 32;
    const int row = word / (pitch / 4), column = word % (pitch / 4);
    if (row >= 16 || column >= 4) return 0;
    const unsigned value = values[thread / 32 * 32 + row % 8 * 4 + column];
    return row < 8 ? value : ~value;
  });
}

}  // namespace

int main() {
  example::Random random(1);
  std::vector<unsigned> values(blocks * row_bytes / 4);
  for (unsigned& value : values) value = random.next();
  const example::DeviceArray<unsigned> device_in(values);
  const char* const in = reinterpret_cast<const char*>(device_in.get());
  Result result;

  const auto same = [&](std::size_t i) { return values[i]; };
  const auto run = [&](const char* name, auto kernel, const auto& expected, auto... arguments) {
    check(
        name, result, [&](unsigned* out) { kernel<<<blocks, threads>>>(in, out, arguments...); }, expected);
  };
  run("copy_4", copy_4, same);
  run("copy_8", copy_8, same);
  run("copy_16", copy_16, same);
  run("copy_cached", copy_cached, same);

  constexpr int limit = 21;
  const auto thread_of = [](std::size_t i) { return static_cast<int>(i % (row_bytes / 4) / 4); };
  const auto filled = [&](std::size_t i) { return thread_of(i) < limit ? values[i] : 0; };
  run("copy_filled", copy_filled, filled, limit);
  run("copy_ignored", copy_ignored, filled, limit);
  run("copy_part", copy_part, [&](std::size_t i) {
    const int thread = thread_of(i);
    if (thread % 3 == 0) return ~0u;
    return static_cast<int>(i % 4) < thread % 5 ? values[i] : 0;
  });

  run("bulk_in", bulk_in, same, row_bytes - 16u);
  run("bulk_out", bulk_out, same, row_bytes / 2u);
  run("bulk_add", bulk_add, same);

  for (const int pitch : {128, 144}) check_matrices(in, values, result, pitch);

  run("async_store", async_store, [&](std::size_t i) -> unsigned {
    const std::size_t word = i % (row_bytes / 4);
    return word < threads ? values[word] : word < 2 * threads ? 7 + values[word - threads] : 7;
  });

  const example::DeviceArray<unsigned> out(blocks * row_bytes / 4);
  example::measure("copy_16", [&] { copy_16<<<blocks, threads>>>(in, out.get()); });
  return example::finish("copies", result.right, result.checksum);
}
