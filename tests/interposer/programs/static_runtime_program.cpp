// A program with a CUDA runtime of its own, as nvcc links by default: a .nvFatBinSegment section, and the
// functions of the runtime in the program's symbol table. OLDER: of CUDA 12.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>

#include "tests/interposer/event_log.h"

#ifndef WITHOUT_DEVICE_CODE
[[gnu::section(".nvFatBinSegment"), gnu::used]] const unsigned wrapper[6] = {0x466243b1, 1};
#endif

extern "C" {
int cudaMalloc(void** pointer, std::size_t size);
int cudaFree(void* pointer);
int cudaGetDeviceCount(int* count);
void** __cudaRegisterFatBinary(void* image);

[[gnu::noinline]] int cudaMemAdvise() { return log_event("runtime cudaMemAdvise"), 0; }
#ifndef OLDER
[[gnu::used]] int cudaMemGetDefaultMemPool() { return 0; }
#endif
// Not the runtime's, although named like its functions.
[[gnu::noinline]] int cudaDescribe() { return log_event("own cudaDescribe"), 0; }
}

int (*volatile free_pointer)(void*) = cudaFree;

[[gnu::constructor]] static void register_own() { __cudaRegisterFatBinary(nullptr); }

int main() {
  void* pointer = nullptr;
  cudaMalloc(&pointer, 1);
  free_pointer(pointer);
  cudaMemAdvise();
  cudaDescribe();
  for (int i = 0; i < 2; ++i) {
    if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr) puts("no driver");
  }
}
