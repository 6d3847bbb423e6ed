// Error state of the cpu device's runtime API: a last error per host thread, and a sticky error per device
// after a kernel has failed.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <string>

#include "support/result.h"

namespace lynxpp::device::cpu {

/// Records a failure as the calling thread's last error. Returns `error`.
cudaError_t record_error(cudaError_t error);

/// Returns the sticky error of the current device, or else the calling thread's last error. take_ resets the
/// latter; only a device reset clears the former.
cudaError_t take_last_error();
cudaError_t peek_last_error();

/// Records or returns whether the calling thread has called the runtime, whose context is the device's
/// primary one.
void note_use_of_runtime();
bool uses_runtime();

/// The error of a kernel that failed during execution: every later call reports it, as on hardware, because
/// memory is no longer consistent. For the current device unless another one is named.
void set_sticky_error(cudaError_t error);
cudaError_t sticky_error();
cudaError_t sticky_error(int device);
void clear_sticky_error(int device);

/// Same as cudaGetErrorName and cudaGetErrorString; never null.
const char* error_name(cudaError_t error);
const char* error_text(cudaError_t error);

/// Logs, the first time only (it sets `named`), that the cpu device does not support an API function.
void log_unsupported(const char* function, std::atomic<bool>& named);

/// Returns the diagnostics as one line for a log message.
std::string one_line(const Failure& failure);

}  // namespace lynxpp::device::cpu
