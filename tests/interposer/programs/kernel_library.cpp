// A shared library with device code: registers it before main, and allocates when used.
#include <cstddef>

#include "tests/interposer/event_log.h"

extern "C" int cudaMalloc(void** pointer, std::size_t size);
extern "C" void** __cudaRegisterFatBinary(void* image);

[[gnu::constructor]] static void register_device_code() { __cudaRegisterFatBinary(nullptr); }

extern "C" [[gnu::visibility("default")]] void use_kernel_library() {
  void* pointer = nullptr;
  cudaMalloc(&pointer, KERNEL_LIBRARY_SIZE);
}

// A function of the library with a name like the runtime's.
extern "C" [[gnu::visibility("default")]] void cudaDescribe() { log_event("own cudaDescribe"); }
