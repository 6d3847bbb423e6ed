// Three in four threads, anywhere in a warp, find that they have nothing to do. Mended: threads are launched
// for a list of the active elements.
#include "examples/limits/pair.h"

constexpr int threads = 256, rounds = 256;

__global__ void slow(const unsigned* in, const unsigned char* is_active, unsigned* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  if (is_active[i] == 0) return;  // fault
  out[i] = pair::mixed<rounds>(in[i]);
}

__global__ void mended(const unsigned* in, const int* active, int count, unsigned* out) {
  const int place = blockIdx.x * threads + threadIdx.x;
  if (place >= count) return;
  const int i = active[place];
  out[i] = pair::mixed<rounds>(in[i]);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 22);  // elements
  const int n = command.size(threads);
  auto flags = pair::integers<unsigned char>(n, 4, 44);
  std::vector<int> indices;
  for (int i = 0; i < n; ++i) {
    flags[i] = flags[i] == 0;
    if (flags[i] != 0) indices.push_back(i);
  }
  const int count = static_cast<int>(indices.size());
  const example::DeviceArray<unsigned> in(pair::integers<unsigned>(n, 1 << 30, 45)), out(n);
  const example::DeviceArray<unsigned char> is_active(flags);
  const example::DeviceArray<int> active(indices);
  return command.run(
      "early_exit", out, [&] { slow<<<n / threads, threads>>>(in.get(), is_active.get(), out.get()); },
      [&] {
        mended<<<example::ceil_div(count, threads), threads>>>(in.get(), active.get(), count, out.get());
      });
}
