// Built for a CUDA runtime of version 12.
#include <dlfcn.h>

#include <cstddef>

extern "C" {
int cudaMalloc(void** pointer, std::size_t size);
int cudaGetDeviceProperties(void* properties, int device);
int cudaMemAdvise(const void* pointer, std::size_t size, int advice, int device);
int cudaMemAdvise_v2(const void* pointer, std::size_t size, int advice, long location);
}

int main() {
  void* pointer = nullptr;
  cudaMalloc(&pointer, 1);
  cudaGetDeviceProperties(nullptr, 0);
  cudaMemAdvise(pointer, 1, 1, 0);
  cudaMemAdvise_v2(pointer, 1, 1, 0);
  using Properties = int (*)(void*, int);
  if (const auto found = reinterpret_cast<Properties>(dlsym(RTLD_DEFAULT, "cudaGetDeviceProperties")))
    found(nullptr, 0);
  return 0;
}
