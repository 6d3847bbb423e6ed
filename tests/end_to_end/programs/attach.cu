// Attaches and detaches while running: changes LYNXPP_SPEC in its own environment between
// launches of one kernel.
//   attach [SPECIFICATION]…   one launch, then for every argument: LYNXPP_SPEC set to it
//                             ("-": unset) and one more launch
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void step(int* value) { atomicAdd(value, 1); }

int main(int count, char** arguments) {
  int* value = nullptr;
  if (cudaMalloc(&value, sizeof(int)) != cudaSuccess || cudaMemset(value, 0, sizeof(int)) != cudaSuccess)
    return 2;
  step<<<2, 40>>>(value);
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "-") == 0) {
      unsetenv("LYNXPP_SPEC");
    } else {
      setenv("LYNXPP_SPEC", arguments[i], 1);
    }
    step<<<2, 40>>>(value);
  }
  int result = 0;
  if (cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  std::printf("attach: %d\n", result);
  return result == 80 * count ? 0 : 1;
}
