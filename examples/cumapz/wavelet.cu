// wavelet: a filter of six taps over pairs of elements. Each buffer is filled by one of the six
// references; the other references read the last buffer that contains their elements (the CuMAPz paper's
// section 6.1).
#include "examples/cumapz/benchmark.h"

constexpr int threads = 128;

/// Returns x[2 * i + reference], from the reference's own buffer or else from that of the last reference an
/// even number before it.
template <int buffers, int reference>
__device__ float tap(const float* x, const float* part, int i) {
  if constexpr (reference < buffers) {
    return benchmark::read(part[reference * threads + threadIdx.x]);
  } else {
    constexpr int buffer = buffers - 1 - (reference + buffers + 1) % 2;
    if constexpr (buffer >= 0) {
      const int place = threadIdx.x + (reference - buffer) / 2;
      if (place < threads) return benchmark::read(part[buffer * threads + place]);
    }
    return x[2 * i + reference];
  }
}

template <int buffers>
__global__ void wavelet(const float* x, float* low, float* high) {
  __shared__ float part[buffers * threads];
  const int i = blockIdx.x * threads + threadIdx.x;
  float fetched[buffers];  // all loads before the first use
  for (int k = 0; k < buffers; ++k) fetched[k] = x[2 * i + k];
  for (int k = 0; k < buffers; ++k) benchmark::write(part[k * threads + threadIdx.x], fetched[k]);
  __syncthreads();
  const float a = tap<buffers, 0>(x, part, i), b = tap<buffers, 1>(x, part, i),
              c = tap<buffers, 2>(x, part, i);
  const float d = tap<buffers, 3>(x, part, i), e = tap<buffers, 4>(x, part, i),
              f = tap<buffers, 5>(x, part, i);
  low[i] = a + 2 * b + 3 * c + 3 * d + 2 * e + f;
  high[i] = f - 2 * e + 3 * d - 3 * c + 2 * b - a;
}

int main(int argc, char** argv) {
  const benchmark::Parameters parameters(argc, argv,
                                         {{"buffers", 2, 1, 6}, {"N", 4096, 2 * threads, 1 << 28}});
  const int results = parameters["N"] / 2 / threads * threads;
  const std::vector<float> x = benchmark::small_integers(2 * static_cast<std::size_t>(results) + 4, 256, 2);
  const example::DeviceArray<float> device_x(x), low(results), high(results);
  bool right = false;
  benchmark::with_constant<7>(parameters["buffers"], [&](auto buffers) {
    if constexpr (buffers.value > 0) {
      const auto launch = [&] {
        wavelet<buffers.value><<<results / threads, threads>>>(device_x.get(), low.get(), high.get());
      };
      launch();
      CUDA_CHECK(cudaGetLastError());
      const auto at = [&](std::size_t i, int k) { return x[2 * i + k]; };
      right = benchmark::check("low", low.download(), 6, [&](std::size_t i) {
        return at(i, 0) + 2 * at(i, 1) + 3 * at(i, 2) + 3 * at(i, 3) + 2 * at(i, 4) + at(i, 5);
      });
      right = benchmark::check("high", high.download(), 6,
                               [&](std::size_t i) {
                                 return at(i, 5) - 2 * at(i, 4) + 3 * at(i, 3) - 3 * at(i, 2) + 2 * at(i, 1) -
                                        at(i, 0);
                               }) &&
              right;
      benchmark::measure("wavelet", launch);
    }
  });
  std::printf("wavelet: %s\n", parameters.text().c_str());
  return example::finish("wavelet", right, example::fnv1a(high.download(), example::fnv1a(low.download())));
}
