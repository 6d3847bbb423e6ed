// interpreter: every thread runs a small program of its own in a loop around a switch: many short blocks,
// branches at which lanes diverge and converge, and programs shared by all, some or few threads of a
// warp.
#include "example.h"

#include <string>

constexpr int program_length = 24;

// Codes 5 and 6 do the same, and so do 8 and all greater codes.
__host__ __device__ inline unsigned run(const unsigned char* program, unsigned value, unsigned thread) {
  unsigned other = thread;
  for (int at = 0; at < program_length; ++at) {
    switch (program[at]) {
      case 0: value += other; break;
      case 1: value ^= value << 5; break;
      case 2: other = value >> 3; break;
      case 3:
        if (value & 1) at += 2;
        break;
      case 4: value = value * 1664525u + 1013904223u; break;
      case 5:
      case 6: other ^= value; break;
      case 7: value -= other * 3; break;
      default: value = ~value; break;
    }
  }
  return value ^ other;
}

__global__ void interpret(const unsigned char* programs, int count, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int mine = count == 1 ? 0 : i % count;  // one program: all lanes take the same case of the switch
  out[i] = run(programs + mine * program_length, i * 2654435761u, i);
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 500, 1 << 24);
  constexpr int block = 96;
  example::Random random(15);
  bool right = true;
  std::uint64_t checksum = example::fnv1a(nullptr, 0);
  for (const int count : {1, 3, 40}) {
    std::vector<unsigned char> programs(count * program_length);
    for (unsigned char& code : programs) code = static_cast<unsigned char>(random.below(10));
    std::vector<unsigned> expected(n);
    for (int i = 0; i < n; ++i) expected[i] = run(&programs[i % count * program_length], i * 2654435761u, i);
    const example::DeviceArray<unsigned char> device_programs(programs);
    const example::DeviceArray<unsigned> out(n);
    const auto launch = [&] {
      interpret<<<example::ceil_div(n, block), block>>>(device_programs.get(), count, out.get(), n);
    };
    launch();
    CUDA_CHECK(cudaGetLastError());
    const std::vector<unsigned> result = out.download();
    right = example::same("out", result, expected) && right;
    checksum = example::fnv1a(result, checksum);
    std::printf("interpreter: %d threads, %d programs\n", n, count);
    example::measure(("interpret_" + std::to_string(count)).c_str(), launch);
  }
  return example::finish("interpreter", right, checksum);
}
