// The state of a process with respect to the cpu device: is it to run there, and does it?
#pragma once

#include <atomic>
#include <cstddef>

namespace lynxpp::preload {

/// Number of runtime functions of the engine that the process is bound to; 0: it is not bound.
extern std::atomic<size_t> bound_functions;

/// Matches libcudart.so.13, and libcudart-0123abcd.so.12 as Python wheels name it.
bool is_runtime_library(const char* file_name);

/// True if LYNXPP_DEVICE or the lack of a driver selects the cpu device.
bool wants_cpu_device();

/// True if this process launches on the cpu device, through its runtime or its driver.
bool runs_on_cpu_device();

/// True if the process has a shared runtime whose functions were bound without going through the cpu
/// device's.
bool has_bypassing_runtime();

/// Returns true once: the caller then explains why the program cannot be measured.
bool is_first_explanation();
/// True if is_first_explanation() was called.
bool has_explained();

}  // namespace lynxpp::preload
