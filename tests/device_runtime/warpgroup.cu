// A matrix product by wgmma, as kernels for Hopper are written: one warp group copies tiles into swizzled
// shared memory, two others multiply them and store their sums by stmatrix.
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>

#include "tests/device_runtime/asynchronous.h"

namespace {

constexpr int m = 128;  // 64 rows for each of the two groups
constexpr int n = 64;
constexpr int k = 192;
constexpr int tile_k = 64;  // 128 bytes, a row of the swizzle pattern
constexpr int stages = 2;
constexpr int group = 128;

__device__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Descriptor of a K-major tile with 128-byte swizzle: groups of eight rows are 1024 bytes apart.
__device__ std::uint64_t descriptor_of(const half* tile) {
  constexpr std::uint64_t stride = 1024 / 16;
  return (shared_address(tile) & 0x3ffff) >> 4 | std::uint64_t{1} << 16 | stride << 32 |
         std::uint64_t{1} << 62;
}

/// Copies `rows` rows of 64 elements; the pieces of 16 bytes in row r are combined with r % 8.
__device__ void copy_tile(half* tile, const half* from, int rows) {
  for (int piece = threadIdx.x; piece < rows * 8; piece += group) {
    const int row = piece / 8;
    reinterpret_cast<int4*>(tile)[row * 8 + (piece % 8 ^ row % 8)] =
        *reinterpret_cast<const int4*>(from + row * k + piece % 8 * 8);
  }
}

__device__ void multiply(float (&sum)[32], std::uint64_t a, std::uint64_t b, int accumulates) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
      "%12, "
      "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, "
      "%33, p, "
      "1, 1, 0, 0;\n}\n"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
        "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),
        "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]),
        "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]),
        "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31])
      : "l"(a), "l"(b), "r"(accumulates));
}

__device__ bool is_elected() {
  int elected = 0;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.b32 %0, 1, 0, p;\n}\n" : "=r"(elected));
  return elected != 0;
}

/// Stores 16 x 8 sums of a warp as halves: two matrices of 8 x 8.
__device__ void store(half* to, const float* sums) {
  const __half2 upper = __floats2half2_rn(sums[0], sums[1]);
  const __half2 lower = __floats2half2_rn(sums[2], sums[3]);
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};\n"
               :
               : "r"(shared_address(to)), "r"(*reinterpret_cast<const unsigned*>(&upper)),
                 "r"(*reinterpret_cast<const unsigned*>(&lower))
               : "memory");
}

/// out = a · bᵀ, with a of m x k and b of n x k.
__global__ void __launch_bounds__(3 * group) product(const half* a, const half* b, half* out) {
  extern __shared__ __align__(1024) half shared[];
  half* const tiles_a = shared;
  half* const tiles_b = tiles_a + stages * m * tile_k;
  half* const sums = tiles_b + stages * n * tile_k;
  const int role = threadIdx.x / group;
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
  if (role == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;\n");
    for (int tile = 0; tile < k / tile_k; ++tile) {
      const int stage = tile % stages;
      if (tile >= stages) asm volatile("bar.sync %0, 384;\n" ::"r"(3 + stage) : "memory");
      copy_tile(tiles_a + stage * m * tile_k, a + tile * tile_k, m);
      copy_tile(tiles_b + stage * n * tile_k, b + tile * tile_k, n);
      asm volatile("fence.proxy.async.shared::cta;\nbar.arrive %0, 384;\n" ::"r"(1 + stage) : "memory");
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;\n");
  float sum[32];
  for (int tile = 0; tile < k / tile_k; ++tile) {
    const int stage = tile % stages;
    asm volatile("bar.sync %0, 384;\n" ::"r"(1 + stage) : "memory");
    const std::uint64_t from_a = descriptor_of(tiles_a + (stage * m + (role - 1) * 64) * tile_k);
    const std::uint64_t from_b = descriptor_of(tiles_b + stage * n * tile_k);
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
    for (int step = 0; step < tile_k / 16; ++step)
      multiply(sum, from_a + step * 2, from_b + step * 2, tile != 0 || step != 0);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n" ::: "memory");
    if (tile + stages < k / tile_k) asm volatile("bar.arrive %0, 384;\n" ::"r"(3 + stage) : "memory");
  }
  const int row = (role - 1) * 64 + threadIdx.x % group / 32 * 16 + threadIdx.x % 16;
  for (int column = 0; column < n; column += 8) store(sums + row * n + column, sum + column / 2);
  asm volatile("bar.sync 5, 256;\n" ::: "memory");
  for (int i = threadIdx.x - group; i < m * n; i += 2 * group) out[i] = sums[i];
  if (threadIdx.x == group && is_elected()) asm volatile("griddepcontrol.launch_dependents;\n");
}

float value_of(int row, int column) { return static_cast<float>((row * 7 + column * 3) % 9 - 4); }

char warpgroup_message[128];

}  // namespace

const char* run_warpgroups() {
  half *a = nullptr, *b = nullptr, *out = nullptr;
  cudaMallocManaged(&a, m * k * sizeof(half));
  cudaMallocManaged(&b, n * k * sizeof(half));
  cudaMallocManaged(&out, m * n * sizeof(half));
  for (int i = 0; i < m * k; ++i) a[i] = __float2half(value_of(i / k, i % k));
  for (int i = 0; i < n * k; ++i) b[i] = __float2half(value_of(i % k, i / k));
  constexpr int bytes = (stages * (m + n) * tile_k + m * n) * static_cast<int>(sizeof(half));
  cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  product<<<1, 3 * group, bytes>>>(a, b, out);
  const cudaError_t error = cudaDeviceSynchronize();
  int wrong = 0;
  for (int i = 0; i < m * n; ++i) {
    float expected = 0;
    for (int at = 0; at < k; ++at) expected += value_of(i / n, at) * value_of(at, i % n);
    wrong += __half2float(out[i]) != expected;
  }
  cudaFree(a);
  cudaFree(b);
  cudaFree(out);
  if (error == cudaSuccess && wrong == 0) return nullptr;
  std::snprintf(warpgroup_message, sizeof warpgroup_message, "%s, %d wrong", cudaGetErrorString(error),
                wrong);
  return warpgroup_message;
}
