// A histogram for each thread in shared memory, the bins of a thread side by side: lanes that count the same
// bin use the same bank. Mended: the counters of a bin side by side, so that each lane has its own bank.
#include "examples/limits/pair.h"

constexpr int threads = 128, bins = 32, words = 64;

template <bool is_mended>
__device__ void count(const unsigned* in, unsigned* histogram) {
  __shared__ unsigned counts[bins * threads];
  const auto place = [](int thread, unsigned bin) {
    return is_mended ? bin * threads + thread : thread * bins + bin;
  };
  for (int i = threadIdx.x; i < bins * threads; i += threads) counts[i] = 0;
  __syncthreads();
  for (int k = 0; k < words; ++k) {
    unsigned word = in[(blockIdx.x * words + k) * threads + threadIdx.x];
    for (int byte = 0; byte < 4; ++byte, word >>= 8) {
      counts[place(threadIdx.x, word % bins)] += 1;  // fault
    }
  }
  __syncthreads();
  if (threadIdx.x >= bins) return;
  unsigned sum = 0;
  for (int i = 0; i < threads; ++i) sum += counts[place((i + threadIdx.x) % threads, threadIdx.x)];
  atomicAdd(&histogram[threadIdx.x], sum);
}

__global__ void slow(const unsigned* in, unsigned* histogram) { count<false>(in, histogram); }
__global__ void mended(const unsigned* in, unsigned* histogram) { count<true>(in, histogram); }

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 16 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  auto values = pair::integers<unsigned>(static_cast<std::size_t>(blocks) * words * threads, 1u << 31, 5);
  for (unsigned& value : values) value &= 0x03030303;  // few bins
  const example::DeviceArray<unsigned> in(values), histogram(bins);
  return command.run(
      "sub_histograms", histogram, [&] { slow<<<blocks, threads>>>(in.get(), histogram.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), histogram.get()); });
}
