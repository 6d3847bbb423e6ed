// A file of records for each device.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "report/record.h"

namespace lynxpp::report {

/// `open` makes the sink for the device of an ordinal; null: its records are dropped. What belongs to no
/// device goes to the one that came first, or to device 0.
std::unique_ptr<Sink> make_device_files(std::function<std::unique_ptr<Sink>(std::uint64_t)> open);

}  // namespace lynxpp::report
