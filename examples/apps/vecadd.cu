// vecadd: the smallest kernel, launched with block sizes 1, 31, 32, 256 and 1024: full warps, partial warps,
// a guarded tail.
#include "example.h"

__global__ void vecadd(const float* a, const float* b, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 20000, 1 << 28);
  example::Random random(1);
  std::vector<float> a(n), b(n), expected(n);
  for (int i = 0; i < n; ++i) {
    a[i] = random.unit();
    b[i] = random.unit();
    expected[i] = a[i] + b[i];
  }
  const example::DeviceArray<float> device_a(a), device_b(b);

  bool right = true;
  std::uint64_t checksum = example::fnv1a(nullptr, 0);
  const int block_sizes[] = {1, 31, 32, 256, 1024};
  for (const int block : block_sizes) {
    // Launching one-thread blocks for all elements would measure only launch overhead, so small blocks
    // process a small part.
    const int part = block == 1 ? (n < 97 ? n : 97) : block < 256 ? (n < 3001 ? n : 3001) : n;
    example::DeviceArray<float> sum(n);
    sum.clear();
    vecadd<<<example::ceil_div(part, block), block>>>(device_a.get(), device_b.get(), sum.get(), part);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    std::vector<float> wanted(expected.begin(), expected.begin() + part);
    wanted.resize(n, 0.0f);
    const std::vector<float> result = sum.download();
    right = example::same("sum", result, wanted) && right;
    checksum = example::fnv1a(result, checksum);
    std::printf("vecadd: %d elements in blocks of %d\n", part, block);
  }

  const example::DeviceArray<float> sum(n);
  example::measure("vecadd", [&] {
    vecadd<<<example::ceil_div(n, 256), 256>>>(device_a.get(), device_b.get(), sum.get(), n);
  });
  return example::finish("vecadd", right, checksum);
}
