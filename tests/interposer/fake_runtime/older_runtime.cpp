// A libcudart.so.12 that records its calls: functions whose types have changed since.
#include <cstddef>

#include "tests/interposer/event_log.h"

#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT int cudaMalloc(void**, std::size_t) { return log_event("runtime cudaMalloc"), 0; }
EXPORT int cudaGetDeviceProperties(void*, int) { return log_event("runtime cudaGetDeviceProperties"), 0; }
EXPORT int cudaMemAdvise(const void*, std::size_t, int, int) { return log_event("runtime cudaMemAdvise"), 0; }
EXPORT int cudaMemAdvise_v2(const void*, std::size_t, int, long) {
  return log_event("runtime cudaMemAdvise_v2"), 0;
}
