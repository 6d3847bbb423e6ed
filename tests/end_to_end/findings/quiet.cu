// Kernels in which no rule finds anything worth changing, although each comes close to one.
#include "tests/end_to_end/findings/data.h"

constexpr int threads = 128, blocks = 64, size = threads * blocks;

__global__ void copies(const float4* in, float4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

// Adjacent warps share the sectors at the ends of their rows.
__global__ void shifted(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + in[i + 1] + in[i + 2];
}

__global__ void backwards(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[n - 1 - i] = in[i];
}

__global__ void broadcasts(const float* in, const int* row, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += in[k] * in[row[i / 32] + k];
  out[i] = sum;
}

// Some lanes are left out, and the remaining ones are contiguous.
__global__ void every_fourth(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 4 == 0) out[i] = in[i];
}

__global__ void shared_rows(const float* in, float* out) {
  __shared__ float tile[threads];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = in[i];
  __syncthreads();
  out[i] = tile[threads - 1 - threadIdx.x] + tile[threadIdx.x / 32] + tile[7];
}

__global__ void shared_counter(const int* value, unsigned* out) {
  __shared__ unsigned total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, value[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = total;
}

__global__ void counter_of_blocks(unsigned* counter, float* out) {
  float x = threadIdx.x;
  for (int k = 0; k < 100; ++k) x = x * 1.01f + k;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
  if (threadIdx.x == 0) atomicAdd(counter, 1u);
}

__global__ void spread_atomics(const int* index, unsigned* bins) {
  atomicAdd(&bins[index[blockIdx.x * blockDim.x + threadIdx.x]], 1u);
}

__global__ void bounds(float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = i;
  for (int k = 0; k < 100; ++k) x = x * 1.01f + k;
  out[i] = x;
}

__global__ void bounds_of_a_picture(float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = x * y;
}

__global__ void reduction(const float* in, float* out) {
  __shared__ float sums[threads];
  sums[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (int half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = sums[0];
}

__global__ void grid_stride(const float* in, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 2 * in[i];
}

// Trip counts differ between warps, not within them.
__global__ void trips_of_a_warp(const int* length, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i;
  const int trips = length[i / 32];
  for (int k = 0; k < trips; ++k) x = x * 1.01f + k;
  out[i] = x;
}

// Strided, in a kernel dominated by arithmetic.
__global__ void bound_by_arithmetic(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i * 16];
  for (int k = 0; k < 30000; ++k) x = x * 1.01f + k;
  out[i] = x;
}

// Few instructions of the device, but each depends on the previous one.
__global__ void one_warp(float* out) {
  float x = threadIdx.x;
  for (int k = 0; k < 2000; ++k) x = x * 1.01f + k;
  out[threadIdx.x] = x;
}

__global__ void few_small_blocks(float* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

__global__ void one_odd_block(float* out) { out[threadIdx.x] = 1; }

int main() {
  std::vector<int> ramp(size), length(size), rows(size);
  for (int i = 0; i < size; ++i) {
    ramp[i] = i;
    length[i] = i % 7 * 10;
    rows[i] = i % 9 * 3;
  }
  float* const in = zeros<float>(size * 16);
  float* const out = zeros<float>(size * 16);
  unsigned* const words = zeros<unsigned>(size);
  const int* const index = on_device(ramp);
  copies<<<blocks, threads>>>(zeros<float4>(size), zeros<float4>(size));
  shifted<<<blocks, threads>>>(in, out, size);
  backwards<<<blocks, threads>>>(in, out, size);
  broadcasts<<<blocks, threads>>>(in, on_device(rows), out);
  every_fourth<<<blocks, threads>>>(in, out);
  shared_rows<<<blocks, threads>>>(in, out);
  shared_counter<<<blocks, threads>>>(index, words);
  counter_of_blocks<<<blocks, threads>>>(words, out);
  spread_atomics<<<blocks, threads>>>(index, words);
  bounds<<<1, threads>>>(out, 100);
  bounds_of_a_picture<<<dim3(7, 7), dim3(16, 16)>>>(out, 100, 100);
  reduction<<<blocks, threads>>>(in, out);
  grid_stride<<<blocks, threads>>>(in, out, size + 1000);
  trips_of_a_warp<<<blocks, threads>>>(on_device(length), out);
  bound_by_arithmetic<<<blocks, threads>>>(in, out);
  for (int k = 0; k < 100; ++k) one_warp<<<1, 32>>>(out);
  few_small_blocks<<<60, 32>>>(out);
  one_odd_block<<<1, 48>>>(out);
  return finish();
}
