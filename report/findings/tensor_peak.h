// Peak rates of tensor cores, from the data sheets of GPUs.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "report/record.h"

namespace lynxpp::report {

/// The types of factors that `instruction_count` distinguishes, as in `tensor_operations_f16`.
std::span<const std::string_view> tensor_types();

/// Returns the operations per second that the device's tensor cores can execute on dense matrices with
/// factors of this type at its maximum clock: estimated. Returns nullopt if no data sheet gives the rate of
/// this device, identified by name, or if the driver did not report its multiprocessors or clock.
std::optional<double> tensor_peak(const DeviceRecord& device, std::string_view type);

}  // namespace lynxpp::report
