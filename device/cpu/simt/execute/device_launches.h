// Launches that a grid's threads make (CUDA dynamic parallelism): a thread requests a buffer for the
// parameters of a kernel, fills it and launches. Grids that a grid has launched run after it, in the order of
// their launches, each with those that it launches itself; those in the stream for tail launches run last.
//
//   __cudaCDP2GetParameterBufferV2 ▶ request() ▶ the thread stores parameters
//   __cudaCDP2LaunchDeviceV2 ▶ launch()
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/simt/execute/launch_shape.h"
#include "device/cpu/simt/execute/memory/global_memory.h"

namespace lynxpp::device::cpu {

struct DeviceLaunch {
  std::string kernel;
  LaunchShape shape;
  std::vector<std::byte> parameters;
};

/// Threads of a grid call request() and launch() concurrently; next() is called between grids.
class DeviceLaunches {
 public:
  struct Kernel {
    std::string name;
    std::uint32_t parameter_bytes = 0;
  };
  /// Returns the kernel with this address in device code; nullopt if it is not a kernel's.
  using FindKernel = std::function<std::optional<Kernel>(std::uint64_t token)>;

  DeviceLaunches(GlobalMemory& memory, FindKernel find) : memory_(memory), find_(std::move(find)) {}
  ~DeviceLaunches();
  DeviceLaunches(const DeviceLaunches&) = delete;
  DeviceLaunches& operator=(const DeviceLaunches&) = delete;

  /// Returns the address of the parameters of a launch; 0 if the launch is not valid or memory is exhausted.
  std::uint64_t request(std::uint64_t token, const LaunchShape& shape);

  /// Launches with the parameters that request() has returned. Returns a cudaError_t.
  std::uint64_t launch(std::uint64_t parameters, std::uint64_t stream);

  /// Returns the grid to run next; nullopt after the last one.
  std::optional<DeviceLaunch> next();

 private:
  struct Requested {
    Kernel kernel;
    LaunchShape shape;
  };

  GlobalMemory& memory_;
  const FindKernel find_;
  std::mutex mutex_;
  std::map<std::uint64_t, Requested> requested_;  ///< by the address of the parameters
  std::deque<DeviceLaunch> launched_;             ///< by the grid that ran last
  std::deque<DeviceLaunch> tail_launched_;        ///< same, in the stream for tail launches
  std::deque<DeviceLaunch> waiting_;
};

}  // namespace lynxpp::device::cpu
