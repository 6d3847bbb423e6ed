// Kernels with the same indices as descriptions in examples/advise, for comparing observations with
// the descriptions: every variant that can be written as a kernel. usage: observed FAMILY SIZE
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                \
  do {                                                                             \
    const cudaError_t status = (call);                                             \
    if (status != cudaSuccess) {                                                   \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(status)); \
      std::exit(2);                                                                \
    }                                                                              \
  } while (false)

constexpr int tile = 16;

// ---- product.access (Figures 1 and 2 of the CuMAPz paper): `rows` selects the layout of the tile

template <int shift, bool rows, int padding, bool transposed>
__global__ void product(const float* in, float* out, int n) {
  __shared__ float buffer[tile * (tile + padding)];
  const int row = blockIdx.y * tile + threadIdx.y;
  const int col = blockIdx.x * tile + threadIdx.x;
  const auto place = [](int x, int y) { return rows ? y * (tile + padding) + x : x * (tile + padding) + y; };
  const int tx = threadIdx.x, ty = threadIdx.y;
  if (shift >= 0) {
    buffer[place(tx, ty)] = in[row * n + col + shift];
    __syncthreads();
  }
  if (col >= n - 2) return;
  float value = 1;
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const int x = tx + k - shift;
    float factor;
    if (shift >= 0 && x >= 0 && x < tile) {
      factor = buffer[place(x, ty)];
    } else {
      factor = in[row * n + col + k];
    }
    value *= factor;
  }
  out[transposed ? col * n + row : row * n + col] = value;
}

// ---- laplace.access: one of nine references fetches

template <int fetched>
__global__ void laplace(const float* in, float* out, int n) {
  __shared__ float buffer[tile * tile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
  constexpr int down = fetched / 3 - 1, right = fetched % 3 - 1;
  buffer[ty * tile + tx] = in[(row + down) * n + col + right];
  __syncthreads();
  if (row > 0 && row < n - 1 && col > 0 && col < n - 1) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
      const int dy = k / 3 - 1, dx = k % 3 - 1;
      const int y = ty + dy - down, x = tx + dx - right;
      float value;
      if (y >= 0 && y < tile && x >= 0 && x < tile) {
        value = buffer[y * tile + x];
      } else {
        value = in[(row + dy) * n + col + dx];
      }
      sum += value;
    }
    out[row * n + col] = sum;
  }
}

// ---- transpose.access

constexpr int wide = 32, high = 8;

template <int step>
__global__ void transpose(const float* in, float* out, int n) {
  constexpr int pitch = wide + (step == 2 || step == 3);
  const int bx = step >= 3 ? (blockIdx.x + blockIdx.y) % gridDim.x : blockIdx.x;
  const int by = step >= 3 ? blockIdx.x : blockIdx.y;
  const int tx = threadIdx.x, ty = threadIdx.y;
  if constexpr (step == 0) {
#pragma unroll 1
    for (int j = 0; j < wide; j += high)
      out[(bx * wide + tx) * n + by * wide + ty + j] = in[(by * wide + ty + j) * n + bx * wide + tx];
  } else {
    __shared__ float buffer[wide * pitch];
#pragma unroll 1
    for (int j = 0; j < wide; j += high)
      buffer[(ty + j) * pitch + tx] = in[(by * wide + ty + j) * n + bx * wide + tx];
    __syncthreads();
#pragma unroll 1
    for (int j = 0; j < wide; j += high)
      out[(bx * wide + ty + j) * n + by * wide + tx] = buffer[tx * pitch + ty + j];
  }
}

// ---- matmul.access: operands in shared memory: 0 A, 1 B, 3 both, 4 and 5 both with half blocks

template <int step>
__global__ void matmul(const float* a, const float* b, float* c, int n) {
  constexpr bool has_a = step == 0 || step > 2, has_b = step == 1 || step > 2;
  constexpr int right = step == 4 ? tile / 2 : 0, down = step == 5 ? tile / 2 : 0;
  __shared__ float tile_a[has_a ? tile * tile : 1], tile_b[has_b ? tile * tile : 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
  float sum = 0, second = 0;
#pragma unroll 1
  for (int first = 0; first < n; first += tile) {
    if (has_a) tile_a[ty * tile + tx] = a[row * n + first + tx];
    if (has_b) tile_b[ty * tile + tx] = b[(first + ty) * n + col];
    if (step > 3) {
      tile_a[(ty + down) * tile + tx + right] = a[(row + down) * n + first + tx + right];
      tile_b[(ty + down) * tile + tx + right] = b[(first + ty + down) * n + col + right];
    }
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < tile; ++k) {
      const float of_a = has_a ? tile_a[ty * tile + k] : a[row * n + first + k];
      const float of_b = has_b ? tile_b[k * tile + tx] : b[(first + k) * n + col];
      sum += of_a * of_b;
      if (step == 4) second += of_a * tile_b[k * tile + tx + right];
      if (step == 5) second += tile_a[(ty + down) * tile + k] * of_b;
    }
    __syncthreads();
  }
  c[row * n + col] = sum;
  if (step > 3) c[(row + down) * n + col + right] = second;
}

// ---- not in descriptions: an index from memory, dynamic shared memory, a data-dependent branch

__global__ void gather(const int* index, const float* in, float* out, int n) {
  extern __shared__ float dynamic[];
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= n) return;
  const int from = index[at];
  dynamic[threadIdx.x * 2] = in[from];
  __syncthreads();
  float value;
  if (from % 4 == 0) {
    value = dynamic[threadIdx.x * 2];
  } else {
    value = in[at];
  }
  out[at] = value;
}

int main(int count, char** arguments) {
  const std::string family = count > 1 ? arguments[1] : "";
  const int n = count > 2 ? std::atoi(arguments[2]) : 64;
  const std::size_t elements = static_cast<std::size_t>(n) * n;
  const std::size_t margin = 2 * static_cast<std::size_t>(n) + 64;  // Laplace reads a row above and below
  const std::size_t before = (margin + 511) / 512 * 512;            // width of compute_1_3's channels
  float *in, *out, *third;
  CHECK(cudaMalloc(&in, (elements + 2 * before) * sizeof(float)));
  CHECK(cudaMalloc(&out, (elements + before) * sizeof(float)));
  CHECK(cudaMalloc(&third, elements * sizeof(float)));
  std::vector<float> values(elements + 2 * before);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 1009) / 64;
  CHECK(cudaMemcpy(in, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(out, 0, (elements + before) * sizeof(float)));
  const float* const data = in + before;
  const dim3 grid(n / tile, n / tile), block(tile, tile);
  if (family == "product") {
    product<0, true, 0, false><<<grid, block>>>(data, out, n);
    product<1, true, 0, false><<<grid, block>>>(data, out, n);
    product<2, true, 0, false><<<grid, block>>>(data, out, n);
    product<0, false, 0, false><<<grid, block>>>(data, out, n);
    product<1, false, 1, false><<<grid, block>>>(data, out, n);
    product<2, true, 0, true><<<grid, block>>>(data, out, n);
    product<-1, true, 0, false><<<grid, block>>>(data, out, n);
  } else if (family == "laplace") {
    laplace<0><<<grid, block>>>(data, out, n);
    laplace<1><<<grid, block>>>(data, out, n);
    laplace<2><<<grid, block>>>(data, out, n);
    laplace<3><<<grid, block>>>(data, out, n);
    laplace<4><<<grid, block>>>(data, out, n);
    laplace<5><<<grid, block>>>(data, out, n);
    laplace<6><<<grid, block>>>(data, out, n);
    laplace<7><<<grid, block>>>(data, out, n);
    laplace<8><<<grid, block>>>(data, out, n);
  } else if (family == "transpose") {
    const dim3 blocks(n / wide, n / wide), threads(wide, high);
    transpose<0><<<blocks, threads>>>(data, out, n);
    transpose<1><<<blocks, threads>>>(data, out, n);
    transpose<2><<<blocks, threads>>>(data, out, n);
    transpose<3><<<blocks, threads>>>(data, out, n);
    transpose<4><<<blocks, threads>>>(data, out, n);
  } else if (family == "matmul") {
    matmul<0><<<grid, block>>>(data, out, third, n);
    matmul<1><<<grid, block>>>(data, out, third, n);
    matmul<3><<<grid, block>>>(data, out, third, n);
    matmul<4><<<grid, dim3(tile / 2, tile)>>>(data, out, third, n);
    matmul<5><<<grid, dim3(tile, tile / 2)>>>(data, out, third, n);
  } else if (family == "gather") {
    int* index;
    CHECK(cudaMalloc(&index, n * sizeof(int)));
    int* const host = new int[n];
    for (int i = 0; i < n; ++i) host[i] = static_cast<int>(i * 37ll % n);
    CHECK(cudaMemcpy(index, host, n * sizeof(int), cudaMemcpyHostToDevice));
    delete[] host;
    gather<<<n / 128, 128, 256 * sizeof(float)>>>(index, data, out, n);
  } else {
    std::fprintf(stderr, "usage: observed product|laplace|transpose|matmul|gather SIZE\n");
    return 2;
  }
  CHECK(cudaDeviceSynchronize());
  std::vector<unsigned> result(elements);
  CHECK(cudaMemcpy(result.data(), out, elements * sizeof(float), cudaMemcpyDeviceToHost));
  unsigned long long hash = 1;
  for (const unsigned each : result) hash = (hash ^ each) * 0x100000001b3ull;
  std::printf("observed: checksum 0x%016llx\n", hash);
  return 0;
}
