// The time that moving a kernel's bytes takes: a kernel of ours only reads and writes the same number, each
// once, in memory of ours. No change of the program's kernel that keeps the bytes it needs is faster by much.
#pragma once

#include <vector>

#include "device/device.h"
#include "ptx/perturb/memory_regions.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Launches it several times on the launch's stream, waits, and returns the times in ms. Unless times are
/// modelled, the first one is a warm-up. Fails without memory for the bytes, and if the device is busy for
/// long. Precondition: the stream is not being captured.
Result<std::vector<double>> times_of_moving(device::Device& device, const device::Launch& launch,
                                            const ptx::BytesMoved& bytes);

}  // namespace lynxpp::interposer
