// A long hash, and then one column of a tile, with 32-way bank conflicts. Mended: a padded row, which gains
// nothing.
#include "examples/limits/pair.h"

constexpr int tile = 32, rounds = 512;

template <int pitch>
__device__ void hash_all(const unsigned* in, unsigned* out) {
  __shared__ unsigned values[tile][pitch];
  const int first = blockIdx.x * tile * tile;
  values[threadIdx.y][threadIdx.x] = pair::mixed<rounds>(in[first + threadIdx.y * tile + threadIdx.x]);
  __syncthreads();
  out[first + threadIdx.y * tile + threadIdx.x] = values[threadIdx.x][threadIdx.y];  // fault
}

__global__ void slow(const unsigned* in, unsigned* out) { hash_all<tile>(in, out); }
__global__ void mended(const unsigned* in, unsigned* out) { hash_all<tile + 1>(in, out); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 8 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const auto elements = static_cast<std::size_t>(blocks) * tile * tile;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(elements, 1 << 30, 86)), out(elements);
  return command.run(
      "rare_conflicts", out, [&] { slow<<<blocks, dim3(tile, tile)>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, dim3(tile, tile)>>>(in.get(), out.get()); });
}
