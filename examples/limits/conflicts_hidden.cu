// Sums of three arrays, exchanged between the threads of a block with 8-way bank conflicts. Device memory
// limits the kernel, so mending the conflicts by padding gains nothing.
#include "examples/limits/pair.h"

constexpr int threads = 256, ways = 8;

template <int padding>
__device__ void exchange(const float* a, const float* b, const float* c, float* out) {
  __shared__ float values[threads + threads / 32 * padding];
  const int i = blockIdx.x * threads + threadIdx.x;
  const auto place = [](int at) { return at + at / 32 * padding; };
  values[place(threadIdx.x)] = a[i] + b[i] + c[i];
  __syncthreads();
  const int from = threadIdx.x * (threads / ways) % threads + threadIdx.x / ways;
  out[i] = values[place(from)];  // fault
}

__global__ void slow(const float* a, const float* b, const float* c, float* out) {
  exchange<0>(a, b, c, out);
}
__global__ void mended(const float* a, const float* b, const float* c, float* out) {
  exchange<4>(a, b, c, out);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 16);  // blocks
  const int blocks = command.size();
  const auto elements = static_cast<std::size_t>(blocks) * threads;
  const example::DeviceArray<float> a(pair::integers<float>(elements, 1000, 6)), b(elements), c(elements),
      out(elements);
  CUDA_CHECK(cudaMemset(b.get(), 0, elements * sizeof(float)));
  CUDA_CHECK(cudaMemset(c.get(), 0, elements * sizeof(float)));
  return command.run(
      "conflicts_hidden", out, [&] { slow<<<blocks, threads>>>(a.get(), b.get(), c.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(a.get(), b.get(), c.get(), out.get()); });
}
