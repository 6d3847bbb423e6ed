// Declares the functions of api.def in namespace driver_api with exactly the types of the toolkit's cuda.h,
// under the names that libcuda.so.1 exports. A function returns its error and leaves the common checks
// (cuInit, a current context, a failed context) to the wrappers of table.cpp.
#pragma once

// Declares every version of every function by its exported name; no macro renames one.
#define __CUDA_API_VERSION_INTERNAL  // NOLINT(bugprone-reserved-identifier): the toolkit's own name
#include <cuda.h>
#include <cudaProfiler.h>

namespace lynxpp::device::cpu::driver_api {

#define LYNXPP_DRIVER(exported, asked, since, needs) decltype(::exported) exported;
#define LYNXPP_DRIVER_STREAM(exported, suffix, asked, since, suffix_since, needs) \
  decltype(::exported) exported;
#include "device/cpu/driver/api.def"
#undef LYNXPP_DRIVER
#undef LYNXPP_DRIVER_STREAM

}  // namespace lynxpp::device::cpu::driver_api
