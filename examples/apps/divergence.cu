// divergence: everything that makes a warp diverge: nested conditionals, loops with break and continue, early
// returns, a switch, conditional calls, recursion; a 3-D grid of 3-D blocks, several exits of one kernel, one
// of them guarded.
#include "example.h"

__host__ __device__ inline unsigned scramble(unsigned value) {
  value ^= value >> 16;
  value *= 0x7feb352du;
  value ^= value >> 15;
  value *= 0x846ca68bu;
  return value ^ (value >> 16);
}

// A real call, which is divergent because of the branch before it.
__host__ __device__ __noinline__ unsigned collatz_steps(unsigned value) {
  unsigned steps = 0;
  while (value > 1 && steps < 200) {
    value = value & 1 ? 3 * value + 1 : value / 2;
    ++steps;
  }
  return steps;
}

__host__ __device__ __noinline__ unsigned greatest_common_divisor(unsigned a, unsigned b) {
  if (b == 0) return a;
  return greatest_common_divisor(b, a % b);
}

__host__ __device__ inline unsigned dispatch(unsigned value) {
  switch (value % 11) {
    case 0: return value + 3;
    case 1: return value * 5;
    case 2: return value ^ 0x55u;
    case 3: return value >> 3;
    case 4: return collatz_steps(value % 1000 + 1);
    case 5: return value | 0x100u;
    case 6: return value - 77;
    case 8: return greatest_common_divisor(value % 5000, 360);
    case 9: return ~value;
    default: return value & 0xffffu;
  }
}

__host__ __device__ inline unsigned search(unsigned seed) {
  unsigned found = 0;
  for (unsigned i = 0; i < 40; ++i) {
    const unsigned candidate = scramble(seed + i);
    if (candidate % 3 == 0) continue;
    if (candidate % 61 == 5) {
      found = i + 1;
      break;
    }
    found += candidate & 3;
  }
  return found;
}

__global__ void diverge(unsigned* out, int n) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  if (i >= n) return;
  const unsigned value = scramble(static_cast<unsigned>(i) + 17u);
  if (value % 13 == 4) return;  // keeps the host's zero
  unsigned result = 0;
  if (value & 1) {
    if (value & 2) {
      result = dispatch(value);
    } else if (value & 4) {
      result = search(value);
    } else {
      out[i] = 0xdeadu;
      return;
    }
  } else {
    result = value & 8 ? collatz_steps(value % 300 + 1) : dispatch(value >> 4);
  }
  out[i] = result + 1;
}

static unsigned expected_value(int i) {
  const unsigned value = scramble(static_cast<unsigned>(i) + 17u);
  if (value % 13 == 4) return 0;
  if (value & 1) {
    if (value & 2) return dispatch(value) + 1;
    if (value & 4) return search(value) + 1;
    return 0xdeadu;
  }
  return (value & 8 ? collatz_steps(value % 300 + 1) : dispatch(value >> 4)) + 1;
}

int main(int argc, char** argv) {
  const int n = example::size_argument(argc, argv, 5000, 1 << 26);
  example::DeviceArray<unsigned> out(n);
  out.clear();
  const dim3 block(5, 3, 7);  // 105 threads: the last warp has 9
  const int blocks = example::ceil_div(n, 5 * 3 * 7);
  const dim3 grid(example::ceil_div(blocks, 6), 3, 2);
  diverge<<<grid, block>>>(out.get(), n);
  CUDA_CHECK(cudaGetLastError());

  const std::vector<unsigned> result = out.download();
  std::vector<unsigned> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = expected_value(i);
  std::printf("divergence: %d threads\n", n);
  const bool right = example::same("out", result, expected);

  example::measure("diverge", [&] { diverge<<<grid, block>>>(out.get(), n); });
  return example::finish("divergence", right, example::fnv1a(result));
}
