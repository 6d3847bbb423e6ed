// Tensor copies whose box begins between multiples of 16 bytes, and the same kernels without this fault
// (`RIGHT`). A comment after an instruction names the case and its finding.
#include <cuda.h>

#include "tests/end_to_end/checks/async_instructions.h"
#include "tests/end_to_end/checks/cases.h"

namespace {

constexpr int width = 64;
constexpr int height = 8;
constexpr int columns = 16;  // of a box
constexpr int rows = 4;
constexpr int box_bytes = columns * rows * static_cast<int>(sizeof(int));

// Boxes begin at multiples of four elements of 4 bytes.
#define AT(right, wrong) (RIGHT ? (right) : (wrong))

template <bool RIGHT>
__global__ void load_between(const __grid_constant__ CUtensorMap map, int* out) {
  __shared__ alignas(128) int tile[rows * columns];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE_EXPECT(&full, box_bytes);
    TENSOR_LOAD(tile, &map, AT(4, 5), 1, &full);  // load_between: invalid tensor
  }
  WAIT_OBJECT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

/// A halo of one element left of the tensor; the repaired kernel loads four.
template <bool RIGHT>
__global__ void load_halo(const __grid_constant__ CUtensorMap map, int* out) {
  __shared__ alignas(128) int tile[rows * columns];
  __shared__ std::uint64_t full;
  if (threadIdx.x == 0) INIT(&full, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    ARRIVE_EXPECT(&full, box_bytes);
    TENSOR_LOAD(tile, &map, AT(-4, -1), -1, &full);  // load_halo: invalid tensor
  }
  WAIT_OBJECT(&full, 0);
  out[threadIdx.x] = tile[threadIdx.x];
}

template <bool RIGHT>
__global__ void store_between(const __grid_constant__ CUtensorMap map, int*) {
  __shared__ alignas(128) int tile[rows * columns];
  tile[threadIdx.x] = static_cast<int>(threadIdx.x);
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x != 0) return;
  TENSOR_STORE(&map, AT(8, 6), 0, tile);  // store_between: invalid tensor
  BULK_COMMIT();
  BULK_WAIT(0);
}

template <bool RIGHT>
__global__ void add_between(const __grid_constant__ CUtensorMap map, int*) {
  __shared__ alignas(128) int tile[rows * columns];
  tile[threadIdx.x] = static_cast<int>(threadIdx.x);
  PROXY_FENCE();
  __syncthreads();
  if (threadIdx.x != 0) return;
  TENSOR_ADD(&map, AT(60, 61), 7, tile);  // add_between: invalid tensor
  BULK_COMMIT();
  BULK_WAIT(0);
}

template <bool RIGHT>
__global__ void prefetch_between(const __grid_constant__ CUtensorMap map, int* out) {
  if (threadIdx.x == 0) TENSOR_PREFETCH(&map, AT(0, 2), 0);  // prefetch_between: invalid tensor
  out[threadIdx.x] = 1;
}

CUtensorMap map_of(int* tensor) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status);
  const cuuint64_t sizes[] = {width, height};
  const cuuint64_t strides[] = {width * sizeof(int)};
  const cuuint32_t box[] = {columns, rows};
  const cuuint32_t steps[] = {1, 1};
  CUtensorMap map;
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  if (found == nullptr ||
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, tensor, sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    std::printf("no tensor map\n");
  return map;
}

}  // namespace

#define PAIR(name)                                                    \
  if (cases.has(#name)) name<false><<<1, rows * columns>>>(map, out); \
  if (cases.has(#name "_right")) name<true><<<1, rows * columns>>>(map, out)

int main(int count, char** arguments) {
  const Cases cases(count, arguments);
  int* const out = zeroed(rows * columns);
  const CUtensorMap map = map_of(zeroed(width * height));
  PAIR(load_between);
  PAIR(load_halo);
  PAIR(store_between);
  PAIR(add_between);
  PAIR(prefetch_between);
  return cases.finish();
}
