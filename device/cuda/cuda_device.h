// device::Device on the real driver. One per CUDA context.
#pragma once

#include <memory>

#include "device/cuda/driver.h"
#include "device/device.h"

namespace lynxpp::device::cuda {

/// The device of the context that is current on the calling thread. `driver` must outlive it. Failure: no
/// context is current.
Result<std::unique_ptr<Device>> make_device(const Driver& driver);

}  // namespace lynxpp::device::cuda
