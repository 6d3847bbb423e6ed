// A driver that answers what a device is asked when it is made, and nothing else.
#pragma once

#include "device/cuda/driver.h"

namespace lynxpp::device::cuda {

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
