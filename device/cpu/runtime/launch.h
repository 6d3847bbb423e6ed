// A kernel launch of the program, from the checks CUDA makes to the executor.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "device/cpu/runtime/registry.h"
#include "device/device.h"

namespace lynxpp::device::cpu {

/// Launches `kernel` and waits for it; the interceptor (runtime.h) sees it first. launch.function, stream
/// order and per_thread_stream are filled in. Errors: cudaErrorInvalidConfiguration, cudaErrorInvalidValue
/// (shared memory, attributes), those of Binary::load, when the kernel died one that sticks (is_death),
/// cudaErrorNotSupported when the cpu device cannot run it.
cudaError_t launch_kernel(Kernel& kernel, Launch launch);

/// The CUDA error for a failure of the executor.
cudaError_t error_of(const Failure& failure);
/// Whether it is the error of a kernel that ran and died, which sticks.
bool is_death(cudaError_t error);

/// How the calling thread's last Device::launch (runtime.h's cpu_device()) went; resets it to cudaSuccess.
cudaError_t take_variant_error();
void set_variant_error(cudaError_t error);

}  // namespace lynxpp::device::cpu
