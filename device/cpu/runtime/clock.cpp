#include "device/cpu/runtime/clock.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>

#include "device/cpu/runtime/checks.h"
#include "device/cpu/runtime/error.h"
#include "device/cpu/runtime/wanted_checks.h"
#include "device/cpu/simt/execute/counters/clock.h"
#include "device/cpu/simt/execute/occupancy.h"
#include "support/log.h"
#include "support/setting.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

/// The process's modelled device. Never destroyed, because programs launch in static destructors.
struct ModelledDevice {
  ModelledDevice(const models::Machine& machine, models::clock::CachesBefore caches)
      : clock(machine, caches) {}

  std::mutex turn;
  LaunchClock clock;
  std::atomic<double> seconds{0};
};

/// Reads LYNXPP_CPU_CLOCK_TIMES: modelling is slow, and not needed if launches are only counted.
bool wants_times() {
  static const char* const value = setting("LYNXPP_CPU_CLOCK_TIMES");
  return value == nullptr || std::string_view(value) != "0";
}

std::optional<models::Machine> find_wanted() {
  const char* const name = setting("LYNXPP_CPU_CLOCK");
  if (name == nullptr || *name == '\0') return std::nullopt;
  Result<models::Machine> machine = models::find_machine(name);
  if (!machine) {
    log().error("no time is modelled (LYNXPP_CPU_CLOCK): {}", one_line(machine.error()));
    return std::nullopt;
  }
  if (!machine->timing) {
    log().error("no time is modelled (LYNXPP_CPU_CLOCK): the machine '{}' has no member 'timing'",
                machine->name);
    return std::nullopt;
  }
  if (wants_times())
    log().warn("times of kernels and events are modelled for {}, not measured (LYNXPP_CPU_CLOCK)",
               machine->name);
  return std::move(*machine);
}

/// Reads LYNXPP_CPU_CLOCK_L2.
models::clock::CachesBefore wanted_caches() {
  const char* const value = setting("LYNXPP_CPU_CLOCK_L2");
  const std::string_view wanted = value != nullptr ? value : "";
  if (wanted == "emptied") return models::clock::CachesBefore::emptied;
  if (!wanted.empty() && wanted != "kept")
    log().error("LYNXPP_CPU_CLOCK_L2 must be kept or emptied, not '{}'; using kept", wanted);
  return models::clock::CachesBefore::kept;
}

ModelledDevice& modelled_device() {
  static auto* const device = new ModelledDevice(*modelled_machine(), wanted_caches());
  return *device;
}

/// Returns why a launch has no modelled time; empty if it has one.
std::string obstacle_to_model(LoadedModule& module, const std::string& kernel, const LaunchShape& shape) {
  const Result<KernelInfo> info = module.kernel(kernel);
  if (!info) return "the kernel cannot be loaded";
  if (shape.cluster || info->cluster) return "launches with clusters are not modelled";
  const std::uint32_t threads = shape.block.x * shape.block.y * shape.block.z;
  const auto blocks =
      models::occupancy(*modelled_machine(), {threads, 0, info->static_shared_bytes + shape.shared_bytes})
          .blocks;
  return blocks != 0 ? "" : "a block does not fit on a multiprocessor of " + modelled_machine()->name;
}

}  // namespace

const models::Machine* modelled_machine() {
  static const auto* const machine = new std::optional<models::Machine>(find_wanted());
  return machine->has_value() ? &**machine : nullptr;
}

double modelled_seconds() {
  return modelled_machine() != nullptr ? modelled_device().seconds.load(std::memory_order_relaxed) : 0;
}

bool is_modelled(LoadedModule& module, const std::string& kernel, const LaunchShape& shape) {
  if (modelled_machine() == nullptr || !wants_times() || wanted_checks() != nullptr) return false;
  const std::string obstacle = obstacle_to_model(module, kernel, shape);
  if (obstacle.empty()) return true;
  static std::mutex mutex;
  static auto* const known = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (known->insert(kernel).second)
    log().warn("launches of kernel {} have no modelled time: {}", demangle(kernel), obstacle);
  return false;
}

int blocks_of_multiprocessor(const KernelInfo& info, int threads, std::size_t shared_bytes) {
  const int blocks = resident_blocks(info, threads, shared_bytes);
  if (modelled_machine() == nullptr || blocks == 0) return blocks;
  const auto shared = static_cast<std::uint32_t>(info.static_shared_bytes + shared_bytes);
  return static_cast<int>(
      models::occupancy(*modelled_machine(), {static_cast<std::uint32_t>(threads), 0, shared}).blocks);
}

Status launch_with_clock(LoadedModule& module, const std::string& kernel, const LaunchShape& shape,
                         std::span<const std::byte> parameters, LaunchCounters* counters,
                         std::optional<models::clock::KernelTime>& time) {
  if (const CheckSelection* const wanted = wanted_checks(); wanted != nullptr) {
    LaunchChecks checks{.selection = *wanted, .seeds = wanted_seeds()};
    Status status = module.launch(kernel, shape, parameters, counters, nullptr, &checks);
    keep_findings(kernel, std::move(checks));
    return status;
  }
  if (!is_modelled(module, kernel, shape)) return module.launch(kernel, shape, parameters, counters);
  ModelledDevice& device = modelled_device();
  const std::lock_guard lock(device.turn);
  const double begin = device.seconds.load(std::memory_order_relaxed) +
                       device.clock.device.machine().timing->launch_gap_ns * 1e-9;
  device.clock.begin_ns = static_cast<std::uint64_t>(begin * 1e9);
  Status status = module.launch(kernel, shape, parameters, counters, &device.clock);
  if (!status) return status;
  time = std::move(device.clock.last);
  device.seconds.store(begin + time->seconds, std::memory_order_relaxed);
  return status;
}

}  // namespace lynxpp::device::cpu
