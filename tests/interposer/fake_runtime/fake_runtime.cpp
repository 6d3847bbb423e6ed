// A libcudart.so.13 that records its calls.
#include <cstddef>

#include "tests/interposer/event_log.h"

#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT int cudaMalloc(void**, std::size_t) { return log_event("runtime cudaMalloc"), 0; }
EXPORT int cudaFree(void*) { return log_event("runtime cudaFree"), 0; }
EXPORT int cudaGetDeviceCount(int* count) { return log_event("runtime cudaGetDeviceCount"), *count = 0; }
EXPORT void** __cudaRegisterFatBinary(void*) { return log_event("runtime __cudaRegisterFatBinary"), nullptr; }
