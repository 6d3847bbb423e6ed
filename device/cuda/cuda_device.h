// device::Device on the real driver. One per CUDA context.
#pragma once

#include <functional>
#include <memory>

#include "device/cuda/driver.h"
#include "device/device.h"

namespace lynxpp::device::cuda {

/// The process's live allocations, never null; thread safe. The driver does not list them.
using AllocationSource = std::function<std::shared_ptr<const LiveAllocations>()>;

/// The device of the context that is current on the calling thread. `driver` must outlive it. Without
/// `source` no allocations are known. Failure: no context is current.
Result<std::unique_ptr<Device>> make_device(const Driver& driver, AllocationSource source = {});

}  // namespace lynxpp::device::cuda
