// Launches inside and outside of measured sections: grids of 1 to 7 blocks; those of 1, 2 and 6 blocks
// are between cudaProfilerStart and cudaProfilerStop, and that of 4 is in the range "warm". Fails if the C
// library does not know the program's name, which error() and assert() print.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

__global__ void step(int* value) { atomicAdd(value, 1); }

int main() {
  if (std::strcmp(program_invocation_short_name, "started") != 0) return 3;
  int* value = nullptr;
  if (cudaMallocManaged(&value, sizeof *value) != cudaSuccess) return 2;
  *value = 0;
  cudaProfilerStart();
  step<<<1, 1>>>(value);
  step<<<2, 1>>>(value);
  cudaProfilerStop();
  step<<<3, 1>>>(value);
  setenv("LYNXPP_RANGE", "warm", 1);
  step<<<4, 1>>>(value);
  setenv("LYNXPP_RANGE", "warmer", 1);
  step<<<5, 1>>>(value);
  cudaProfilerStart();
  step<<<6, 1>>>(value);
  cudaProfilerStop();
  step<<<7, 1>>>(value);
  return cudaDeviceSynchronize() == cudaSuccess && *value == 28 ? 0 : 1;
}
