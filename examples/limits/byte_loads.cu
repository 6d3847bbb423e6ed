// An image of bytes, one byte per thread. Mended: 16 bytes per thread by one load and one store.
#include "examples/limits/pair.h"

constexpr int threads = 256;

__global__ void slow(const unsigned char* in, unsigned char* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  out[i] = in[i] ^ 0x5a;  // fault
}

__global__ void mended(const uint4* in, uint4* out) {
  const int i = blockIdx.x * threads + threadIdx.x;
  const uint4 value = in[i];
  constexpr unsigned mask = 0x5a5a5a5a;
  out[i] = make_uint4(value.x ^ mask, value.y ^ mask, value.z ^ mask, value.w ^ mask);
}

int main(int argc, char** argv) {
  const pair::Command command(argc, argv, 1 << 26);  // bytes
  const int n = command.size(16 * threads);
  const example::DeviceArray<unsigned char> in(pair::integers<unsigned char>(n, 256, 16)), out(n);
  return command.run(
      "byte_loads", out, [&] { slow<<<n / threads, threads>>>(in.get(), out.get()); },
      [&] {
        mended<<<n / 16 / threads, threads>>>(reinterpret_cast<const uint4*>(in.get()),
                                              reinterpret_cast<uint4*>(out.get()));
      });
}
