// Memory in all its spaces: textures and surfaces, constants, caching hints, atomics of all scopes,
// parameters of 4 KB and more.
#include <cuda_fp16.h>

#include <cstdint>
#include <cuda/atomic>

__constant__ float table[64];
__constant__ const float* pointers[2];
__device__ int4 quads[32];
__device__ volatile int flag;
__managed__ double managed;

struct Large {
  float values[1000];
  int counts[23];
};
struct Small {
  char tag;
  short pair[2];
  alignas(16) float4 vector;
};

__global__ void textures(cudaTextureObject_t texture, cudaSurfaceObject_t surface, float4* out) {
  const float x = static_cast<float>(threadIdx.x);
  float4 sum = tex2D<float4>(texture, x, 0.5F);
  sum.x += tex1Dfetch<float>(texture, static_cast<int>(threadIdx.x)) + tex3D<float>(texture, x, 1, 2);
  sum.y += texCubemap<float>(texture, x, 1, 2) + tex2DLayered<float>(texture, x, 1, 2);
  sum.z += tex2DGrad<float>(texture, x, 1, make_float2(1, 2), make_float2(3, 4));
  sum.w += tex2Dgather<float4>(texture, x, 1, 0).z;
  float4 texel;
  surf2Dread(&texel, surface, 16, 4);
  surf1Dwrite(sum.x, surface, 4);
  surf3Dwrite(make_int2(3, 4), surface, 8, 1, 2);
  out[threadIdx.x] = make_float4(sum.x + texel.x, sum.y, sum.z, sum.w);
}

__global__ void large_parameter(const __grid_constant__ Large large, Small small, float* out) {
  out[threadIdx.x] = large.values[threadIdx.x] * small.vector.y +
                     static_cast<float>(large.counts[small.tag] + small.pair[1]);
  const float* const values = large.values;
  out[threadIdx.x + 32] = values[static_cast<int>(out[0])];
}

__global__ void caching(float* out, const float* __restrict__ in, const int4* vectors) {
  const int4 quad = __ldcs(vectors + threadIdx.x);
  float sum = __ldg(in + threadIdx.x) + __ldca(in + 1) + __ldcg(in + 2) + __ldlu(in + 3) + __ldcv(in + 4);
  sum += table[threadIdx.x & 63U] + pointers[quad.y & 1][quad.x];
  __stwt(out, sum);
  __stcs(out + 1, sum);
  quads[threadIdx.x] = quad;
  flag = 1;
  while (flag == 0) {}
  managed += sum;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + 64));
}

__global__ void atomics(int* integers, unsigned long long* longs, float* floats, double* doubles,
                        __half2* halves) {
  __shared__ unsigned shared[4];
  atomicAdd(integers, 1);
  atomicSub_block(integers + 1, 2);
  atomicMin_system(integers + 2, 3);
  atomicCAS(longs, 4ULL, 5ULL);
  atomicExch(longs + 1, 6ULL);
  atomicAdd(floats, 1.5F);
  atomicAdd(doubles, 2.5);
  atomicAdd(halves, __half2half2(__float2half(1.F)));
  atomicInc(shared + 1, 7);
  atomicDec(shared + 2, 8);
  atomicXor(shared + 3, 9);
  cuda::atomic_ref<int, cuda::thread_scope_device> reference(integers[3]);
  while (reference.load(cuda::memory_order_acquire) != 0) reference.fetch_or(1, cuda::memory_order_release);
  __threadfence_system();
  integers[4] = static_cast<int>(atomicOr(shared, 1));
}

__global__ void local_arrays(int* out, const int* in) {
  int stack[40];
  for (int i = 0; i < 40; ++i) stack[(in[i] & 31) + i % 8] = i;
  out[threadIdx.x] = stack[in[threadIdx.x] & 31];
}

__global__ void shared_arrays(float* out) {
  extern __shared__ float dynamic[];
  __shared__ float tile[32][33];
  tile[threadIdx.x][threadIdx.y] = out[threadIdx.x];
  dynamic[threadIdx.x] = out[1];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.y][threadIdx.x] + dynamic[31 - threadIdx.x];
}

__global__ void generic_addresses(int* out, int which) {
  __shared__ int inside[4];
  int local[4] = {1, 2, 3, out[9]};
  int* const pointer = which == 0 ? inside : which == 1 ? local : out;
  pointer[which & 3] = 4;
  if (__isShared(pointer)) out[1] = 2;
  out[0] = pointer[0] + local[which & 3];
}
