// Kernel launches of the program: CUDA's checks, interception and execution.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "device/cpu/runtime/modules/symbols.h"
#include "device/cpu/simt/execute/executor.h"
#include "device/device.h"

namespace lynxpp::device::cpu {

/// Launches `kernel` on the current device, after calling the interceptor (runtime.h). Fills in
/// launch.function and per_thread_stream. The kernel runs when the stream reaches it; its failure becomes the
/// sticky error. Errors: cudaErrorInvalidConfiguration, cudaErrorInvalidValue (shared memory, attributes),
/// those of Binary::load and Streams::admit, cudaErrorInvalidResourceHandle for another device's stream,
/// cudaErrorInvalidDeviceFunction for another device's kernel, cudaErrorNotSupported if the cpu device cannot
/// run the kernel.
enum class Interception { allowed, none };
cudaError_t launch_kernel(Kernel& kernel, Launch launch, Interception interception = Interception::allowed);
/// Same for a graph node, in the stream that the graph is launched in.
cudaError_t launch_node(Kernel& kernel, Launch launch, int device, Interception interception);

/// Returns the executor's description of a launch.
LaunchShape shape_of(const Launch& launch);

/// Returns the kind of code for launches of that shape.
CodeKind code_kind(LoadedModule& module, const std::string& kernel, const LaunchShape& shape);

/// Sets launch.cluster from the attributes, or else to the cluster that the kernel requires. Errors:
/// cudaErrorInvalidClusterSize for clusters that do not divide the grid, are too large, or differ from those
/// required.
cudaError_t find_cluster(const Kernel& kernel, const KernelInfo& info, Launch& launch);

/// Returns how many clusters of a launch (launch.cluster) the device holds at a time; 0 if a block does not
/// fit.
int resident_clusters(const KernelInfo& info, const Launch& launch);

/// Returns the CUDA error for a failure of the executor.
cudaError_t error_of(const Failure& failure);

/// Returns the error of the calling thread's last Device::launch (runtime.h's cpu_device()) if that launch
/// failed, and resets it to cudaSuccess.
cudaError_t take_variant_error();
void set_variant_error(cudaError_t error);

}  // namespace lynxpp::device::cpu
