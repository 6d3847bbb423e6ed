// scan: inclusive prefix sums in three launches: within a block (a barrier per step of the tree), over the
// blocks' totals, and adding the preceding totals; block size 1024 and a single block of any size.
#include "example.h"

__global__ void scan_block(const unsigned* in, unsigned* out, unsigned* totals, int n) {
  extern __shared__ unsigned buffer[];  // two halves of blockDim.x
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned* current = buffer;
  unsigned* next = buffer + blockDim.x;
  current[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned distance = 1; distance < blockDim.x; distance *= 2) {
    next[threadIdx.x] =
        current[threadIdx.x] + (threadIdx.x >= distance ? current[threadIdx.x - distance] : 0);
    __syncthreads();
    unsigned* const swap = current;
    current = next;
    next = swap;
  }
  if (i < n) out[i] = current[threadIdx.x];
  if (totals != nullptr && threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = current[threadIdx.x];
}

__global__ void add_before(unsigned* out, const unsigned* totals, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x > 0 && i < n) out[i] += totals[blockIdx.x - 1];
}

int main(int argc, char** argv) {
  const int block = 1024;
  const int n = example::size_argument(argc, argv, 9001, block * block);
  example::Random random(7);
  std::vector<unsigned> in(n), expected(n);
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) {
    in[i] = random.next();
    expected[i] = sum += in[i];
  }

  const int blocks = example::ceil_div(n, block);
  const example::DeviceArray<unsigned> device_in(in);
  example::DeviceArray<unsigned> out(n), totals(blocks), scanned(blocks);
  const auto whole = [&] {
    scan_block<<<blocks, block, 2 * block * sizeof(unsigned)>>>(device_in.get(), out.get(), totals.get(), n);
    scan_block<<<1, blocks, 2 * blocks * sizeof(unsigned)>>>(totals.get(), scanned.get(), nullptr, blocks);
    add_before<<<blocks, block>>>(out.get(), scanned.get(), n);
  };
  whole();
  CUDA_CHECK(cudaGetLastError());
  const std::vector<unsigned> result = out.download();
  std::printf("scan: %d values in %d blocks, total %u\n", n, blocks, sum);
  const bool right = example::same("out", result, expected);

  example::measure("scan", whole);
  return example::finish("scan", right, example::fnv1a(result));
}
