// Driver functions that runtime programs ask for by name, such as cuTensorMapEncodeTiled.
#include <dlfcn.h>

#include "device/cpu/runtime/api.h"
#include "device/cpu/runtime/call_scopes.h"

namespace lynxpp::device::cpu {
namespace {

/// cuGetProcAddress_v2. Its query results have the values of cudaDriverEntryPointQueryResult, and its flags
/// those of the runtime.
using GetProcAddress = int (*)(const char* symbol, void** function, int version, unsigned long long flags,
                               int* status);

/// Finds it as a program would, so that the hooks see the program's look-ups. Null without a driver.
GetProcAddress driver_lookup() {
  static const auto found = [] {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    return driver != nullptr ? reinterpret_cast<GetProcAddress>(dlsym(driver, "cuGetProcAddress_v2"))
                             : nullptr;
  }();
  return found;
}

cudaError_t find(const char* symbol, void** function, int version, unsigned long long flags,
                 cudaDriverEntryPointQueryResult* status) {
  constexpr unsigned long long known = cudaEnableLegacyStream | cudaEnablePerThreadDefaultStream;
  if (symbol == nullptr || *symbol == '\0' || function == nullptr || (flags & ~known) != 0 || flags == known)
    return cudaErrorInvalidValue;
  *function = nullptr;
  const GetProcAddress lookup = driver_lookup();
  if (lookup == nullptr) return cudaErrorNotSupported;
  if (flags == cudaEnableDefault && PerThreadDefaultStream::active())
    flags = cudaEnablePerThreadDefaultStream;
  int result = cudaDriverEntryPointSymbolNotFound;
  lookup(symbol, function, version, flags, &result);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(result);
  return cudaSuccess;
}

}  // namespace

namespace api {

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return find(symbol, function, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  return find(symbol, function, static_cast<int>(version), flags, status);
}

}  // namespace api
}  // namespace lynxpp::device::cpu
