// Correct kernels: accesses are ordered by cooperative groups, libcu++, asynchronous copies
// or matrix instructions.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "tests/end_to_end/checks/cases.h"

namespace cg = cooperative_groups;

__global__ void grid_phases(int* a, int* b, int count) {
  const auto grid = cg::this_grid();
  const int step = static_cast<int>(grid.size());
  const int first = static_cast<int>(grid.thread_rank());
  for (int i = first; i < count; i += step) a[i] = i;
  grid.sync();
  for (int i = first; i < count; i += step) b[i] = a[count - 1 - i];
  grid.sync();
  for (int i = first; i < count; i += step) a[i] = b[count - 1 - i] + 1;
}

__global__ void barrier_objects(int* result) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int tile[128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  tile[threadIdx.x] = threadIdx.x;
  barrier.arrive_and_wait();
  const int value = tile[127 - threadIdx.x];
  barrier.arrive_and_wait();
  tile[threadIdx.x] = value + 1;
  barrier.arrive_and_wait();
  result[threadIdx.x] = tile[127 - threadIdx.x];
}

__global__ void asynchronous_copies(const int* array, int* result) {
  __shared__ alignas(16) int tile[512];
  __pipeline_memcpy_async(&tile[threadIdx.x * 4], &array[threadIdx.x * 4], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  result[threadIdx.x] = tile[511 - threadIdx.x];
}

constexpr int stages = 2;
constexpr int tile_count = 6;
constexpr int tile_size = 128;

/// The first warp copies tiles, which the others read.
__global__ void pipeline_roles(const int* array, int* result) {
  __shared__ alignas(16) int tile[stages][tile_size];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  const auto block = cg::this_thread_block();
  const auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipe = cuda::make_pipeline(block, &state, role);
  const auto warp = cg::tiled_partition<32>(block);
  int sum = 0;
  for (int i = 0; i < tile_count; ++i) {
    if (role == cuda::pipeline_role::producer) {
      pipe.producer_acquire();
      cuda::memcpy_async(warp, tile[i % stages], array + i * tile_size, sizeof tile[0], pipe);
      pipe.producer_commit();
    } else {
      pipe.consumer_wait();
      sum += tile[i % stages][tile_size - 1 - threadIdx.x];
      pipe.consumer_release();
    }
  }
  result[threadIdx.x] = sum;
}

__global__ void group_copies(const int* array, int* result) {
  __shared__ alignas(16) int tile[tile_size];
  const auto block = cg::this_thread_block();
  int sum = 0;
  for (int i = 0; i < tile_count; ++i) {
    cg::memcpy_async(block, tile, array + i * tile_size, sizeof tile);
    cg::wait(block);
    sum += tile[tile_size - 1 - threadIdx.x];
    block.sync();
  }
  result[threadIdx.x] = sum;
}

/// Aligned copies that complete a barrier are bulk copies.
__global__ void bulk_copies(const int* array, int* result) {
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(16) int tile[stages][tile_size];
  __shared__ Barrier full[stages];
  const auto block = cg::this_thread_block();
  if (threadIdx.x < stages) init(&full[threadIdx.x], tile_size);
  block.sync();
  const cuda::aligned_size_t<16> size(sizeof tile[0]);
  int sum = 0;
  for (int i = 0; i < tile_count; ++i) {
    cuda::memcpy_async(block, tile[i % stages], array + i * tile_size, size, full[i % stages]);
    full[i % stages].arrive_and_wait();
    sum += tile[i % stages][tile_size - 1 - threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    block.sync();
  }
  result[threadIdx.x] = sum;
}

__global__ void release_and_acquire(int* value, int* place, int* result) {
  if (threadIdx.x != 0) return;
  const cuda::atomic_ref<int, cuda::thread_scope_device> flag(*place);
  if (blockIdx.x == 0) {
    *value = 3;
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {}
    result[blockIdx.x] = *value;
  }
}

__global__ void tiles(int* result) {
  __shared__ int shared[64];
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  shared[threadIdx.x] = threadIdx.x;
  tile.sync();
  const int value = shared[(threadIdx.x & ~7u) + 7 - tile.thread_rank()];
  result[threadIdx.x] = cg::reduce(tile, value, cg::plus<int>());
}

__global__ void matrices(const half* a, const half* b, float* c) {
  using namespace nvcuda::wmma;
  __shared__ half tile[256];
  for (unsigned i = threadIdx.x; i < 256; i += 32) tile[i] = a[i];
  __syncthreads();
  fragment<matrix_a, 16, 16, 16, half, row_major> left;
  fragment<matrix_b, 16, 16, 16, half, col_major> right;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  load_matrix_sync(left, tile, 16);
  load_matrix_sync(right, b, 16);
  mma_sync(sum, left, right, sum);
  store_matrix_sync(c, sum, 16, mem_row_major);
}

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* a = zeroed(1024);
  int* b = zeroed(1024);
  int* const result = zeroed(1024);
  if (cases.has("grid_phases")) {
    int elements = 1000;
    void* parameters[] = {&a, &b, &elements};
    cudaLaunchCooperativeKernel(reinterpret_cast<void*>(grid_phases), 4, 64, parameters, 0, nullptr);
  }
  if (cases.has("barrier_objects")) barrier_objects<<<2, 128>>>(result);
  if (cases.has("asynchronous_copies")) asynchronous_copies<<<1, 128>>>(a, result);
  if (cases.has("pipeline_roles")) pipeline_roles<<<1, tile_size>>>(a, result);
  if (cases.has("group_copies")) group_copies<<<1, tile_size>>>(a, result);
  if (cases.has("bulk_copies")) bulk_copies<<<1, tile_size>>>(a, result);
  if (cases.has("release_and_acquire")) release_and_acquire<<<3, 32>>>(a, b, result);
  if (cases.has("tiles")) tiles<<<1, 64>>>(result);
  if (cases.has("matrices")) {
    const auto* const halves = reinterpret_cast<const half*>(a);
    matrices<<<1, 32>>>(halves, halves, reinterpret_cast<float*>(result));
  }
  return cases.finish();
}
