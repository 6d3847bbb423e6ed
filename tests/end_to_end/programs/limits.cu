// Kernels with one planted problem each, and the same kernels mended, launched `limits N` times each.
//
//   conflicts    lanes read a column of a tile of shared memory: 32-way bank conflicts; mended: padded rows
//   strided      lanes read members of an array of structures; mended: a structure of arrays
//   barriers     two barriers per iteration that no access needs; mended: none there
//   contended    lanes add to one word; mended: each block adds once
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                            \
  do {                                                         \
    const cudaError_t error = (call);                          \
    if (error != cudaSuccess) {                                \
      std::printf("%s: %s\n", #call, cudaGetErrorName(error)); \
      std::exit(1);                                            \
    }                                                          \
  } while (0)

constexpr int blocks = 16, threads = 256, size = blocks * threads;
constexpr int members = 16;

template <int width>
__device__ void read_columns(const float* in, float* out) {
  __shared__ float tile[32][width];
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32;
  for (int i = row; i < 32; i += threads / 32) tile[i][lane] = in[blockIdx.x * threads + i];
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < 64; ++i) sum += tile[lane][(i + row) % 32];
  out[blockIdx.x * threads + threadIdx.x] = sum;
}
__global__ void conflicts(const float* in, float* out) { read_columns<32>(in, out); }
__global__ void conflicts_mended(const float* in, float* out) { read_columns<33>(in, out); }

template <int lane_stride, int member_stride>
__device__ void read_members(const float* in, float* out) {
  const float* const own = in + lane_stride * threadIdx.x;
  float sum = 0;
#pragma unroll 16
  for (int i = 0; i < 256; ++i) sum += own[member_stride * (i % members)];
  out[blockIdx.x * threads + threadIdx.x] = sum;
}
__global__ void strided(const float* in, float* out) { read_members<members, 1>(in, out); }
__global__ void strided_mended(const float* in, float* out) { read_members<1, threads>(in, out); }

template <bool has_needless>
__device__ void iterate(const float* in, float* out) {
  __shared__ float tile[threads];
  tile[threadIdx.x] = in[blockIdx.x * threads + threadIdx.x];
  __syncthreads();
  float value = tile[threads - 1 - threadIdx.x];
#pragma unroll 16
  for (int i = 0; i < 512; ++i) {
    value = value * 0.5f + 1;
    if (has_needless) __syncthreads(), __syncthreads();
  }
  out[blockIdx.x * threads + threadIdx.x] = value;
}
__global__ void barriers(const float* in, float* out) { iterate<true>(in, out); }
__global__ void barriers_mended(const float* in, float* out) { iterate<false>(in, out); }

__global__ void contended(const float* in, unsigned* total) {
  const unsigned value = in[blockIdx.x * threads + threadIdx.x] > 1;
#pragma unroll 1
  for (int i = 0; i < 16; ++i) atomicAdd(total, value + i);
}
__global__ void contended_mended(const float* in, unsigned* total) {
  const unsigned value = in[blockIdx.x * threads + threadIdx.x] > 1;
  unsigned sum = 0;
#pragma unroll 1
  for (int i = 0; i < 16; ++i) sum += __reduce_add_sync(0xffffffff, value + i);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}

int main(int count, char** values) {
  const int launches = count > 1 ? std::atoi(values[1]) : 40;
  static float host[members * size];
  for (int i = 0; i < members * size; ++i) host[i] = static_cast<float>(i % 7);
  float *in, *out;
  unsigned* total;
  CHECK(cudaMalloc(&in, sizeof host));
  CHECK(cudaMalloc(&out, size * sizeof(float)));
  CHECK(cudaMalloc(&total, sizeof(unsigned)));
  CHECK(cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(total, 0, sizeof(unsigned)));
  for (auto* const kernel :
       {conflicts, conflicts_mended, strided, strided_mended, barriers, barriers_mended}) {
    for (int i = 0; i < launches; ++i) kernel<<<blocks, threads>>>(in, out);
    CHECK(cudaMemcpy(host, out, size * sizeof(float), cudaMemcpyDeviceToHost));
    float sum = 0;
    for (int i = 0; i < size; ++i) sum += host[i] * static_cast<float>(i % 13);
    std::printf("%g\n", sum);
  }
  for (auto* const kernel : {contended, contended_mended}) {
    for (int i = 0; i < launches; ++i) kernel<<<blocks, threads>>>(in, total);
    unsigned sum = 0;
    CHECK(cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost));
    std::printf("%u\n", sum);
  }
}
