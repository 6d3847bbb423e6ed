// Typical uses of tensor maps: tiles are loaded, changed and stored (a map as kernel parameter), transposed
// through swizzled shared memory (a map in constant memory), added to a tensor, and read by a map that a
// kernel has changed. Prints whether the results equal the host's.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cuda/barrier>
#include <cuda/ptx>
#include <utility>
#include <vector>

// A barrier in shared memory is initialized by init().
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;

namespace {

constexpr int width = 100;
constexpr int height = 70;
constexpr int pitch = 128;  // elements; the padding is not part of the tensor
constexpr int tile = 32;
constexpr int threads = 128;

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(error));
  std::exit(1);
}

/// Waits until thread 0's load into the block's tile has arrived.
template <typename Load>
__device__ void load_and_wait(barrier& bar, unsigned bytes, const Load& load) {
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    load(cuda::device::barrier_native_handle(bar));
    token = cuda::device::barrier_arrive_tx(bar, 1, bytes);
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
}

/// Adds 1 to each element.
__global__ void increment(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) int own[tile][tile];
  __shared__ barrier bar;
  const int at[2] = {int(blockIdx.x) * tile, int(blockIdx.y) * tile};
  load_and_wait(bar, sizeof own, [&](std::uint64_t* signal) {
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &own, &map, at, signal);
  });
  for (int i = threadIdx.x; i < tile * tile; i += blockDim.x) own[i / tile][i % tile] += 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x != 0) return;
  ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &map, at, &own);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

__constant__ CUtensorMap constant_map;

/// Rows of a tile are spans of 128 bytes; the swizzle spreads a column over all banks.
__global__ void transpose(int* out) {
  __shared__ alignas(1024) int own[tile][tile];
  __shared__ barrier bar;
  const int at[2] = {int(blockIdx.x) * tile, int(blockIdx.y) * tile};
  load_and_wait(bar, sizeof own, [&](std::uint64_t* signal) {
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &own, &constant_map, at, signal);
  });
  for (int i = threadIdx.x; i < tile * tile; i += blockDim.x) {
    const int row = i % tile;
    const int column = i / tile;
    const int x = at[0] + column;
    const int y = at[1] + row;
    if (x < width && y < height) out[x * height + y] = own[row][((column / 4) ^ (row % 8)) * 4 + column % 4];
  }
}

/// Each block adds its number + 1 to 64 consecutive elements.
__global__ void add(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) int own[64];
  if (threadIdx.x < 64) own[threadIdx.x] = blockIdx.x + 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x != 0) return;
  const int at[1] = {int(blockIdx.x) * 32};
  ptx::cp_reduce_async_bulk_tensor(ptx::space_global, ptx::space_shared, ptx::op_add, &map, at, &own);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

/// Copies 64 elements from the middle of the tensor, by a map that begins there.
__global__ void read_by_changed_map(const __grid_constant__ CUtensorMap map, CUtensorMap* changed,
                                    int* tensor, int* out) {
  __shared__ alignas(128) CUtensorMap own_map;
  __shared__ alignas(128) int own[64];
  __shared__ barrier bar;
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) {
      own_map = map;
      ptx::tensormap_replace_global_address(ptx::space_shared, &own_map, tensor + 64);
      ptx::tensormap_replace_global_dim(ptx::space_shared, &own_map, ptx::n32_t<0>(), 60);
    }
    __syncwarp();
    ptx::tensormap_cp_fenceproxy(ptx::sem_release, ptx::scope_gpu, changed, &own_map, ptx::n32_t<128>());
    ptx::fence_proxy_tensormap_generic(ptx::sem_acquire, ptx::scope_gpu, changed, ptx::n32_t<128>());
  }
  const int at[1] = {0};
  load_and_wait(bar, sizeof own, [&](std::uint64_t* signal) {
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &own, changed, at, signal);
  });
  if (threadIdx.x < 64) out[threadIdx.x] = own[threadIdx.x];
}

using Encode = decltype(&cuTensorMapEncodeTiled);

Encode find_encode() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
  check(
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status));
  if (status == cudaDriverEntryPointSuccess && found != nullptr) return reinterpret_cast<Encode>(found);
  std::printf("cuTensorMapEncodeTiled is not found\n");
  std::exit(1);
}

CUtensorMap map_of(std::vector<cuuint64_t> sizes, std::vector<cuuint32_t> box, void* tensor,
                   CUtensorMapSwizzle swizzle) {
  const cuuint64_t strides[1] = {pitch * sizeof(int)};
  const cuuint32_t steps[2] = {1, 1};
  CUtensorMap map;
  const CUresult result =
      find_encode()(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, sizes.size(), tensor, sizes.data(), strides,
                    box.data(), steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                    CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result == CUDA_SUCCESS) return map;
  std::printf("cuTensorMapEncodeTiled returns %d\n", result);
  std::exit(1);
}

template <typename Expected>
void compare(const char* what, const int* found, int count, const Expected& expected) {
  for (int i = 0; i < count; ++i) {
    if (found[i] == expected(i)) continue;
    std::printf("%s: element %d is %d, not %d\n", what, i, found[i], expected(i));
    return;
  }
  std::printf("%s: right\n", what);
}

}  // namespace

int main() {
  int* tensor = nullptr;
  int* out = nullptr;
  check(cudaMallocManaged(&tensor, pitch * height * sizeof(int)));
  check(cudaMallocManaged(&out, pitch * height * sizeof(int)));
  for (int i = 0; i < pitch * height; ++i) tensor[i] = i;
  const auto value = [](int x, int y) { return y * pitch + x; };
  const dim3 grid((width + tile - 1) / tile, (height + tile - 1) / tile);

  increment<<<grid, threads>>>(map_of({width, height}, {tile, tile}, tensor, CU_TENSOR_MAP_SWIZZLE_NONE));
  check(cudaDeviceSynchronize());
  compare("increment", tensor, pitch * height, [&](int i) { return i + (i % pitch < width ? 1 : 0); });

  for (int i = 0; i < pitch * height; ++i) tensor[i] = i;
  const CUtensorMap swizzled = map_of({width, height}, {tile, tile}, tensor, CU_TENSOR_MAP_SWIZZLE_128B);
  check(cudaMemcpyToSymbol(constant_map, &swizzled, sizeof swizzled));
  transpose<<<grid, threads>>>(out);
  check(cudaDeviceSynchronize());
  compare("transpose", out, width * height, [&](int i) { return value(i / height, i % height); });

  const CUtensorMap line = map_of({200}, {64}, tensor, CU_TENSOR_MAP_SWIZZLE_NONE);
  add<<<6, threads>>>(line);
  check(cudaDeviceSynchronize());
  compare("add", tensor, 256, [](int i) {
    int sum = i;
    for (int block = 0; block < 6; ++block)
      sum += i < 200 && i / 32 - block >= 0 && i / 32 - block < 2 ? block + 1 : 0;
    return sum;
  });

  for (int i = 0; i < pitch * height; ++i) tensor[i] = i;
  CUtensorMap* changed = nullptr;
  check(cudaMalloc(&changed, sizeof *changed));
  read_by_changed_map<<<1, threads>>>(line, changed, tensor, out);
  check(cudaDeviceSynchronize());
  compare("changed map", out, 64, [](int i) { return i < 60 ? 64 + i : 0; });
  return 0;
}
