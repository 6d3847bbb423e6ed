// Writes one file of records per device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "report/record.h"

namespace lynxpp::report {

/// `open` creates the sink of the device with an ordinal; null: its records are dropped. Records without a
/// device go to the first device seen, or to device 0.
std::unique_ptr<Sink> make_device_files(std::function<std::unique_ptr<Sink>(std::uint64_t)> open);

}  // namespace lynxpp::report
