// Creates readbacks of launches.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "device/cuda/driver.h"
#include "device/cuda/pool.h"
#include "device/device.h"

namespace lynxpp::device::cuda {

/// Events around a launch; null if not measured.
struct LaunchEvents {
  CUevent cleared_from = nullptr;  ///< before its buffers are cleared
  CUevent begin = nullptr;
  CUevent end = nullptr;
};

/// Resources that a launch uses until it is over.
struct LaunchMemory {
  Pool::Block device;  ///< address 0 if another object owns it
  Pool::Block pinned;
  std::size_t bytes = 0;   ///< to copy
  CUevent done = nullptr;  ///< recorded after the copy; null if the end cannot be observed
};

/// Returns the readback of a launch; its wait() fails with `copied` if that is a failure. When destroyed, it
/// waits for the launch and returns memory and events to `pool`; if the end cannot be observed, the device
/// may still write the memory, so it is abandoned.
std::unique_ptr<Readback> make_readback(const Driver& driver, Pool& pool, const LaunchMemory& memory,
                                        const LaunchEvents& timing, Status copied = success());

/// Returns the timing of a launch that has no buffers.
std::unique_ptr<Readback> make_timed_launch(const Driver& driver, Pool& pool, const LaunchEvents& timing);

}  // namespace lynxpp::device::cuda
