// State of a running launch.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "device/cpu/simt/execute/launch_control.h"
#include "device/cpu/simt/execute/launch_shape.h"
#include "device/cpu/simt/execute/memory/global_memory.h"
#include "device/cpu/simt/execute/order/cluster_queue.h"
#include "device/cpu/simt/execute/order/explored_run.h"

namespace lynxpp::device::cpu {

struct Program;        // program.h
struct LaunchClock;    // clock.h
class StepTable;       // clock.h
class LaunchCheck;     // launch_check.h
class DeviceLaunches;  // device_launches.h

/// Start of a launch and the time at which it is next reported as running.
struct RunningReport {
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::atomic<std::chrono::steady_clock::duration> next;
  std::atomic<bool> is_abandoned = false;  ///< true if its early end has been reported
};

/// Synchronization state of a cooperative launch. %envreg1 and %envreg2 hold its address for cooperative
/// groups.
struct GridWorkspace {
  std::uint32_t bytes = sizeof(GridWorkspace);
  std::uint32_t arrived = 0;
};

/// State that the host threads of one launch share.
struct LaunchState {
  const Program* program = nullptr;
  LaunchShape shape;
  const std::byte* parameters = nullptr;
  GlobalMemory* memory = nullptr;
  std::uint64_t grid_id = 0;
  GridWorkspace* workspace = nullptr;  ///< in cooperative launches
  std::string_view name;               ///< of the module, for diagnostics
  std::atomic<bool> failed{false};
  std::atomic<bool> spins{false};     ///< true once lanes have waited for lanes of their warp
  std::uint64_t local_bytes = 0;      ///< local memory per thread
  std::size_t resident_blocks = 1;    ///< number that one worker may run in turns
  std::uint32_t multiprocessors = 1;  ///< of the device, as kernels see it
  LaunchClock* clock = nullptr;       ///< in launches with modelled time
  const StepTable* steps = nullptr;   ///< steps of the program's instructions, with `clock`
  LaunchCheck* check = nullptr;       ///< in checked launches
  DeviceLaunches* device_launches = nullptr;
  ExploredRun* explored = nullptr;       ///< in checked launches that are run in several orders
  std::atomic<bool> blocks_wait{false};  ///< true once blocks have waited for blocks
  RunningReport report;
  std::optional<ClusterQueue> queue;  ///< clusters that have not started

  /// True if the launch has failed or has been abandoned.
  bool stops() const {
    return failed.load(std::memory_order_relaxed) || launches_abandoned() ||
           (explored != nullptr && explored->is_abandoned);
  }
  /// Returns null if the order is that of launches that are not explored.
  Schedule* schedule() const { return explored != nullptr ? explored->schedule : nullptr; }

  std::uint64_t blocks() const { return std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z; }
  std::uint32_t cluster_blocks() const {
    return shape.cluster ? shape.cluster->x * shape.cluster->y * shape.cluster->z : 1;
  }
  std::uint64_t clusters() const { return blocks() / cluster_blocks(); }
  std::uint32_t threads() const { return shape.block.x * shape.block.y * shape.block.z; }
};

}  // namespace lynxpp::device::cpu
