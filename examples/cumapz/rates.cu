// rates: the physical parameters of a machine file (models/machines) that no data sheet gives, measured on a
// GPU by kernels that do one thing each:
//
//   build/release/examples/cumapz/rates
//
// Prints, in cycles of a multiprocessor at `core_mhz`: bytes of the memory and sectors of the L2 per cycle of
// the device, for loads, for stores of complete sectors, and for stores of one word of each sector; lines of
// the L1 per cycle of a multiprocessor; and the latencies of the L1, the L2 and the memory by a chain of
// dependent loads.
#include <algorithm>

#include "examples/cumapz/benchmark.h"

namespace {

constexpr int threads = 1024, unroll = 8;
constexpr std::size_t sector_words = 8;

/// Loads `words` words in `rounds` rounds; each warp reads contiguous lines.
__global__ void load(const float4* data, std::size_t elements, int rounds, float* out) {
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < elements;
         i += unroll * step) {
#pragma unroll
      for (int k = 0; k < unroll; ++k) {
        if (i + k * step < elements) sum += __ldcg(&data[i + k * step]).x;
      }
    }
  }
  if (sum == -1) *out = sum;
}

/// Stores complete sectors (stride 1), or one word of each sector (stride 8).
__global__ void store(float* data, std::size_t words, std::size_t stride, int rounds) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x * stride;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) * stride; i < words; i += step)
      __stcg(&data[i], static_cast<float>(round));
  }
}

__global__ void chase(const unsigned* next, unsigned start, int steps, unsigned* out, long long* cycles,
                      bool in_l1) {
  unsigned at = start;
  const long long begin = clock64();
  for (int i = 0; i < steps; ++i) at = in_l1 ? __ldca(&next[at]) : __ldcg(&next[at]);
  *cycles = clock64() - begin;
  *out = at;
}

/// Returns the cycles of a load of a chain over `bytes`, 4 KB and a sector apart, after one pass that fills
/// caches.
double latency(std::size_t bytes, int steps, bool in_l1, bool is_warm) {
  const std::size_t words = bytes / 4, stride = bytes < (1u << 20) ? 32 : 1056;
  std::vector<unsigned> next(words, 0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < words / stride; ++i, at += stride)
    next[at] = static_cast<unsigned>(at + stride < words / stride * stride ? at + stride : 0);
  const example::DeviceArray<unsigned> device(next), out(1);
  const example::DeviceArray<long long> cycles(1);
  const example::DeviceArray<float> other(std::size_t{64} << 20);
  for (int i = 0; i < (is_warm ? 2 : 1); ++i) {
    if (!is_warm) CUDA_CHECK(cudaMemset(other.get(), 0, other.size() * 4));
    chase<<<1, 1>>>(device.get(), 0, steps, out.get(), cycles.get(), in_l1);
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  return static_cast<double>(cycles.download()[0]) / steps;
}

template <typename Launch>
double seconds(Launch launch) {
  launch();
  std::vector<double> times;
  for (int i = 0; i < 7; ++i) times.push_back(benchmark::time_of(3, launch) * 1e-3);
  CUDA_CHECK(cudaGetLastError());
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main() {
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
  int khz = 0, memory_khz = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
  CUDA_CHECK(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, 0));
  const int blocks = 2 * properties.multiProcessorCount;
  std::printf("%s: %d multiprocessors, core_mhz %d, memory_mhz %d, bus %d bits, L2 %d bytes\n",
              properties.name, properties.multiProcessorCount, khz / 1000, memory_khz / 1000,
              properties.memoryBusWidth, properties.l2CacheSize);
  const std::size_t large = std::size_t{1} << 30, small = std::size_t{12} << 20;
  const example::DeviceArray<float> data(large / 4), out(1);
  CUDA_CHECK(cudaMemset(data.get(), 0, large));
  const auto* const vectors = reinterpret_cast<const float4*>(data.get());
  const double hz = khz * 1e3;
  const auto per_cycle = [&](const char* name, double units, double time) {
    std::printf("%-44s %9.3f\n", name, units / (time * hz));
  };
  per_cycle("memory, loaded bytes per cycle", static_cast<double>(large),
            seconds([&] { load<<<blocks, threads>>>(vectors, large / 16, 1, out.get()); }));
  per_cycle("memory, stored bytes per cycle", static_cast<double>(large),
            seconds([&] { store<<<blocks, threads>>>(data.get(), large / 4, 1, 1); }));
  const double sectors = static_cast<double>(small) / 32;
  per_cycle("L2, loaded sectors per cycle", 20 * sectors,
            seconds([&] { load<<<blocks, threads>>>(vectors, small / 16, 20, out.get()); }));
  per_cycle("L2, stored complete sectors per cycle", 20 * sectors,
            seconds([&] { store<<<blocks, threads>>>(data.get(), small / 4, 1, 20); }));
  per_cycle("L2, partially stored sectors per cycle", 20 * sectors,
            seconds([&] { store<<<blocks, threads>>>(data.get(), small / 4, sector_words, 20); }));
  per_cycle("memory, partially stored sectors per cycle", static_cast<double>(large) / 32,
            seconds([&] { store<<<blocks, threads>>>(data.get(), large / 4, sector_words, 1); }));
  std::printf("%-44s %9.1f\n", "latency of the L1, cycles", latency(16 << 10, 4096, true, true));
  std::printf("%-44s %9.1f\n", "latency of the L2, cycles", latency(std::size_t{8} << 20, 2000, false, true));
  std::printf("%-44s %9.1f\n", "latency of the memory, cycles",
              latency(std::size_t{512} << 20, 20000, false, false));
  return 0;
}
