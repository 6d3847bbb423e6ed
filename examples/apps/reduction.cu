// reduction: a sum through warp shuffles, shared memory and a vote; block sizes 32, 33, 96, 250 and 1024, so
// that the last warp of a block has all lanes, one lane, or some lanes.
#include "example.h"

__global__ void reduce_sum(const unsigned* values, int n, unsigned long long* sums, unsigned* odd_warps) {
  __shared__ unsigned long long partial[32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  const int warps = (blockDim.x + 31) / 32;
  const int lanes = min(32, static_cast<int>(blockDim.x) - warp * 32);
  const unsigned members = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;

  unsigned long long sum = 0;
  unsigned ones = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += values[i];
    ones ^= values[i] & 1;
  }
  // Lanes past the end of a partial warp have no value, so only values from existing lanes are added.
  for (int distance = 16; distance > 0; distance /= 2) {
    const unsigned long long other = __shfl_down_sync(members, sum, distance);
    if (lane + distance < lanes) sum += other;
  }
  const unsigned odd = __ballot_sync(members, ones);
  if (lane == 0) {
    partial[warp] = sum;
    if (__popc(odd) & 1) atomicAdd(odd_warps, 1u);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < warps; ++i) sum += partial[i];
    sums[blockIdx.x] = sum;
  }
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 30000, 1 << 28);
  example::Random random(3);
  std::vector<unsigned> values(n);
  unsigned long long expected = 0;
  for (unsigned& value : values) {
    value = random.next();
    expected += value;
  }
  const example::DeviceArray<unsigned> device_values(values);

  bool right = true;
  std::uint64_t checksum = example::fnv1a(nullptr, 0);
  const int block_sizes[] = {32, 33, 96, 250, 1024};
  for (const int block : block_sizes) {
    const int grid = 5;
    example::DeviceArray<unsigned long long> sums(grid);
    example::DeviceArray<unsigned> odd_warps(1);
    odd_warps.clear();
    reduce_sum<<<grid, block>>>(device_values.get(), n, sums.get(), odd_warps.get());
    CUDA_CHECK(cudaGetLastError());
    const std::vector<unsigned long long> result = sums.download();
    unsigned long long total = 0;
    for (const unsigned long long sum : result) total += sum;
    const std::vector<unsigned> odd = odd_warps.download();

    // A warp is odd if its lanes have seen an odd number of odd values.
    unsigned expected_odd = 0;
    for (int first = 0; first < grid; ++first) {
      for (int warp = 0; warp * 32 < block; ++warp) {
        unsigned parity = 0;
        for (int thread = warp * 32; thread < block && thread < warp * 32 + 32; ++thread) {
          for (int i = first * block + thread; i < n; i += grid * block) parity ^= values[i] & 1;
        }
        expected_odd += parity;
      }
    }
    if (total != expected || odd[0] != expected_odd) {
      std::fprintf(stderr, "blocks of %d: sum %llu, expected %llu; odd warps %u, expected %u\n", block, total,
                   expected, odd[0], expected_odd);
      right = false;
    }
    std::printf("reduction: blocks of %4d: sum %llu, odd warps %u\n", block, total, odd[0]);
    checksum = example::fnv1a(odd, example::fnv1a(result, checksum));
  }

  const int grid = example::ceil_div(n, 256 * 8) < 1056 ? example::ceil_div(n, 256 * 8) : 1056;
  example::DeviceArray<unsigned long long> sums(grid);
  example::DeviceArray<unsigned> odd_warps(1);
  odd_warps.clear();
  example::measure("reduce_sum",
                   [&] { reduce_sum<<<grid, 256>>>(device_values.get(), n, sums.get(), odd_warps.get()); });
  return example::finish("reduction", right, checksum);
}
