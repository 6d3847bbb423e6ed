// Source of transposes.ptx: nvcc -arch=sm_75 -ptx transposes.cu -o transposes.ptx
// Transposes of square matrices of full tiles by blocks of 32 x 8 threads. The first two kernels differ only
// in the order of their blocks.
constexpr int tile = 32;
constexpr int rows = 8;

__device__ void move_tile(const float* in, float* out, int size, int column, int row) {
  __shared__ float values[tile][tile + 1];
  const int x = threadIdx.x, y = threadIdx.y;
  in += (row * tile + y) * size + column * tile + x;
  out += (column * tile + y) * size + row * tile + x;
#pragma unroll
  for (int step = 0; step < tile; step += rows) {
    values[y + step][x] = *in;
    in += rows * size;
  }
  __syncthreads();
#pragma unroll
  for (int step = 0; step < tile; step += rows) {
    *out = values[x][y + step];
    out += rows * size;
  }
}

// Concurrent blocks write to one column of tiles.
extern "C" __global__ void coalesced(const float* in, float* out, int size) {
  move_tile(in, out, size, blockIdx.x, blockIdx.y);
}

// Concurrent blocks write to a diagonal.
extern "C" __global__ void diagonal(const float* in, float* out, int size) {
  move_tile(in, out, size, (blockIdx.x + blockIdx.y) & (gridDim.x - 1), blockIdx.x);
}

// No tile: adjacent threads store a row apart.
extern "C" __global__ void naive(const float* in, float* out, int size) {
  const int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
  for (int step = 0; step < tile; step += rows) out[x * size + y + step] = in[(y + step) * size + x];
}
