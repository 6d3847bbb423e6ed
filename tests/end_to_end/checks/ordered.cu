// Correct kernels: accesses are ordered by cooperative groups, libcu++, asynchronous copies
// or matrix instructions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cuda/atomic>
#include <cuda/barrier>

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
  if (cases.has("release_and_acquire")) release_and_acquire<<<3, 32>>>(a, b, result);
  if (cases.has("tiles")) tiles<<<1, 64>>>(result);
  if (cases.has("matrices")) {
    const auto* const halves = reinterpret_cast<const half*>(a);
    matrices<<<1, 32>>>(halves, halves, reinterpret_cast<float*>(result));
  }
  return cases.finish();
}
