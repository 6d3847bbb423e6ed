// The stand-in for the CUDA driver, as a table of functions by exported name. libcuda.so.1
// (device/cpu/driver/library) forwards the program's calls to it.
#pragma once

#include <optional>
#include <span>

#include "device/cpu/runtime/runtime.h"
#include "support/tensor_boxes.h"

namespace lynxpp::device::cpu {

/// Returns every function that the toolkit's driver library exports, sorted by name. Unsupported functions
/// (unsupported.def) return CUDA_ERROR_NOT_SUPPORTED and are logged once.
std::span<const ApiFunction> driver_functions();

/// Returns the box of a tensor map that this device has encoded; nullopt for other bytes.
std::optional<TensorBox> tensor_box(const void* map);

}  // namespace lynxpp::device::cpu
