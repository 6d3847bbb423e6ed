// One kernel per rule based on counts of accesses and control flow. Comments name the rules that hold
// at their lines; with -DFIX none does.
#include "tests/end_to_end/findings/data.h"

#ifdef FIX
constexpr bool is_fixed = true;
#else
constexpr bool is_fixed = false;
#endif

constexpr int threads = 128, blocks = 64, size = threads * blocks;

__global__ void strided(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
#pragma unroll 4
  for (int k = 0; k < 16; ++k) sum += in[is_fixed ? k * size + i : i * 16 + k];  // RULE: uncoalesced access
  out[i] = sum;
}

__global__ void pitched(const double* in, double* out, int pitch) {
  const int row = blockIdx.x, column = threadIdx.x;
  const int to = is_fixed ? row * blockDim.x + column : column * pitch + row;
  out[to] = 2 * in[row * blockDim.x + column];  // RULE: uncoalesced access
}

__global__ void gathered(const int* index, const float* in, const float* weight, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[index[i]] * weight[i];  // RULE: scattered access
}

__global__ void column_of_tile(const float* in, float* out) {
  __shared__ float tile[32][is_fixed ? 33 : 32];
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (int row = y; row < 32; row += 4) tile[row][x] = in[blockIdx.x * 1024 + row * 32 + x];
  __syncthreads();
  for (int row = y; row < 32; row += 4)
    out[blockIdx.x * 1024 + row * 32 + x] = tile[x][row];  // RULE: bank conflicts
}

__global__ void narrow_rows(const float* in, float* out) {
  __shared__ float tile[16][is_fixed ? 16 : 17];
  const int x = threadIdx.x, y = threadIdx.y, i = (blockIdx.x * 16 + y) * 16 + x;
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    tile[y][x] = in[i] + k;  // RULE: bank conflicts between rows
    __syncthreads();
    sum += tile[0][x];
    __syncthreads();
  }
  out[i] = sum;
}

__global__ void table_look_up(const int* index, float* out) {
  __shared__ float table[1024];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = threadIdx.x; k < 1024; k += threads) table[k] = k;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += table[(index[i] + k) & 1023];  // RULE: scattered bank conflicts
  out[i] = sum;
}

__global__ void block_histogram(const int* value, unsigned* bins) {
  constexpr int copies = is_fixed ? 32 : 1;
  __shared__ unsigned local[4 * copies];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 4 * copies) local[threadIdx.x] = 0;
  __syncthreads();
  for (int k = 0; k < 16; ++k) {
    const int bin = value[(i + k * threads) & (size - 1)] * copies + threadIdx.x % copies;
    atomicAdd(&local[bin], 1u);  // RULE: shared atomics on one word
  }
  __syncthreads();
  if (threadIdx.x < 4 * copies)
    atomicAdd(&bins[threadIdx.x / copies * 1024 + blockIdx.x], local[threadIdx.x]);
}

__global__ void atomics_in_columns(unsigned* out) {
  constexpr int pitch = is_fixed ? 33 : 32;
  __shared__ unsigned column[threads * pitch / 4];
  const int word = threadIdx.x % 32 * pitch;
  for (int k = threadIdx.x; k < threads * pitch / 4; k += threads) column[k] = 0;
  __syncthreads();
  for (int k = 0; k < 16; ++k) atomicAdd(&column[word + k], threadIdx.x);  // RULE: bank conflicts
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = column[word];
}

__global__ void device_histogram(const int* value, unsigned* bins) {
  __shared__ unsigned local[4 * 32];
  local[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (is_fixed) {
    atomicAdd(&local[value[i] * 32 + threadIdx.x % 32], 1u);
  } else {
    atomicAdd(&bins[value[i]], 1u);  // RULE: contended atomics
  }
  __syncthreads();
  if (!is_fixed || threadIdx.x >= 4) return;
  unsigned sum = 0;
  for (int lane = 0; lane < 32; ++lane) sum += local[threadIdx.x * 32 + (lane + threadIdx.x) % 32];
  atomicAdd(&bins[threadIdx.x], sum);
}

__device__ float heavy(float x) {
  for (int k = 0; k < 24; ++k) x = x * 1.0001f + 0.5f;
  return x;
}

__device__ float light(float x) {
  for (int k = 0; k < 16; ++k) x = x * 0.99f - 0.25f;
  return x;
}

__global__ void divergent(float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (is_fixed ? i >> 5 & 1 : i & 1)  // RULE: divergent branch
    out[i] = heavy(i);
  else
    out[i] = light(i);
}

__global__ void uneven_rows(const int* length, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i;
  for (int k = 0; k < length[i]; ++k) x = x * 1.01f + k;  // RULE: uneven loop
  out[i] = x;
}

__global__ void partial_warps(float* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = heavy(threadIdx.x);
}  // RULE: partial warps

__global__ void small_blocks(float* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = heavy(threadIdx.x);
}  // RULE: small blocks

__global__ void tiny_launch(float* out, int steps) {  // RULE: many tiny launches
  for (int k = 0; k < steps; ++k) out[threadIdx.x] += k;
}

int main() {
  unsigned random = 1;
  std::vector<int> index(size), value(size), length(size), bank(size);
  for (int i = 0; i < size; ++i) {
    random = random * 1664525 + 1013904223;
    index[i] = is_fixed ? i : random >> 8 & (size - 1);
    value[i] = random >> 24 & 3;
    length[i] = is_fixed ? 8 : i % 32 == 0 ? 100 : 1 + (i & 3);
    bank[i] = is_fixed ? i % 32 : i % 32 * 32;
  }
  float* const in = zeros<float>(size * 16);
  float* const out = zeros<float>(size * 16);
  double* const doubles = zeros<double>(size);
  unsigned* const bins = zeros<unsigned>(size);
  int* const values = on_device(value);
  strided<<<blocks, threads>>>(in, out);
  pitched<<<blocks, threads>>>(doubles, zeros<double>(size), blocks);
  gathered<<<blocks, threads>>>(on_device(index), in, in + size, out);
  column_of_tile<<<blocks, threads>>>(in, out);
  narrow_rows<<<blocks, dim3(16, 16)>>>(in, out);
  table_look_up<<<blocks, threads>>>(on_device(bank), out);
  block_histogram<<<blocks, threads>>>(values, bins);
  atomics_in_columns<<<blocks, threads>>>(bins);
  device_histogram<<<blocks, threads>>>(values, bins);
  divergent<<<blocks, threads>>>(out);
  uneven_rows<<<blocks, threads>>>(on_device(length), out);
  partial_warps<<<blocks, is_fixed ? 64 : 48>>>(out);
  small_blocks<<<is_fixed ? 800 : 3200, is_fixed ? 128 : 32>>>(zeros<float>(102400));
  for (int k = 0; k < (is_fixed ? 1 : 100); ++k) tiny_launch<<<1, 32>>>(out, is_fixed ? 100 : 1);
  return finish();
}
