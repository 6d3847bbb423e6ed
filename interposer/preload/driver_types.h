// The types of cuda.h that the hooks use. Declared here so that the preload library builds without a toolkit;
// tests/interposer/driver_types_test.cpp compares them with the real header.
#pragma once

#include <cstdint>

namespace lynxpp::preload {

using CUresult = int;
using CUcontext = void*;
using CUdevice = int;
using CUmodule = void*;
using CUlibrary = void*;
using CUkernel = void*;
using CUfunction = void*;
using CUstream = void*;

inline constexpr CUresult cuda_success = 0;
inline constexpr CUresult error_stub_library = 34;
inline constexpr CUresult error_capture_invalidated = 901;
inline constexpr CUresult error_capture_unjoined = 904;
inline constexpr std::uint64_t per_thread_default_stream = 2;

struct CUlaunchConfig {
  unsigned int gridDimX;
  unsigned int gridDimY;
  unsigned int gridDimZ;
  unsigned int blockDimX;
  unsigned int blockDimY;
  unsigned int blockDimZ;
  unsigned int sharedMemBytes;
  CUstream hStream;
  void* attrs;
  unsigned int numAttrs;
};

}  // namespace lynxpp::preload
