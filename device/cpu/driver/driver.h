// The stand-in for the CUDA driver, as a table of functions by exported name. libcuda.so.1
// (device/cpu/driver/library) passes the program's calls on to it.
#pragma once

#include <span>

#include "device/cpu/runtime/runtime.h"

namespace lynxpp::device::cpu {

/// Every function that the toolkit's driver library exports, sorted by name. Those that the cpu device does
/// not have (unsupported.def) return CUDA_ERROR_NOT_SUPPORTED and are named in the log once.
std::span<const ApiFunction> driver_functions();

}  // namespace lynxpp::device::cpu
