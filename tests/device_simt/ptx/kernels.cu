// Source of kernels.ptx: nvcc -arch=sm_80 -ptx kernels.cu -o kernels.ptx
#include <cstdio>

#define KERNEL extern "C" __global__ void

__constant__ int coefficients[4] = {10, 20, 30, 40};
__device__ int counter = 5;
__device__ int* counter_address = &counter;
__device__ int table[3] = {1, 2, 3};

// Each thread runs its own number of iterations, skips odd ones and stops early at a limit.
KERNEL loops(int* out, int limit) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < thread % 37; ++i) {
    if (i & 1) continue;
    if (sum > limit) break;
    sum += i;
  }
  out[thread] = sum;
}

KERNEL nested(int* out) {
  const int t = threadIdx.x;
  int r = 0;
  if (t & 1) {
    if (t & 2)
      r = __clz(t) * 3;
    else
      r = t * t;
    if (t & 4) {
      if (t > 20) {
        out[t] = -1;
        return;
      }
      r += 7;
    }
  } else {
    for (int i = 0; i < (t & 7); ++i) r += i & 2 ? t : 1;
  }
  out[t] = r + 1;
}

KERNEL select_case(int* out) {
  const int t = threadIdx.x;
  int r;
  switch (t % 7) {
    case 0: r = out[100 + t]; break;
    case 1: r = t * 3; break;
    case 2: r = t / 3; break;
    case 3: r = __popc(t); break;
    case 4: r = t << 3; break;
    case 5: r = t - 1000; break;
    default: r = 77; break;
  }
  out[t] = r;
}

KERNEL reduce_block(unsigned* out) {
  extern __shared__ unsigned values[];
  const unsigned t = threadIdx.x;
  values[t] = t + 1;
  __syncthreads();
  for (unsigned n = blockDim.x; n > 1;) {
    const unsigned half = (n + 1) / 2;
    if (t + half < n) values[t] += values[t + half];
    __syncthreads();
    n = half;
  }
  if (t == 0) out[blockIdx.x] = values[0];
}

// Threads above the limit exit before the barrier.
KERNEL leave_early(int* out, int limit) {
  __shared__ int tile[1024];
  const int t = threadIdx.x;
  if (t >= limit) return;
  tile[t] = t;
  __syncthreads();
  out[t] = tile[limit - 1 - t];
}

KERNEL vote_barrier(int* out) {
  const int t = threadIdx.x;
  out[t * 3] = __syncthreads_count(t % 3 == 0);
  out[t * 3 + 1] = __syncthreads_or(t == 17);
  out[t * 3 + 2] = __syncthreads_and(t < 40);
}

KERNEL matmul(float* c, const float* a, const float* b, int n) {
  __shared__ float as[8][8], bs[8][8];
  const int row = blockIdx.y * 8 + threadIdx.y, column = blockIdx.x * 8 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += 8) {
    as[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < 8; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

KERNEL warp_sum(int* out) {
  int v = threadIdx.x;
  const unsigned members = __activemask();
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(members, v, step);
  out[threadIdx.x] = v;
}

KERNEL warp_votes(unsigned* out) {
  const unsigned t = threadIdx.x;
  const unsigned members = __activemask();
  out[t * 8] = members;
  out[t * 8 + 1] = __ballot_sync(members, t % 3 == 0);
  out[t * 8 + 2] = __any_sync(members, t == 2);
  out[t * 8 + 3] = __all_sync(members, t < 33);
  out[t * 8 + 4] = __match_any_sync(members, t % 5);
  out[t * 8 + 5] = __reduce_add_sync(members, t);
  out[t * 8 + 6] = __shfl_up_sync(members, t, 3, 8);
  out[t * 8 + 7] = __reduce_max_sync(members, (int)t - 100);
}

KERNEL atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  __shared__ int block_sum;
  if (threadIdx.x == 0) block_sum = 0;
  __syncthreads();
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&block_sum, 1);
  atomicAdd(&i[0], t);
  atomicMin(&i[1], t - 50);
  atomicMax(&i[2], t);
  atomicSub(&i[3], 2);
  atomicInc(&u[0], 9);
  atomicDec(&u[1], 6);
  atomicOr(&u[2], 1u << (t & 31));
  atomicAnd(&u[3], ~(1u << (t & 31)));
  atomicXor(&u[4], t);
  atomicAdd(&l[0], 1ull << 33);
  atomicCAS(&l[1], 7ull, 8ull);
  atomicExch(&l[2], 42ull);
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&i[4], block_sum);
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL recursion(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

struct Shape {
  __device__ virtual int area(int x) = 0;
};
struct Square : Shape {
  __device__ __noinline__ int area(int x) override { return x * x; }
};
struct Line : Shape {
  __device__ __noinline__ int area(int x) override { return 2 * x; }
};
KERNEL virtual_calls(int* out) {
  Square square;
  Line line;
  Shape* shapes[2] = {&square, &line};
  const int t = threadIdx.x;
  out[t] = shapes[out[t] & 1]->area(t);
}

// A barrier inside a function.
__device__ __noinline__ int exchange(int* tile, int value) {
  tile[threadIdx.x] = value;
  __syncthreads();
  return tile[blockDim.x - 1 - threadIdx.x];
}
KERNEL barrier_in_function(int* out) {
  __shared__ int tile[256];
  out[threadIdx.x] = exchange(tile, threadIdx.x * 2);
}

struct Block {
  int words[12];
};
__device__ __noinline__ Block bump(Block block, int at) {
  block.words[at] += 100;
  return block;
}
KERNEL structures(Block block, int* out) {
  const Block changed = bump(block, threadIdx.x % 12);
  int sum = 0;
  for (int i = 0; i < 12; ++i) sum += changed.words[(i + threadIdx.x) % 12] * (i + 1);
  out[threadIdx.x] = sum;
}

KERNEL variables(int* out) {
  out[0] = coefficients[threadIdx.x & 3];
  out[1] = *counter_address;
  out[2] = table[2];
  *counter_address = 99;
}

KERNEL grid3(unsigned* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = threadIdx.x | threadIdx.y << 4 |
                                                               threadIdx.z << 8 | blockIdx.x << 12 |
                                                               blockIdx.y << 16 | blockIdx.z << 20;
}

__device__ int lock;
KERNEL spin_lock(int* out) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      *(volatile int*)out += 1;
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    }
  }
}

// Classic spin lock: lanes of one warp wait for each other.
KERNEL naive_lock(int* out) {
  while (atomicCAS(&lock, 0, 1) != 0) {}
  *(volatile int*)out += 1;
  __threadfence();
  atomicExch(&lock, 0);
}

KERNEL print(const char* name) {
  if (threadIdx.x == 1)
    printf("%s %d %5.2f|%-4u|%llx %c%%\n", "text", -7, 3.14159, 8u, 0x123456789abull, 'z');
}

KERNEL spaces(int* out, int* global) {
  __shared__ int tile[4];
  int local[4];
  local[threadIdx.x & 3] = threadIdx.x;
  int* pointers[4] = {tile, local, global, &coefficients[0]};
  int* p = pointers[out[threadIdx.x] & 3];
  out[threadIdx.x] =
      __isShared(p) | __isLocal(p) << 1 | __isGlobal(p) << 2 | __isConstant(p) << 3 | local[0] * 0;
}

KERNEL shared_overrun(int* out) {
  extern __shared__ unsigned values[];
  values[out[0]] = 1;
}

KERNEL null_store(int* out) { out[threadIdx.x] = 1; }

KERNEL stop(int* out) {
  if (threadIdx.x == 5) __trap();
  out[threadIdx.x] = 1;
}

KERNEL registers_and_ids(unsigned* out) {
  unsigned lane, warp, lt, eq, dynamic, sm;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
  asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(eq));
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  unsigned* const o = out + threadIdx.x * 6;
  o[0] = lane;
  o[1] = warp;
  o[2] = lt;
  o[3] = eq;
  o[4] = dynamic;
  o[5] = sm;
}
