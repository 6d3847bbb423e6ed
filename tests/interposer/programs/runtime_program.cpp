// Linked with a shared CUDA runtime and with a library whose constructor registers device code; opens another
// such library later.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "tests/interposer/event_log.h"

extern "C" {
int cudaMalloc(void** pointer, std::size_t size);
int cudaFree(void* pointer);
int cudaGetDeviceCount(int* count);
void** __cudaRegisterFatBinary(void* image);
void use_kernel_library(void);
void cudaDescribe(void);  // of the kernel library: named like the runtime's functions, but not one of them
}

// A different kind of relocation: R_X86_64_64 in data.
int (*volatile free_pointer)(void*) = cudaFree;

[[gnu::constructor]] static void register_own() { __cudaRegisterFatBinary(nullptr); }

int main(int count, char** arguments) {
  log_event("main");
  void* pointer = nullptr;
  cudaMalloc(&pointer, 1);
  free_pointer(pointer);
  use_kernel_library();
  int devices = 0;
  cudaGetDeviceCount(&devices);
  using Count = int (*)(int*);
  if (const auto found = reinterpret_cast<Count>(dlsym(RTLD_DEFAULT, "cudaGetDeviceCount"))) found(&devices);
  cudaDescribe();

  using Malloc = int (*)(void**, std::size_t);
  if (const auto found = reinterpret_cast<Malloc>(dlsym(RTLD_DEFAULT, "cudaMalloc"))) found(&pointer, 2);
  void* const runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (const auto found = reinterpret_cast<Malloc>(dlsym(runtime, "cudaMalloc"))) found(&pointer, 3);
  if (count > 1) {
    void* const later = dlopen(arguments[1], RTLD_NOW);
    if (later == nullptr) {
      fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
    reinterpret_cast<void (*)()>(dlsym(later, "use_kernel_library"))();
  }
  return 0;
}
