// A libcuda.so.1 that records its calls. Functions of a module exist under whatever name is asked for.
#include "tests/interposer/fake_driver/fake_driver.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>

#include "tests/interposer/event_log.h"

namespace {

struct Object {
  std::string kind;
  std::string name;
  Object* owner = nullptr;
};

/// Never freed, so that stale handles stay harmless; a deque keeps its elements in place.
Object* create(const char* kind, const char* name = "", void* owner = nullptr) {
  static auto* const objects = new std::deque<Object>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return &objects->emplace_back(Object{kind, name, static_cast<Object*>(owner)});
}

Object* object(void* handle) { return static_cast<Object*>(handle); }

void log_launch(const char* function_name, void* function, unsigned gx, unsigned bx) {
  log_event("driver %s %s grid %u block %u", function_name, object(function)->name.c_str(), gx, bx);
}

constexpr int invalid_handle = 400;
constexpr int error_not_found = 500;

}  // namespace

#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT int cuModuleLoad(void** module, const char*) { return *module = create("module"), 0; }
EXPORT int cuModuleLoadData(void** module, const void*) { return *module = create("module"), 0; }
EXPORT int cuModuleLoadDataEx(void** module, const void*, unsigned, int*, void**) {
  return *module = create("module"), 0;
}
EXPORT int cuModuleLoadFatBinary(void** module, const void*) { return *module = create("module"), 0; }
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  return *function = create("function", name, module), 0;
}
EXPORT int cuModuleUnload(void*) {
  log_event("driver cuModuleUnload");
  return getenv("FAKE_DRIVER_KEEPS_MODULES") != nullptr ? invalid_handle : 0;
}
EXPORT int cuLibraryLoadData(void** library, const void*, int*, void**, unsigned, int*, void**, unsigned) {
  return *library = create("library"), 0;
}
EXPORT int cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  return *kernel = create("kernel", name, library), 0;
}
EXPORT int cuLibraryGetModule(void** module, void* library) {
  return *module = create("module", "", library), 0;
}
EXPORT int cuLibraryUnload(void*) {
  log_event("driver cuLibraryUnload");
  return 0;
}
EXPORT int cuKernelGetFunction(void** function, void* kernel) {
  return *function = create("function", object(kernel)->name.c_str(), object(kernel)->owner), 0;
}
EXPORT int cuKernelGetName(const char** name, void* kernel) {
  if (object(kernel)->kind != "kernel") return invalid_handle;
  *name = object(kernel)->name.c_str();
  return 0;
}
EXPORT int cuFuncGetName(const char** name, void* function) {
  if (object(function)->kind != "function") return invalid_handle;
  *name = object(function)->name.c_str();
  return 0;
}
EXPORT int cuFuncGetModule(void** module, void* function) { return *module = object(function)->owner, 0; }
EXPORT int cuKernelGetLibrary(void** library, void* kernel) { return *library = object(kernel)->owner, 0; }

/// CUDA 13 gave the name another signature for those who ask for its version.
EXPORT int cuCtxGetDevice(int* device) { return *device = 1, 0; }
EXPORT int cuCtxGetDevice_v2(int* device, void*) { return *device = 2, 0; }

EXPORT int cuCtxDestroy_v2(void*) { return log_event("driver cuCtxDestroy_v2"), 0; }
EXPORT int cuDevicePrimaryCtxReset_v2(int) { return log_event("driver cuDevicePrimaryCtxReset_v2"), 0; }
EXPORT int cuDevicePrimaryCtxRelease_v2(int) { return log_event("driver cuDevicePrimaryCtxRelease_v2"), 0; }

/// Stands for cuModuleEnumerateFunctions and cuLibraryEnumerateKernels.
EXPORT int fakeEnumerate(void** function, void* owner, const char* name) {
  return *function = create(object(owner)->kind == "library" ? "kernel" : "function", name, owner), 0;
}

EXPORT int cuLaunchKernel(void* function, unsigned gx, unsigned, unsigned, unsigned bx, unsigned, unsigned,
                          unsigned, void*, void**, void**) {
  return log_launch("cuLaunchKernel", function, gx, bx), 0;
}
EXPORT int cuLaunchKernel_ptsz(void* function, unsigned gx, unsigned, unsigned, unsigned bx, unsigned,
                               unsigned, unsigned, void*, void**, void**) {
  return log_launch("cuLaunchKernel_ptsz", function, gx, bx), 0;
}
EXPORT int cuLaunchKernelEx(const LaunchConfig* config, void* function, void**, void**) {
  return log_launch("cuLaunchKernelEx", function, config->gridDimX, config->blockDimX), 0;
}
EXPORT int cuLaunchKernelEx_ptsz(const LaunchConfig* config, void* function, void**, void**) {
  return log_launch("cuLaunchKernelEx_ptsz", function, config->gridDimX, config->blockDimX), 0;
}
EXPORT int cuLaunchCooperativeKernel(void* function, unsigned gx, unsigned, unsigned, unsigned bx, unsigned,
                                     unsigned, unsigned, void*, void**) {
  return log_launch("cuLaunchCooperativeKernel", function, gx, bx), 0;
}
EXPORT int cuLaunchCooperativeKernel_ptsz(void* function, unsigned gx, unsigned, unsigned, unsigned bx,
                                          unsigned, unsigned, unsigned, void*, void**) {
  return log_launch("cuLaunchCooperativeKernel_ptsz", function, gx, bx), 0;
}

namespace {

struct Entry {
  const char* name;
  void* address;
};

// The driver's own addresses, not what the global scope binds these names to.
#define ENTRY(name, parameters) {#name, reinterpret_cast<void*>(&name)},
const Entry* entries(std::size_t& count) {
  static const Entry table[] = {FAKE_DRIVER_FUNCTIONS(ENTRY)};
  count = sizeof table / sizeof *table;
  return table;
}
#undef ENTRY

int find(const char* name, int version, std::uint64_t flags, void** function) {
  std::string wanted = name;
  if (wanted == "cuGetProcAddress" && version >= 12000) wanted += "_v2";
  if ((wanted == "cuCtxDestroy" && version >= 4000) ||
      (wanted.rfind("cuDevicePrimaryCtx", 0) == 0 && version >= 11000)) {
    wanted += "_v2";
  }
  if (wanted == "cuCtxGetDevice" && version >= 13000) wanted += "_v2";
  if ((flags & 2) != 0 && wanted.rfind("cuLaunch", 0) == 0) wanted += "_ptsz";
  std::size_t count = 0;
  const Entry* const table = entries(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (wanted == table[i].name) return *function = table[i].address, 0;
  }
  *function = nullptr;
  return error_not_found;
}

}  // namespace

EXPORT int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return find(name, version, flags, function);
}
EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags,
                               int* status) {
  if (status != nullptr) *status = 0;
  return find(name, version, flags, function);
}
