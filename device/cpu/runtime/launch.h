// A kernel launch of the program, from the checks CUDA makes to the executor.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "device/cpu/runtime/registry.h"
#include "device/device.h"

namespace lynxpp::device::cpu {

/// Launches `kernel` on the current device; the interceptor (runtime.h) sees it first. launch.function and
/// per_thread_stream are filled in. It runs when its turn in the stream has come; that it died is then the
/// sticky error. Errors: cudaErrorInvalidConfiguration, cudaErrorInvalidValue (shared memory, attributes),
/// those of Binary::load and Streams::admit, cudaErrorInvalidResourceHandle for a stream of another device,
/// cudaErrorInvalidDeviceFunction for a kernel of another device's, cudaErrorNotSupported when the cpu device
/// cannot run it.
enum class Interception { allowed, none };
cudaError_t launch_kernel(Kernel& kernel, Launch launch, Interception interception = Interception::allowed);
/// As above, of a node of a graph, in whichever stream the graph is launched.
cudaError_t launch_node(Kernel& kernel, Launch launch, int device, Interception interception);

/// What the executor is told of a launch.
LaunchShape shape_of(const Launch& launch);

/// Fills in launch.cluster: what its attributes say, or else what the kernel requires. Errors:
/// cudaErrorInvalidClusterSize for clusters that do not divide the grid, are too large, or are not those
/// required.
cudaError_t find_cluster(const Kernel& kernel, const KernelInfo& info, Launch& launch);

/// Clusters of a launch (launch.cluster) that the device holds at a time; 0 when a block does not fit.
int resident_clusters(const KernelInfo& info, const Launch& launch);

/// The CUDA error for a failure of the executor.
cudaError_t error_of(const Failure& failure);

/// The error of the calling thread's last Device::launch (runtime.h's cpu_device()), when the launch could
/// not be made; resets it to cudaSuccess.
cudaError_t take_variant_error();
void set_variant_error(cudaError_t error);

}  // namespace lynxpp::device::cpu
