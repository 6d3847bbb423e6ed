// A libcuda.so.1 whose function STUCK_IN never returns; all others do nothing and succeed. Its memory is host
// memory; no kernel runs. STUCK_IN=nothing: counts the calls and prints the total at the end.
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Handle = void*;
using Address = unsigned long long;

/// Read once: bench/launch_rate also uses this driver, as one whose functions return at once.
const char* const wanted = std::getenv("STUCK_IN");

const bool counts = wanted != nullptr && std::strcmp(wanted, "nothing") == 0;
std::atomic<long> calls = 0;

[[gnu::destructor]] void tell_calls() {
  if (counts) std::fprintf(stderr, "calls: %ld\n", calls.load());
}

void stay_if_stuck_in(const char* function) {
  if (wanted == nullptr) return;
  if (counts) ++calls;
  if (std::strcmp(wanted, function) != 0) return;
  std::fprintf(stderr, "stuck in %s\n", function);
  for (;;) pause();
}

/// Attribute numbers are those of cuda.h.
int attribute_of_device(int attribute) {
  switch (attribute) {
    case 13: return 1'000'000;  // clock rate
    case 16: return 4;          // multiprocessors
    case 39: return 2048;       // threads per multiprocessor
    case 75: return 9;          // compute capability, major
    case 81: return 100'000;    // shared memory per multiprocessor
    case 106: return 32;        // thread blocks per multiprocessor
    default: return 0;
  }
}

Handle some_handle() {
  static char handle;
  return &handle;
}

}  // namespace

#define EXPORTED extern "C" [[gnu::visibility("default")]]
#define SUCCEEDS(name, ...) \
  EXPORTED int name(__VA_ARGS__) { return stay_if_stuck_in(#name), 0; }
#define GIVES(name, type, value, ...)                         \
  EXPORTED int name(type* given __VA_OPT__(, ) __VA_ARGS__) { \
    stay_if_stuck_in(#name);                                  \
    if (given != nullptr) *given = value;                     \
    return 0;                                                 \
  }
#define REFUSES(name, ...) \
  EXPORTED int name(__VA_ARGS__) { return 801; }  // not supported

SUCCEEDS(cuInit, unsigned)
GIVES(cuDevicePrimaryCtxRetain, Handle, some_handle(), int)
SUCCEEDS(cuCtxSetCurrent, Handle)
GIVES(cuCtxGetCurrent, Handle, some_handle())
GIVES(cuCtxGetDevice, int, 0)
GIVES(cuDriverGetVersion, int, 13000)
EXPORTED int cuCtxGetId(Handle, Address* id) { return *id = 1, 0; }
SUCCEEDS(cuCtxPushCurrent, Handle)
GIVES(cuCtxPopCurrent, Handle, some_handle())
SUCCEEDS(cuCtxSynchronize)
EXPORTED int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "stuck");
  return 0;
}
GIVES(cuDeviceGetAttribute, int, attribute_of_device(attribute), int attribute, int)
REFUSES(cuDeviceGetUuid, void*, int)
EXPORTED int cuGetErrorString(int, const char** text) { return *text = "refused", 0; }
GIVES(cuModuleLoadData, Handle, some_handle(), const void*)
GIVES(cuModuleLoadDataEx, Handle, some_handle(), const void*, unsigned, int*, void**)
SUCCEEDS(cuModuleUnload, Handle)
GIVES(cuModuleGetFunction, Handle, some_handle(), Handle, const char*)
REFUSES(cuModuleGetGlobal, Address*, std::size_t*, Handle, const char*)
GIVES(cuFuncGetModule, Handle, some_handle(), Handle)
GIVES(cuFuncGetAttribute, int, attribute == 0 ? 1024 : 0, int attribute, Handle)
SUCCEEDS(cuFuncSetAttribute, Handle, int, int)
SUCCEEDS(cuFuncSetCacheConfig, Handle, int)
REFUSES(cuKernelGetFunction, Handle*, Handle)
REFUSES(cuOccupancyMaxActiveBlocksPerMultiprocessor, int*, Handle, int, std::size_t)
SUCCEEDS(cuLaunchKernel, Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
         void**, void**)
SUCCEEDS(cuLaunchKernelEx, const void*, Handle, void**, void**)
EXPORTED int cuMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = *free = std::size_t{1} << 30;
  return 0;
}
GIVES(cuMemAllocAsync, Address, reinterpret_cast<Address>(std::calloc(1, bytes)), std::size_t bytes, Handle)
SUCCEEDS(cuMemFreeAsync, Address, Handle)
SUCCEEDS(cuMemsetD8Async, Address, unsigned char, std::size_t, Handle)
SUCCEEDS(cuMemcpyDtoHAsync, void*, Address, std::size_t, Handle)
SUCCEEDS(cuMemcpyHtoDAsync, Address, const void*, std::size_t, Handle)
GIVES(cuMemHostAlloc, void*, std::calloc(1, bytes), std::size_t bytes, unsigned)
SUCCEEDS(cuMemFreeHost, void*)
GIVES(cuEventCreate, Handle, some_handle(), unsigned)
SUCCEEDS(cuEventDestroy, Handle)
SUCCEEDS(cuEventRecord, Handle, Handle)
SUCCEEDS(cuEventQuery, Handle)
SUCCEEDS(cuEventSynchronize, Handle)
REFUSES(cuEventElapsedTime, float*, Handle, Handle)
GIVES(cuStreamCreate, Handle, some_handle(), unsigned)
EXPORTED int cuStreamIsCapturing(Handle, int* status) {
  stay_if_stuck_in("cuStreamIsCapturing");
  return *status = 0, 0;
}
SUCCEEDS(cuStreamQuery, Handle)
SUCCEEDS(cuStreamWaitEvent, Handle, Handle, unsigned)
SUCCEEDS(cuStreamSynchronize, Handle)
SUCCEEDS(cuThreadExchangeStreamCaptureMode, int*)
