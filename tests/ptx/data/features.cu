// Makes nvcc emit many kinds of PTX from a small file; the corpus test parses the output.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cassert>
#include <cstdio>
#include <cuda/barrier>

namespace cg = cooperative_groups;

struct Record {
  char tag;
  int* pointer;
  double value;
};

__constant__ float coefficients[16] = {1, 2.5, 3};
__device__ int counter = 5;
__device__ int* counter_pointer = &counter;
__managed__ int managed_value;
__device__ Record record = {'a', &counter, 2.5};

__device__ __noinline__ float transform(float x) { return x > 0 ? __expf(x) : sinf(x); }
__device__ __noinline__ float scale(float x) { return x * 3; }
using Transform = float (*)(float);
__device__ Transform transforms[2] = {transform, scale};

struct Shape {
  __device__ virtual int area(int x) { return x; }
};
struct Square : Shape {
  __device__ int area(int x) override { return x * x; }
};

__global__ void indirect_calls(float* values, int count, int which) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = transforms[which & 1](values[i]) + coefficients[i & 15];
  atomicAdd(&counter, 1);
  if (i == 7) printf("thread %d\n", i);
}

__global__ void switches(int* out, int x) {
  Shape shape;
  Square square;
  Shape* chosen = x != 0 ? &shape : &square;
  out[0] = chosen->area(x);
  switch (x) {
    case 0: out[1] = 1; break;
    case 1: out[2] = 5; break;
    case 2: out[3] = 4; break;
    case 3: out[8] = 3; break;
    case 4: out[5] = 9; break;
    case 5: out[6] = 1; break;
    default: out[7] = 2;
  }
}

__global__ void tensor_cores(half* in, float* out) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> a;
  fragment<matrix_b, 16, 16, 16, half, col_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  fill_fragment(c, 0);
  load_matrix_sync(a, in, 16);
  load_matrix_sync(b, in, 16);
  mma_sync(c, a, b, c);
  store_matrix_sync(out, c, 16, mem_row_major);
}

__global__ void asynchronous_copy(int* out, const int* in, int count) {
  extern __shared__ int buffer[];
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  auto group = cg::this_thread_block();
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  group.sync();
  cuda::memcpy_async(group, buffer, in, cuda::aligned_size_t<16>(count * 4), barrier);
  barrier.arrive_and_wait();
  auto tile = cg::tiled_partition<32>(group);
  out[threadIdx.x] = cg::reduce(tile, buffer[threadIdx.x], cg::plus<int>());
}

__global__ void textures(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float* out) {
  const float4 texel = tex2D<float4>(texture, 1.f, 2.f);
  surf2Dwrite(texel, surface, 16, 2);
  float pixel;
  surf2Dread(&pixel, surface, 4, 3);
  out[0] = texel.x + pixel + tex1Dfetch<float>(texture, 3) + tex2DLod<float>(texture, 1, 2, 3);
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256, 2) clusters(int* out) {
  auto cluster = cg::this_cluster();
  __shared__ int mine;
  mine = threadIdx.x;
  cluster.sync();
  out[0] = *cluster.map_shared_rank(&mine, 1);
  // Two scopes with the same label in one body.
  asm volatile("{ .reg .pred p; again: setp.eq.s32 p, %0, 0; @p bra again; }" ::"r"(out[1]));
  asm volatile("{ .reg .pred p; again: setp.eq.s32 p, %0, 0; @p bra again; }" ::"r"(out[2]));
  if (out[3] == 9) __trap();
}

__global__ void intrinsics(__grid_constant__ const Record argument, __half2* halves,
                           unsigned long long* out) {
  out[0] = clock64();
  halves[0] = __hfma2(halves[1], halves[2], halves[3]);
  out[1] = __ballot_sync(~0u, out[0] & 1);
  out[2] = __shfl_xor_sync(~0u, static_cast<int>(out[0]), 3);
  out[3] = __match_any_sync(~0u, static_cast<int>(out[1]));
  out[4] = __reduce_add_sync(~0u, static_cast<int>(out[5]));
  out[6] = reinterpret_cast<unsigned long long>(argument.pointer);
  __nanosleep(10);
  out[7] = __vadd4(1, static_cast<int>(out[6]));
  out[8] = __dp4a(static_cast<int>(out[1]), static_cast<int>(out[2]), 3);
  int* dynamic = static_cast<int*>(alloca(out[9]));
  dynamic[3] = 5;
  out[10] = dynamic[out[11]];
  __threadfence();
  assert(out[3] != 0);
}
