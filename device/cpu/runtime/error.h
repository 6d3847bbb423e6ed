// Error state of the cpu device's runtime API: a last error per host thread, and the sticky error of each
// device that a failed kernel leaves behind.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <string>

#include "support/result.h"

namespace lynxpp::device::cpu {

/// Remembers a failure as the calling thread's last error. Returns `error`.
cudaError_t record_error(cudaError_t error);

/// The calling thread's last error, or its current device's sticky error. take_ resets the former; nothing
/// but a device reset ends the latter.
cudaError_t take_last_error();
cudaError_t peek_last_error();

/// Whether the calling thread has called the runtime, whose context is the device's primary one.
void note_use_of_runtime();
bool uses_runtime();

/// The error of a kernel that died half-way: every later call reports it, as on hardware, because memory can
/// no longer be trusted. Of the thread's current device, unless another one is named.
void set_sticky_error(cudaError_t error);
cudaError_t sticky_error();
cudaError_t sticky_error(int device);
void clear_sticky_error(int device);

/// As cudaGetErrorName and cudaGetErrorString; never null.
const char* error_name(cudaError_t error);
const char* error_text(cudaError_t error);

/// Says, the first time (`named` is then set), that the cpu device does not have an API function.
void log_unsupported(const char* function, std::atomic<bool>& named);

/// The diagnostics as one line of a log message.
std::string one_line(const Failure& failure);

}  // namespace lynxpp::device::cpu
