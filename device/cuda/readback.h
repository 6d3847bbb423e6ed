// Results on their way from the device.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "device/cuda/driver.h"
#include "device/cuda/pool.h"
#include "device/device.h"

namespace lynxpp::device::cuda {

/// Null: not measured.
struct LaunchEvents {
  CUevent cleared_from = nullptr;  ///< before its buffers are cleared
  CUevent begin = nullptr;
  CUevent end = nullptr;
};

/// What a launch uses until it is through.
struct LaunchMemory {
  Pool::Block device;  ///< address 0: it is somebody else's
  Pool::Block pinned;
  std::size_t bytes = 0;   ///< that are copied
  CUevent done = nullptr;  ///< recorded behind the copy; null when nobody can know when it is over
};

/// Fails with `copied` when that is no success. Gives memory and events back to `pool` when it goes, having
/// waited, and only if the driver says that the launch is over: as long as nobody knows, the device may still
/// write there.
std::unique_ptr<Readback> make_readback(const Driver& driver, Pool& pool, const LaunchMemory& memory,
                                        const LaunchEvents& timing, Status copied = success());

/// The time of a launch that has no buffers.
std::unique_ptr<Readback> make_timed_launch(const Driver& driver, Pool& pool, const LaunchEvents& timing);

}  // namespace lynxpp::device::cuda
