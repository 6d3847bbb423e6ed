// Kernels with libcu++, cooperative groups and wmma, compiled by nvcc for the cpu device's architecture.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <mma.h>

#include <cstdio>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "tests/device_runtime/asynchronous.h"

namespace cg = cooperative_groups;

namespace {

constexpr int threads = 256;
constexpr int count = 8 * threads;
char message[256];

/// The index that `thread` reads from each tile.
__host__ __device__ int place(int thread) { return thread * 7 % threads; }

__global__ void with_barrier(const int* in, int* out) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ alignas(16) int tile[threads];
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&barrier, block.size());
  block.sync();
  int sum = 0;
  for (int base = 0; base < count; base += threads) {
    cuda::memcpy_async(block, tile, in + base, cuda::aligned_size_t<16>(sizeof tile), barrier);
    barrier.arrive_and_wait();
    sum += tile[place(threadIdx.x)];
    barrier.arrive_and_wait();
  }
  out[threadIdx.x] = sum;
}

__global__ void with_pipeline(const int* in, int* out) {
  constexpr int stages = 2;
  __shared__ alignas(16) int tiles[stages][threads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  const auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  int fetched = 0;
  for (int tile = 0; tile < count / threads; ++tile) {
    for (; fetched < count / threads && fetched < tile + stages; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, tiles[fetched % stages], in + fetched * threads, sizeof tiles[0], pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += tiles[tile % stages][place(threadIdx.x)];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}

__global__ void with_groups(const int* in, int* out) {
  __shared__ alignas(16) int tile[threads];
  const auto block = cg::this_thread_block();
  int sum = 0;
  for (int base = 0; base < count; base += threads) {
    cg::memcpy_async(block, tile, in + base, sizeof tile);
    cg::wait(block);
    sum += tile[place(threadIdx.x)];
    block.sync();
  }
  out[threadIdx.x] = sum;
}

__global__ void with_wmma(const half* a, const half* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, half, row_major> left;
  fragment<matrix_b, 16, 16, 16, half, col_major> right;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  for (int k = 0; k < 64; k += 16) {
    load_matrix_sync(left, a + k, 64);
    load_matrix_sync(right, b + k, 64);
    mma_sync(sum, left, right, sum);
  }
  store_matrix_sync(c, sum, 16, mem_row_major);
}

__global__ void with_grid(int* data, int rounds) {
  const auto grid = cg::this_grid();
  const auto own = grid.thread_rank();
  for (int round = 0; round < rounds; ++round) {
    const int next = data[(own + 1) % grid.size()];
    grid.sync();
    data[own] = next + 1;
    grid.sync();
  }
}

/// Returns null on success.
const char* judge(const char* name, int wrong) {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error == cudaSuccess && wrong == 0) return nullptr;
  std::snprintf(message, sizeof message, "%s: %s, %d wrong", name, cudaGetErrorString(error), wrong);
  return message;
}

}  // namespace

const char* run_asynchronous_copies() {
  int* in = nullptr;
  int* out = nullptr;
  cudaMallocManaged(&in, count * sizeof(int));
  cudaMallocManaged(&out, threads * sizeof(int));
  for (int i = 0; i < count; ++i) in[i] = i * i % 1001;
  const std::pair<const char*, void (*)(const int*, int*)> kernels[] = {
      {"with_barrier", with_barrier}, {"with_pipeline", with_pipeline}, {"with_groups", with_groups}};
  for (const auto& [name, kernel] : kernels) {
    cudaMemset(out, 0, threads * sizeof(int));
    kernel<<<1, threads>>>(in, out);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int thread = 0; thread < threads; ++thread) {
      int sum = 0;
      for (int base = 0; base < count; base += threads) sum += in[base + place(thread)];
      wrong += sum != out[thread];
    }
    if (const char* const failed = judge(name, wrong)) return failed;
  }
  cudaFree(in);
  cudaFree(out);
  return nullptr;
}

const char* run_matrices() {
  half* a = nullptr;
  half* b = nullptr;
  float* c = nullptr;
  cudaMallocManaged(&a, 16 * 64 * sizeof(half));
  cudaMallocManaged(&b, 16 * 64 * sizeof(half));
  cudaMallocManaged(&c, 16 * 16 * sizeof(float));
  const auto left = [](int i) { return i * 7 % 9 - 4; };
  const auto right = [](int i) { return i * 5 % 7 - 3; };
  for (int i = 0; i < 16 * 64; ++i) {
    a[i] = __float2half(static_cast<float>(left(i)));
    b[i] = __float2half(static_cast<float>(right(i)));
  }
  with_wmma<<<1, 32>>>(a, b, c);
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      int sum = 0;
      for (int k = 0; k < 64; ++k) sum += left(row * 64 + k) * right(column * 64 + k);
      wrong += static_cast<float>(sum) != c[row * 16 + column];
    }
  }
  const char* const judged = judge("with_wmma", wrong);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  return judged;
}

const char* run_grid_barrier() {
  constexpr int blocks = 4;
  constexpr int all = blocks * 32;
  int rounds = 5;
  int* data = nullptr;
  cudaMallocManaged(&data, all * sizeof(int));
  for (int i = 0; i < all; ++i) data[i] = i;
  void* arguments[] = {&data, &rounds};
  cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(with_grid), blocks, 32, arguments, 0, nullptr);
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int i = 0; i < all; ++i) wrong += data[i] != (i + rounds) % all + rounds;
  const char* const judged = judge("with_grid", wrong);
  cudaFree(data);
  return judged;
}
