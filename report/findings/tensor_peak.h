// Peak rates of tensor cores, from the data sheets of GPUs.
#pragma once

#include <optional>
#include <string_view>

#include "report/findings/facts.h"

namespace lynxpp::report {

/// Returns the operations per second that the device's tensor cores can execute on dense matrices with
/// factors of this type ("f16", as in `instruction_count.tensor_operations_f16`) at its maximum clock:
/// estimated. Returns nullopt if no data sheet gives the rate of this device, identified by name, or if the
/// driver did not report its multiprocessors or clock.
std::optional<double> tensor_peak(const DeviceRecord& device, std::string_view type);

/// Sets, from the results of `instruction_count`,
///   tensor.operations   executed by tensor cores, of all types
///   tensor.share        of the device's peak during `seconds`, estimated: a lower bound, because the
///                       instrumented kernel takes longer and some instructions have an unknown shape
/// `device` is null, or `seconds` 0, if unknown; then the share is not set, nor if a type's peak is unknown.
void add_tensor_facts(const DeviceRecord* device, double seconds, Facts& facts);

}  // namespace lynxpp::report
