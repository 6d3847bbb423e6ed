// Implements device::Device with the CUDA driver. One object per CUDA context.
#pragma once

#include <functional>
#include <memory>

#include "device/cuda/driver.h"
#include "device/device.h"

namespace lynxpp::device::cuda {

/// Returns the process's live allocations, which the driver cannot list; never null. Thread safe.
using AllocationSource = std::function<std::shared_ptr<const LiveAllocations>()>;

/// Returns the device of the calling thread's current context. `driver` must outlive it. Without `source` no
/// allocations are known. `models_times` is DeviceInfo::models_times. Fails if no context is current.
Result<std::unique_ptr<Device>> make_device(const Driver& driver, AllocationSource source = {},
                                            bool models_times = false);

}  // namespace lynxpp::device::cuda
