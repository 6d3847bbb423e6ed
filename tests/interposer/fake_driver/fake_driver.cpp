// A libcuda.so.1 that records its calls. A module has a function of every requested name.
#include "tests/interposer/fake_driver/fake_driver.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/interposer/event_log.h"
#include "tests/interposer/fake_driver/objects.h"

using lynxpp::fake_driver::create;
using lynxpp::fake_driver::current_context;
using lynxpp::fake_driver::kill;
using lynxpp::fake_driver::kill_if;
using lynxpp::fake_driver::Object;
using lynxpp::fake_driver::object;

namespace {

void log_launch(const char* function_name, void* function, unsigned gx, unsigned bx) {
  log_event("driver %s %s grid %u block %u", function_name, object(function, function_name)->name.c_str(), gx,
            bx);
}

/// Set by fakeSetCurrent.
thread_local void* current = nullptr;
/// Number of holds on the primary context; the program has one from the start.
std::atomic<int> primary_retained = 1;

void* primary_context() {
  static char context;
  return &context;
}
struct Memory {
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> live;        // bytes by address
  std::multimap<std::uint64_t, std::uint64_t> freed;  // addresses by bytes
  std::uint64_t next = 0x10000;
};
Memory& memory() {
  static auto* const instance = new Memory;
  return *instance;
}

/// Returns addresses below 4 GiB, so that functions with 32-bit addresses can use them too.
std::uint64_t take_memory(std::uint64_t bytes) {
  const std::lock_guard lock(memory().mutex);
  std::uint64_t address = memory().next;
  if (const auto reused = memory().freed.find(bytes); reused != memory().freed.end()) {
    address = reused->second;
    memory().freed.erase(reused);
  } else {
    memory().next += (bytes + 255) / 256 * 256;
  }
  memory().live[address] = bytes;
  return address;
}

constexpr int out_of_memory = 2;
constexpr int invalid_value = 1;

int free_memory(std::uint64_t address) {
  const std::lock_guard lock(memory().mutex);
  const auto found = memory().live.find(address);
  if (found == memory().live.end()) return invalid_value;
  if (getenv("FAKE_DRIVER_KEEPS_MEMORY") != nullptr) return invalid_value;
  memory().freed.emplace(found->second, address);
  memory().live.erase(found);
  return 0;
}

constexpr int invalid_handle = 400;
constexpr int error_not_found = 500;

/// Kills all objects of a context that is destroyed or reset.
void kill_all_of(void* context) {
  kill_if([&](const Object& each) { return each.context == context; });
}

Object* in_context(const char* kind, const char* name = "", void* owner = nullptr) {
  return create(kind, name, owner, current_context());
}

}  // namespace

void* lynxpp::fake_driver::current_context() { return current != nullptr ? current : primary_context(); }

/// Behaves like the driver's.
EXPORT int cuInit(unsigned) {
  static const bool tells_end = getenv("FAKE_DRIVER_TELLS_END") != nullptr;
  static const int registered = tells_end ? atexit([] { log_event("driver ends"); }) : 0;
  if (registered != 0) return 999;
  const char* const path = getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return 0;
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  const auto initialize =
      reinterpret_cast<int (*)()>(library != nullptr ? dlsym(library, "InitializeInjection") : nullptr);
  if (initialize == nullptr) return log_event("driver cannot inject %s", dlerror()), 0;
  log_event("driver injects: %d", initialize());
  return 0;
}

/// A function of a later CUDA version than any that lynxpp knows.
EXPORT int cuNewerThanLynxpp() { return 77; }

EXPORT int cuProfilerStart() { return log_event("driver cuProfilerStart"), 0; }
EXPORT int cuProfilerStop() { return log_event("driver cuProfilerStop"), 0; }

EXPORT int cuModuleLoad(void** module, const char*) { return *module = in_context("module"), 0; }
EXPORT int cuModuleLoadData(void** module, const void*) { return *module = in_context("module"), 0; }
EXPORT int cuModuleLoadDataEx(void** module, const void*, unsigned, int*, void**) {
  return *module = in_context("module"), 0;
}
EXPORT int cuModuleLoadFatBinary(void** module, const void*) { return *module = in_context("module"), 0; }
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  return *function = in_context("function", name, object(module)), 0;
}
EXPORT int cuModuleUnload(void* module) {
  log_event("driver cuModuleUnload");
  if (getenv("FAKE_DRIVER_KEEPS_MODULES") != nullptr) return invalid_handle;
  kill(object(module));
  kill_if([&](const Object& each) { return each.owner == module && each.kind == "function"; });
  return 0;
}
EXPORT int cuLibraryLoadData(void** library, const void*, int*, void**, unsigned, int*, void**, unsigned) {
  return *library = create("library"), 0;
}
EXPORT int cuLibraryLoadFromFile(void** library, const char*, int*, void**, unsigned, int*, void**,
                                 unsigned) {
  return *library = create("library"), 0;
}
EXPORT int cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  return *kernel = create("kernel", name, object(library)), 0;
}
EXPORT int cuLibraryGetModule(void** module, void* library) {
  return *module = in_context("module", "", object(library)), 0;
}
EXPORT int cuLibraryUnload(void* library) {
  log_event("driver cuLibraryUnload");
  kill(object(library));
  const auto is_of = [&](const Object& each) {
    const bool is_inside =
        each.owner != nullptr && each.owner->kind == "module" && each.owner->owner == library;
    return (each.owner == library && each.kind != "kernel node") || (is_inside && each.kind == "function");
  };
  kill_if(is_of);
  return 0;
}
EXPORT int cuKernelGetFunction(void** function, void* kernel) {
  if (object(kernel)->kind != "kernel") return invalid_handle;
  return *function = in_context("function", object(kernel)->name.c_str(), object(kernel)->owner), 0;
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

/// CUDA 13 changed the signature for callers that request its version.
EXPORT int cuCtxGetDevice(int* device) { return *device = 1, 0; }
EXPORT int cuCtxGetDevice_v2(int* device, void*) { return *device = 2, 0; }

EXPORT int cuCtxDestroy_v2(void* context) {
  if (context != nullptr) kill_all_of(context);
  return log_event("driver cuCtxDestroy_v2"), 0;
}
EXPORT int cuDevicePrimaryCtxReset_v2(int device) {
  primary_retained = 0;
  if (device == 0) kill_all_of(primary_context());
  return log_event("driver cuDevicePrimaryCtxReset_v2"), 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
  if (primary_retained > 0 && --primary_retained == 0) kill_all_of(primary_context());
  return log_event("driver cuDevicePrimaryCtxRelease_v2"), 0;
}
EXPORT void fakeSetCurrent(void* context) { current = context; }

EXPORT int cuCtxGetCurrent(void** context) { return *context = current_context(), 0; }
EXPORT int cuDevicePrimaryCtxGetState(int, unsigned*, int* active) {
  return *active = primary_retained > 0, 0;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
  return *context = primary_context(), ++primary_retained, 0;
}

// Addresses are in an unused range; freed memory is reused first.
EXPORT int cuMemAlloc(unsigned* address, unsigned bytes) {
  return *address = static_cast<unsigned>(take_memory(bytes)), 0;
}
EXPORT int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  if (bytes > (std::size_t{1} << 40)) return out_of_memory;
  return *address = take_memory(bytes), 0;
}
EXPORT int cuMemAllocPitch(unsigned* address, unsigned* pitch, unsigned width, unsigned height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc(address, *pitch * height);
}
EXPORT int cuMemAllocPitch_v2(std::uint64_t* address, std::size_t* pitch, std::size_t width,
                              std::size_t height, unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return *address = take_memory(*pitch * height), 0;
}
EXPORT int cuMemAllocManaged(std::uint64_t* address, std::size_t bytes, unsigned) {
  return *address = take_memory(bytes), 0;
}
EXPORT int cuMemAllocAsync(std::uint64_t* address, std::size_t bytes, void*) {
  return *address = take_memory(bytes), 0;
}
EXPORT int cuMemAllocAsync_ptsz(std::uint64_t* address, std::size_t bytes, void*) {
  return *address = take_memory(bytes), 0;
}
EXPORT int cuMemAllocFromPoolAsync(std::uint64_t* address, std::size_t bytes, void*, void*) {
  return *address = take_memory(bytes), 0;
}
EXPORT int cuMemAllocFromPoolAsync_ptsz(std::uint64_t* address, std::size_t bytes, void*, void*) {
  return *address = take_memory(bytes), 0;
}
EXPORT int cuMemFree(unsigned address) { return free_memory(address); }
EXPORT int cuMemFree_v2(std::uint64_t address) { return free_memory(address); }
EXPORT int cuMemFreeAsync(std::uint64_t address, void*) { return free_memory(address); }
EXPORT int cuMemFreeAsync_ptsz(std::uint64_t address, void*) { return free_memory(address); }
EXPORT int cuMemMap(std::uint64_t, std::size_t, std::size_t, unsigned long long, unsigned long long) {
  return 0;
}
EXPORT int cuMemUnmap(std::uint64_t, std::size_t) { return 0; }
EXPORT int cuMemAllocHost(void** address, unsigned bytes) {
  return *address = reinterpret_cast<void*>(take_memory(bytes)), 0;
}
EXPORT int cuMemAllocHost_v2(void** address, std::size_t bytes) {
  return *address = reinterpret_cast<void*>(take_memory(bytes)), 0;
}
EXPORT int cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  return *address = reinterpret_cast<void*>(take_memory(bytes)), 0;
}
EXPORT int cuMemFreeHost(void* address) { return free_memory(reinterpret_cast<std::uintptr_t>(address)); }
EXPORT int cuMemHostRegister(void*, std::size_t, unsigned) { return 0; }
EXPORT int cuMemHostRegister_v2(void*, std::size_t, unsigned) { return 0; }
EXPORT int cuMemHostUnregister(void*) { return 0; }

/// A map begins with its address and rank. Maps of rank 0 are refused.
EXPORT int cuTensorMapEncodeTiled(void* map, int, unsigned rank, void* address, const std::uint64_t*,
                                  const std::uint64_t*, const unsigned*, const unsigned*, int, int, int,
                                  int) {
  if (rank == 0) return 1;
  const std::uint64_t words[16] = {reinterpret_cast<std::uint64_t>(address), rank};
  return memcpy(map, words, sizeof words), 0;
}
EXPORT int cuTensorMapEncodeIm2col(void* map, int, unsigned rank, void* address, const std::uint64_t*,
                                   const std::uint64_t*, const int*, const int*, unsigned, unsigned,
                                   const unsigned*, int, int, int, int) {
  const std::uint64_t words[16] = {reinterpret_cast<std::uint64_t>(address), rank};
  return memcpy(map, words, sizeof words), 0;
}
EXPORT int cuTensorMapReplaceAddress(void* map, void* address) {
  return memcpy(map, &address, sizeof address), 0;
}

EXPORT int cuStreamSynchronize(void*) { return log_event("driver cuStreamSynchronize"), 0; }
EXPORT int cuStreamSynchronize_ptsz(void*) { return log_event("driver cuStreamSynchronize_ptsz"), 0; }
EXPORT int cuEventSynchronize(void*) { return log_event("driver cuEventSynchronize"), 0; }
EXPORT int cuCtxSynchronize() { return log_event("driver cuCtxSynchronize"), 0; }
EXPORT int cuMemcpy(std::uint64_t, std::uint64_t, std::size_t bytes) {
  return log_event("driver cuMemcpy %zu", bytes), 0;
}
EXPORT int cuMemcpyDtoH_v2(void*, std::uint64_t, std::size_t bytes) {
  return log_event("driver cuMemcpyDtoH_v2 %zu", bytes), 0;
}
EXPORT int cuMemcpy2D_v2(const void*) { return log_event("driver cuMemcpy2D_v2"), 0; }
EXPORT int cuMemcpy3D_v2(const void*) { return log_event("driver cuMemcpy3D_v2"), 0; }

/// Replaces cuModuleEnumerateFunctions and cuLibraryEnumerateKernels.
EXPORT int fakeEnumerate(void** function, void* owner, const char* name) {
  const bool is_library = object(owner)->kind == "library";
  return *function = is_library ? create("kernel", name, owner) : in_context("function", name, owner), 0;
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

EXPORT int cuLaunchGrid(void* function, int width, int) {
  return log_launch("cuLaunchGrid", function, static_cast<unsigned>(width), 0), 0;
}
EXPORT int cuLaunchCooperativeKernelMultiDevice(const DeviceLaunch* launches, unsigned count, unsigned) {
  for (unsigned i = 0; i < count; ++i)
    log_launch("cuLaunchCooperativeKernelMultiDevice", launches[i].function, launches[i].shape[0], 0);
  return 0;
}

EXPORT int cuLinkCreate_v2(unsigned, int*, void**, void** state) { return *state = create("link"), 0; }
EXPORT int cuLinkAddData_v2(void*, int, void*, std::size_t, const char* name, unsigned, int*, void**) {
  return name != nullptr && strcmp(name, "refused") == 0 ? invalid_value : 0;
}
EXPORT int cuLinkAddFile_v2(void*, int, const char*, unsigned, int*, void**) { return 0; }
EXPORT int cuLinkComplete(void*, void** cubin, std::size_t* bytes) {
  static char made[] = "\177ELF linked";
  *bytes = sizeof made;
  return *cubin = made, 0;
}
EXPORT int cuLinkDestroy(void*) { return 0; }

namespace {

struct Entry {
  const char* name;
  void* address;
};

// The driver's own addresses, not those to which the global scope binds these names.
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
      ((wanted == "cuDevicePrimaryCtxReset" || wanted == "cuDevicePrimaryCtxRelease") && version >= 11000)) {
    wanted += "_v2";
  }
  if (wanted == "cuCtxGetDevice" && version >= 13000) wanted += "_v2";
  if (wanted == "cuLinkCreate" || wanted == "cuLinkAddData" || wanted == "cuLinkAddFile") wanted += "_v2";
  const bool has_second = wanted == "cuMemAlloc" || wanted == "cuMemAllocPitch" || wanted == "cuMemFree" ||
                          wanted == "cuMemAllocHost" || wanted == "cuMemHostRegister" ||
                          wanted == "cuMemcpyDtoH" || wanted == "cuMemcpy2D" || wanted == "cuMemcpy3D";
  if (has_second && version >= 6050) wanted += "_v2";
  const bool has_stream = wanted.rfind("cuLaunch", 0) == 0 || wanted == "cuMemAllocAsync" ||
                          wanted == "cuMemAllocFromPoolAsync" || wanted == "cuMemFreeAsync" ||
                          wanted == "cuStreamSynchronize";
  if ((flags & 2) != 0 && has_stream) wanted += "_ptsz";
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
