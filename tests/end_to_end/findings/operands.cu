// Tiles that wgmma reads by matrix descriptors, stored row by row. Comments name the rules that hold at their
// lines; with -DFIX, which stores the tiles in the 128-byte swizzle, none does.
#include <cuda_fp16.h>

#include <cstdint>

#include "tests/end_to_end/findings/data.h"

#ifdef FIX
constexpr bool is_fixed = true;
#else
constexpr bool is_fixed = false;
#endif

constexpr int threads = 128, blocks = 4, tiles = 8;
constexpr int edge = 64;  // elements; a row of a tile has 128 bytes

/// The offset of 16 bytes: without a swizzle, 8 rows of 16 bytes are adjacent, and then 8 rows of the same
/// pieces.
__device__ int offset_of(int row, int piece) {
  return is_fixed ? row * 128 + (piece ^ row % 8) * 16 : piece * 1024 + row * 16;
}

/// The descriptor of 64 rows and, from `depth` elements on, the columns of one product.
__device__ std::uint64_t descriptor_of(const void* tile, int depth) {
  const auto start =
      static_cast<std::uint64_t>(__cvta_generic_to_shared(tile)) + depth * (is_fixed ? 2 : 128);
  const std::uint64_t leading = 1024, stride = is_fixed ? 1024 : 128, mode = is_fixed ? 1 : 0;
  return (start & 0x3ffff) >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
}

__device__ void multiply(float (&sums)[32], std::uint64_t a, std::uint64_t b) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, 1, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, 1, 1, 0, 0;}\n"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3]), "+f"(sums[4]), "+f"(sums[5]),
        "+f"(sums[6]), "+f"(sums[7]), "+f"(sums[8]), "+f"(sums[9]), "+f"(sums[10]), "+f"(sums[11]),
        "+f"(sums[12]), "+f"(sums[13]), "+f"(sums[14]), "+f"(sums[15]), "+f"(sums[16]), "+f"(sums[17]),
        "+f"(sums[18]), "+f"(sums[19]), "+f"(sums[20]), "+f"(sums[21]), "+f"(sums[22]), "+f"(sums[23]),
        "+f"(sums[24]), "+f"(sums[25]), "+f"(sums[26]), "+f"(sums[27]), "+f"(sums[28]), "+f"(sums[29]),
        "+f"(sums[30]), "+f"(sums[31])
      : "l"(a), "l"(b)
      : "memory");
}

/// Each block adds up the products of `tiles` pairs of tiles; B is stored by columns.
__global__ void multiply_tiles(const __half* a, const __half* b, float* out) {
  __shared__ alignas(1024) std::byte tile_a[edge * 128];
  __shared__ alignas(1024) std::byte tile_b[edge * 128];
  float sums[32] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    const int first = (blockIdx.x * tiles + tile) * edge * edge;
    for (int i = threadIdx.x; i < edge * 8; i += threads) {
      const int row = i / 8, piece = i % 8, from = first + row * edge + piece * 8;
      const int to = offset_of(row, piece);
      const int4 of_a = *reinterpret_cast<const int4*>(a + from);
      const int4 of_b = *reinterpret_cast<const int4*>(b + from);
      *reinterpret_cast<int4*>(tile_a + to) = of_a;  // RULE: tile bank conflicts
      *reinterpret_cast<int4*>(tile_b + to) = of_b;  // RULE: tile bank conflicts
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int depth = 0; depth < edge; depth += 16)
      multiply(sums, descriptor_of(tile_a, depth), descriptor_of(tile_b, depth));
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();
  }
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < 32; i += 2) {
    const int row = threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2;
    float* const to = &out[(blockIdx.x * edge + row) * edge + column];
    *reinterpret_cast<float2*>(to) = make_float2(sums[i], sums[i + 1]);
  }
}

int main() {
  constexpr int count = blocks * tiles * edge * edge;
  std::vector<__half> a(count), b(count);
  for (int i = 0; i < count; ++i) {
    a[i] = __float2half(static_cast<float>(i * 7 % 11 - 5));
    b[i] = __float2half(static_cast<float>(i * 5 % 13 - 6));
  }
  float* const out = zeros<float>(blocks * edge * edge);
  multiply_tiles<<<blocks, threads>>>(on_device(a), on_device(b), out);
  std::vector<float> found(blocks * edge * edge);
  cudaMemcpy(found.data(), out, found.size() * sizeof(float), cudaMemcpyDeviceToHost);
  for (int i = 0; i < static_cast<int>(found.size()); ++i) {
    const int block = i / (edge * edge), row = i / edge % edge, column = i % edge;
    float sum = 0;
    for (int k = 0; k < tiles * edge; ++k) {
      const int first = (block * tiles + k / edge) * edge * edge + k % edge;
      sum += __half2float(a[first + row * edge]) * __half2float(b[first + column * edge]);
    }
    if (sum != found[i]) {
      std::printf("wrong sum %d\n", i);
      return 1;
    }
  }
  return finish();
}
