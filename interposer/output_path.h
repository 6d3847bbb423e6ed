// LYNXPP_OUTPUT names a file of its own for every process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace lynxpp::interposer {

/// The path with %p, %h, %r and %d replaced by the process, the host, the rank of an MPI program (0 where
/// there is none) and the device's ordinal; %% is a percent sign. Failure: another letter stands behind %.
/// `variable` is who says so.
Result<std::string> expand_output_path(std::string_view pattern, std::uint64_t device = 0,
                                       std::string_view variable = "LYNXPP_OUTPUT");
/// Whether there is a file for each device.
bool names_device(std::string_view pattern);

}  // namespace lynxpp::interposer
