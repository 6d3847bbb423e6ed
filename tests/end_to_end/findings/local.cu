// The rule about local memory, whose use only a GPU's driver reports; with -DFIX it does not hold.
#include "tests/end_to_end/findings/data.h"

constexpr int threads = 128, blocks = 64, bins = 64, values = 32;

__global__ void bins_of_thread(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIX
  __shared__ int columns[bins][threads];
  const auto bin = [&](int b) -> int& { return columns[b][threadIdx.x]; };
#else
  int own[bins];
  const auto bin = [&](int b) -> int& { return own[b]; };
#endif
  for (int b = 0; b < bins; ++b) bin(b) = 0;
  for (int k = 0; k < values; ++k) ++bin(in[k * threads * blocks + i] % bins);
  int most = 0;
  for (int b = 0; b < bins; ++b) most = max(most, bin(b));
  out[i] = most;
}

int main() {
  std::vector<int> in(threads * blocks * values);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i * 2654435761u >> 8 & 0xffff);
  const int* const device_in = on_device(in);
  int* const out = zeros<int>(threads * blocks);
  for (int round = 0; round < 20; ++round) bins_of_thread<<<blocks, threads>>>(device_in, out);
  return finish();
}
