#include "device/cpu/runtime/launch.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>

#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/clock.h"
#include "device/cpu/runtime/counters.h"
#include "device/cpu/runtime/device_limits.h"
#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/graphs/graph.h"
#include "device/cpu/runtime/modules/registry.h"
#include "device/cpu/runtime/runtime.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/runtime/wanted_checks.h"
#include "device/cpu/simt/execute/occupancy.h"
#include "device/cpu/simt/execute/order/cluster_window.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

std::atomic<LaunchInterceptor> interceptor{nullptr};
std::atomic<CheckObserver> check_observer{nullptr};
thread_local cudaError_t variant_error = cudaSuccess;

cudaError_t check_shape(const Launch& launch) {
  const auto* grid = launch.grid;
  const auto* block = launch.block;
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] == 0 || block[axis] == 0) return cudaErrorInvalidConfiguration;
  }
  const bool grid_fits = grid[0] <= std::uint32_t{max_grid_dimension_x} &&
                         grid[1] <= std::uint32_t{max_grid_dimension_yz} &&
                         grid[2] <= std::uint32_t{max_grid_dimension_yz};
  const bool block_fits = block[0] <= std::uint32_t{max_threads_per_block} &&
                          block[1] <= std::uint32_t{max_threads_per_block} &&
                          block[2] <= std::uint32_t{max_block_dimension_z} &&
                          launch.threads_per_block() <= std::uint64_t{max_threads_per_block};
  return grid_fits && block_fits ? cudaSuccess : cudaErrorInvalidConfiguration;
}

cudaError_t check_resources(const Kernel& kernel, const KernelInfo& info, const Launch& launch) {
  if (launch.threads_per_block() > info.max_threads) {
    log().error("kernel {} was compiled for at most {} threads per block, not {}", demangle(kernel.name),
                info.max_threads, launch.threads_per_block());
    return cudaErrorInvalidValue;
  }
  const int opted = kernel.on(current_device()).max_dynamic_shared;
  // Static and dynamic memory share the default limit; a raised limit applies to dynamic memory only.
  const std::uint64_t limit =
      opted > default_shared_limit ? std::uint64_t{optin_shared_limit} : std::uint64_t{default_shared_limit};
  const bool fits = launch.shared_bytes <= static_cast<std::uint32_t>(opted) &&
                    std::uint64_t{launch.shared_bytes} + info.static_shared_bytes <= limit;
  return fits ? cudaSuccess : cudaErrorInvalidValue;
}

/// Returns the cluster that the kernel requires; all 0 if it requires none.
void required_cluster(const Kernel& kernel, const KernelInfo& info, std::uint32_t (&extents)[3]) {
  if (info.cluster) {
    extents[0] = info.cluster->x;
    extents[1] = info.cluster->y;
    extents[2] = info.cluster->z;
    return;
  }
  for (int axis = 0; axis < 3; ++axis)
    extents[axis] = static_cast<std::uint32_t>(kernel.on(current_device()).required_cluster[axis].load());
}

bool is_none(const std::uint32_t (&extents)[3]) {
  return extents[0] == 0 && extents[1] == 0 && extents[2] == 0;
}

cudaError_t check_cooperative(const KernelInfo& info, const Launch& launch) {
  if (!launch.cooperative) return cudaSuccess;
  const std::uint64_t of_cluster =
      is_none(launch.cluster) ? 1 : std::uint64_t{launch.cluster[0]} * launch.cluster[1] * launch.cluster[2];
  const auto resident = static_cast<std::uint64_t>(resident_clusters(info, launch)) * of_cluster;
  return launch.blocks() <= resident ? cudaSuccess : cudaErrorCooperativeLaunchTooLarge;
}

/// Removes the prefix "kernel 'name': " of the executor's messages.
std::string_view without_kernel_name(std::string_view message) {
  const std::size_t end = message.starts_with("kernel '") ? message.find("': ") : std::string_view::npos;
  return end != std::string_view::npos ? message.substr(end + 3) : message;
}

/// Returns in one line why a kernel failed.
std::string death_text(const Failure& failure) {
  const Diagnostic& first = failure.diagnostics.front();
  if (first.location.line == 0) return one_line(failure);
  return std::string(without_kernel_name(first.message)) + " (PTX line " +
         std::to_string(first.location.line) + ")";
}

void log_failure(Kernel& kernel, const Failure& failure) {
  if (kernel.failure_logged.exchange(true)) return;
  log().error("kernel {} failed on the cpu device: {}", demangle(kernel.name), death_text(failure));
}

/// A launch in a stream.
struct QueuedLaunch {
  Kernel* kernel = nullptr;
  std::shared_ptr<LoadedModule> module;
  std::vector<std::byte> parameters;
  LaunchShape shape;
  int device = 0;
  std::optional<std::string> counters_path;
  bool counts_words = false;
  std::vector<CountedArray> arrays;  ///< if words are counted
};

/// Executes the launch. `number` counts the kernel's launches.
void run_counted(const QueuedLaunch& launch, std::uint64_t number) {
  const DeviceScope device(launch.device);
  Kernel& kernel = *launch.kernel;
  LaunchCounters counters;
  if (launch.counts_words) counters.words.emplace();
  std::optional<models::clock::KernelTime> time;
  const Status status = launch_with_clock(*launch.module, kernel.name, launch.shape, launch.parameters,
                                          launch.counters_path ? &counters : nullptr, time);
  if (!status) {
    log_failure(kernel, status.error());
    set_sticky_error(error_of(status.error()));
  } else if (launch.counters_path) {
    const CountedLaunch counted{kernel.name, number, false, launch.shape, launch.device, launch.arrays};
    write_counters(*launch.counters_path, counted, counters, time);
  }
}

std::shared_ptr<const KernelCall> call_of(Kernel& kernel, const Launch& launch,
                                          const std::vector<ParameterSlot>& slots,
                                          const std::vector<std::byte>& buffer) {
  auto call = std::make_shared<KernelCall>();
  call->kernel = &kernel;
  call->device = current_device();
  std::copy(std::begin(launch.grid), std::end(launch.grid), call->grid);
  std::copy(std::begin(launch.block), std::end(launch.block), call->block);
  call->shared_bytes = launch.shared_bytes;
  call->cooperative = launch.cooperative;
  std::copy(std::begin(launch.cluster), std::end(launch.cluster), call->cluster);
  call->buffer = buffer;
  for (const ParameterSlot& slot : slots) call->parameters.push_back(call->buffer.data() + slot.offset);
  return call;
}

cudaError_t enqueue(Kernel& kernel, const LoadedKernel& loaded, const Launch& launch) {
  std::vector<ParameterSlot> slots;
  for (const auto& parameter : loaded.info.parameters) slots.push_back({parameter.offset, parameter.bytes});
  auto buffer = parameter_buffer(launch, slots);
  if (!buffer) return cudaErrorInvalidValue;
  // Reject a kernel that cannot run before enqueueing it.
  const auto path = counters_path();
  const LaunchShape shape = shape_of(launch);
  const CodeKind kind = code_kind(*loaded.module, kernel.name, shape);
  if (Status compiled = loaded.module->compile(kernel.name, kind); !compiled) {
    log_failure(kernel, compiled.error());
    return error_of(compiled.error());
  }
  auto* const stream = static_cast<cudaStream_t>(launch.stream);
  const bool is_captured = streams().capturing(stream);
  std::shared_ptr<const KernelCall> call;
  if (is_captured) call = call_of(kernel, launch, slots, *buffer);
  QueuedLaunch queued{&kernel, loaded.module, std::move(*buffer), shape, current_device(), path, false, {}};
  queued.counts_words = path && counts_words();
  if (queued.counts_words) queued.arrays = reachable_arrays(*loaded.module);
  if (!is_captured) {
    auto run = [queued = std::move(queued), number = launch.number] { run_counted(queued, number); };
    return streams().enqueue(stream, {cudaGraphNodeTypeKernel, std::move(run), nullptr});
  }
  // Each launch of the graph is a launch of the kernel.
  auto run = [queued = std::move(queued)] { run_counted(queued, queued.kernel->launches++); };
  return streams().enqueue(stream, {cudaGraphNodeTypeKernel, std::move(run), std::move(call)});
}

}  // namespace

void set_launch_interceptor(LaunchInterceptor wanted) { interceptor = wanted; }

void set_check_observer(CheckObserver observer) { check_observer = observer; }

cudaError_t take_variant_error() { return std::exchange(variant_error, cudaSuccess); }
void set_variant_error(cudaError_t error) { variant_error = error; }

LaunchShape shape_of(const Launch& launch) {
  LaunchShape shape{{launch.grid[0], launch.grid[1], launch.grid[2]},
                    {launch.block[0], launch.block[1], launch.block[2]},
                    launch.shared_bytes,
                    launch.cooperative};
  if (!is_none(launch.cluster)) shape.cluster = Dim3{launch.cluster[0], launch.cluster[1], launch.cluster[2]};
  return shape;
}

CodeKind code_kind(LoadedModule& module, const std::string& kernel, const LaunchShape& shape) {
  return {counters_path().has_value(), is_modelled(module, kernel, shape), wanted_checks() != nullptr};
}

cudaError_t find_cluster(const Kernel& kernel, const KernelInfo& info, Launch& launch) {
  std::uint32_t required[3];
  required_cluster(kernel, info, required);
  const auto* const attributes = static_cast<const cudaLaunchAttribute*>(launch.attributes);
  for (std::uint32_t i = 0; i < launch.attribute_count; ++i) {
    if (attributes[i].id != cudaLaunchAttributeClusterDimension) continue;
    const auto& cluster = attributes[i].val.clusterDim;
    launch.cluster[0] = cluster.x;
    launch.cluster[1] = cluster.y;
    launch.cluster[2] = cluster.z;
  }
  if (is_none(launch.cluster)) std::copy(std::begin(required), std::end(required), launch.cluster);
  if (is_none(launch.cluster)) return info.needs_cluster ? cudaErrorInvalidClusterSize : cudaSuccess;
  const bool is_other =
      !is_none(required) && !std::equal(std::begin(required), std::end(required), launch.cluster);
  std::uint64_t blocks = 1;
  bool divides = true;
  for (int axis = 0; axis < 3; ++axis) {
    blocks *= launch.cluster[axis];
    divides &= launch.cluster[axis] != 0 && launch.grid[axis] % launch.cluster[axis] == 0;
  }
  std::uint64_t most =
      kernel.on(current_device()).takes_large_clusters ? most_cluster_blocks : most_portable_cluster_blocks;
  if (info.max_cluster_rank != 0) most = std::min<std::uint64_t>(most, info.max_cluster_rank);
  return is_other || !divides || blocks > most ? cudaErrorInvalidClusterSize : cudaSuccess;
}

int resident_clusters(const KernelInfo& info, const Launch& launch) {
  const int blocks = resident_blocks(info, static_cast<int>(launch.threads_per_block()), launch.shared_bytes);
  if (blocks == 0) return 0;
  const std::uint32_t of_cluster =
      is_none(launch.cluster) ? 1 : launch.cluster[0] * launch.cluster[1] * launch.cluster[2];
  // A cluster is always resident as a whole, so at least one fits.
  return std::max(1, blocks / static_cast<int>(of_cluster)) * static_cast<int>(multiprocessors());
}

cudaError_t error_of(const Failure& failure) {
  const auto says = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(
        failure.diagnostics.begin(), failure.diagnostics.end(), [&](const Diagnostic& diagnostic) {
          return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
            return without_kernel_name(diagnostic.message).find(word) != std::string_view::npos;
          });
        });
  };
  const auto begins_with = [&](std::string_view word) {
    return std::any_of(failure.diagnostics.begin(), failure.diagnostics.end(), [&](const Diagnostic& each) {
      return without_kernel_name(each.message).starts_with(word);
    });
  };
  if (begins_with("illegal address: ")) return cudaErrorIllegalAddress;
  if (begins_with("misaligned address: ")) return cudaErrorMisalignedAddress;
  if (begins_with("address of the wrong space: ")) return cudaErrorInvalidAddressSpace;
  if (begins_with("invalid tensor map or operands: ") || begins_with("invalid descriptor: ") ||
      begins_with("illegal use of tensor memory: "))
    return cudaErrorIllegalInstruction;
  if (begins_with("a call through ")) return cudaErrorInvalidPc;
  // Kernels are compiled before they run: an unsupported feature or malformed PTX fails before execution.
  if (says({"device-side assert"})) return cudaErrorAssert;
  if (says({"cpu device"})) return cudaErrorNotSupported;
  if (says({"unknown", "malformed", "expected", "syntax"})) return cudaErrorInvalidPtx;
  return cudaErrorLaunchFailure;
}

cudaError_t launch_node(Kernel& kernel, Launch launch, int device, Interception interception) {
  const DeviceScope scope(device);
  launch.function = &kernel;
  launch.per_thread_stream = PerThreadDefaultStream::active();
  if (const cudaError_t error = check_shape(launch); error != cudaSuccess) return error;

  std::shared_ptr<const LoadedKernel> loaded;
  if (const cudaError_t error = kernel.binary->load(kernel, device, loaded); error != cudaSuccess)
    return error;
  if (const cudaError_t error = find_cluster(kernel, loaded->info, launch); error != cudaSuccess)
    return error;
  for (const cudaError_t error :
       {check_resources(kernel, loaded->info, launch), check_cooperative(loaded->info, launch)}) {
    if (error != cudaSuccess) return error;
  }

  const cudaError_t admitted = streams().admit(static_cast<cudaStream_t>(launch.stream));
  if (admitted != cudaSuccess) return admitted;
  if (!streams().capturing(static_cast<cudaStream_t>(launch.stream))) launch.number = kernel.launches++;
  const CheckObserver observe = wanted_checks() != nullptr ? check_observer.load() : nullptr;
  if (observe != nullptr) observe();
  const LaunchInterceptor intercept = interception == Interception::allowed ? interceptor.load() : nullptr;
  if (intercept != nullptr) {
    set_variant_error(cudaSuccess);
    if (intercept(launch, KernelIdentity{&kernel.name, loaded->ptx.get(), device, describe(loaded->origin)}))
      return take_variant_error();
  }
  return enqueue(kernel, *loaded, launch);
}

cudaError_t launch_kernel(Kernel& kernel, Launch launch, Interception interception) {
  const int device = current_device();
  if (kernel.device.value_or(device) != device) return cudaErrorInvalidDeviceFunction;
  const auto stream = streams().find(static_cast<cudaStream_t>(launch.stream));
  if (stream != nullptr && stream->device != device) return cudaErrorInvalidResourceHandle;
  return launch_node(kernel, launch, device, interception);
}

}  // namespace lynxpp::device::cpu
