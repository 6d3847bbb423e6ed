// Lines of inlined functions: the user's own, called at two sites, and the toolkit's.
#include "tests/end_to_end/findings/data.h"

__device__ float element(const float* array, int row, int column) {
  return array[row * 16 + column];  // LINE: load
}

__global__ void inlined(const float* in, float* out, unsigned* counters) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = element(in, i, 0);                                      // LINE: first
  if (sum == 0) sum += element(in, i, 8);                             // LINE: second
  atomicAdd(&counters[static_cast<int>(sum) + threadIdx.x % 2], 1u);  // LINE: atomic
  out[i] = sum;
}

int main() {
  inlined<<<64, 128>>>(zeros<float>(64 * 128 * 16), zeros<float>(64 * 128), zeros<unsigned>(2));
  return finish();
}
