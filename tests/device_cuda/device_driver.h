// A driver that answers the queries made when a device is created, and nothing else.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "device/cuda/driver.h"

namespace lynxpp::device::cuda {

/// Options passed to the driver's compiler with the text.
struct JitOptions {
  const CUjit_option* names = nullptr;
  void* const* values = nullptr;
  unsigned count = 0;
};

/// Returns the limit that ptxas applies: the kernel's own, or the option's if the kernel has no launch
/// bounds.
inline std::optional<std::uintptr_t> register_limit(const void* ptx, const JitOptions& options) {
  constexpr std::string_view directive = ".maxnreg ";
  const std::string_view text = static_cast<const char*>(ptx);
  const std::size_t own = text.find(directive);
  if (own != std::string_view::npos) {
    std::uintptr_t limit = 0;
    std::from_chars(text.data() + own + directive.size(), text.data() + text.size(), limit);
    return limit;
  }
  if (text.find(".maxntid") != std::string_view::npos) return std::nullopt;
  for (unsigned i = 0; i < options.count; ++i) {
    if (options.names[i] == CU_JIT_MAX_REGISTERS) return reinterpret_cast<std::uintptr_t>(options.values[i]);
  }
  return std::nullopt;
}

inline Driver device_driver() {
  Driver driver;
  driver.cuGetErrorString = [](CUresult, const char** text) {
    *text = "no";
    return CUDA_SUCCESS;
  };
  driver.cuCtxGetCurrent = [](CUcontext* context) {
    *context = reinterpret_cast<CUcontext>(1);
    return CUDA_SUCCESS;
  };
  driver.cuCtxGetDevice = [](CUdevice* device) {
    *device = 0;
    return CUDA_SUCCESS;
  };
  driver.cuDeviceGetName = [](char*, int, CUdevice) { return CUDA_SUCCESS; };
  driver.cuDeviceGetUuid = [](CUuuid*, CUdevice) { return CUDA_ERROR_NOT_SUPPORTED; };
  driver.cuCtxGetId = [](CUcontext, unsigned long long*) { return CUDA_ERROR_NOT_SUPPORTED; };
  driver.cuDeviceGetAttribute = [](int* value, CUdevice_attribute, CUdevice) {
    *value = 9;
    return CUDA_SUCCESS;
  };
  driver.cuMemGetInfo = [](std::size_t* free, std::size_t* total) {
    *total = *free = std::size_t{1} << 30;
    return CUDA_SUCCESS;
  };
  driver.cuCtxPushCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuCtxPopCurrent = [](CUcontext*) { return CUDA_SUCCESS; };
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  driver.cuKernelGetFunction = [](CUfunction*, CUkernel) { return CUDA_ERROR_INVALID_HANDLE; };
  return driver;
}

}  // namespace lynxpp::device::cuda
