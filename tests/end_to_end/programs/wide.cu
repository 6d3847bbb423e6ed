// 128-bit integers: quotients, remainders, products and sums on the device, compared with the host.
#include <cstdio>
#include <vector>

using Wide = __int128;
using UnsignedWide = unsigned __int128;

struct Results {
  UnsignedWide quotient, remainder, product, sum;
  Wide signed_quotient, signed_remainder;
  unsigned long long high;
};

__host__ __device__ Results results_of(UnsignedWide a, UnsignedWide b) {
  Results results;
  results.quotient = a / b;
  results.remainder = a % b;
  results.product = a * b;
  results.sum = a + b;
  results.signed_quotient = static_cast<Wide>(a) / static_cast<Wide>(b);
  results.signed_remainder = static_cast<Wide>(a) % static_cast<Wide>(b);
  unsigned long long high = static_cast<unsigned long long>(a);
  for (int i = 0; i < 5; ++i)
    high = static_cast<unsigned long long>(
               (static_cast<UnsignedWide>(high) * (static_cast<unsigned long long>(b) | 1)) >> 64) +
           i;
  results.high = high;
  return results;
}

__global__ void compute(const UnsignedWide* a, const UnsignedWide* b, Results* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = results_of(a[i], b[i]);
}

bool operator==(const Results& a, const Results& b) {
  return a.quotient == b.quotient && a.remainder == b.remainder && a.product == b.product && a.sum == b.sum &&
         a.signed_quotient == b.signed_quotient && a.signed_remainder == b.signed_remainder &&
         a.high == b.high;
}

int main() {
  constexpr unsigned count = 256;
  std::vector<UnsignedWide> a(count), b(count);
  unsigned long long state = 1;
  const auto next = [&state] {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return state >> (state >> 60);
  };
  for (unsigned i = 0; i < count; ++i) {
    a[i] = static_cast<UnsignedWide>(next()) << 64 | next();
    b[i] = (static_cast<UnsignedWide>(i % 3 == 0 ? next() : 0) << 64 | next()) >> i % 40 | 1;
    if (i % 2 != 0) a[i] = -a[i];
    if (i % 5 == 0) b[i] = -b[i];
  }
  UnsignedWide *device_a = nullptr, *device_b = nullptr;
  Results* device_out = nullptr;
  cudaMalloc(&device_a, count * sizeof(UnsignedWide));
  cudaMalloc(&device_b, count * sizeof(UnsignedWide));
  cudaMalloc(&device_out, count * sizeof(Results));
  cudaMemcpy(device_a, a.data(), count * sizeof(UnsignedWide), cudaMemcpyHostToDevice);
  cudaMemcpy(device_b, b.data(), count * sizeof(UnsignedWide), cudaMemcpyHostToDevice);
  compute<<<count / 64, 64>>>(device_a, device_b, device_out);
  std::vector<Results> out(count);
  const cudaError_t error =
      cudaMemcpy(out.data(), device_out, count * sizeof(Results), cudaMemcpyDeviceToHost);
  unsigned wrong = 0;
  for (unsigned i = 0; i < count; ++i) wrong += !(out[i] == results_of(a[i], b[i]));
  std::printf("wide: %s, %u of %u wrong\n", cudaGetErrorName(error), wrong, count);
  return error == cudaSuccess && wrong == 0 ? 0 : 1;
}
