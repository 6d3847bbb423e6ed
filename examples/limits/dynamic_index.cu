// Each thread's counters in an array whose index is only known at run time, which is in local memory.
// Mended: in shared memory, each lane in its own bank.
#include "examples/limits/pair.h"

constexpr int threads = 128, bins = 16, words = 64;

template <typename Count>
__device__ void count_fields(const unsigned* in, Count count) {
#pragma unroll 2
  for (int k = 0; k < words; ++k) {
    unsigned word = in[(blockIdx.x * words + k) * threads + threadIdx.x];
    for (int field = 0; field < 4; ++field, word >>= 4) count(word % bins);
  }
}

__device__ unsigned hash_of(unsigned hash, unsigned value) { return hash * 31 + value; }

__global__ void slow(const unsigned* in, unsigned* out) {
  unsigned counts[bins] = {};
  count_fields(in, [&](unsigned bin) { ++counts[bin]; });  // fault
  unsigned hash = 0;
  for (int bin = 0; bin < bins; ++bin) hash = hash_of(hash, counts[bin]);
  out[blockIdx.x * threads + threadIdx.x] = hash;
}

__global__ void mended(const unsigned* in, unsigned* out) {
  __shared__ unsigned counts[bins][threads];
  for (int bin = 0; bin < bins; ++bin) counts[bin][threadIdx.x] = 0;
  count_fields(in, [&](unsigned bin) { ++counts[bin][threadIdx.x]; });
  unsigned hash = 0;
  for (int bin = 0; bin < bins; ++bin) hash = hash_of(hash, counts[bin][threadIdx.x]);
  out[blockIdx.x * threads + threadIdx.x] = hash;
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 16 * pair::multiprocessors);  // blocks
  const int blocks = command.size();
  const auto elements = static_cast<std::size_t>(blocks) * threads;
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(elements * words, 1u << 31, 56)),
      out(elements);
  return command.run(
      "dynamic_index", out, [&] { slow<<<blocks, threads>>>(in.get(), out.get()); },
      [&] { mended<<<blocks, threads>>>(in.get(), out.get()); });
}
