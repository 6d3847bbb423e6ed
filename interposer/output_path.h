// Expands LYNXPP_OUTPUT, which names a separate file for each process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace lynxpp::interposer {

/// Returns the path with %p, %h, %r and %d replaced by the process id, the host name, the rank of an MPI
/// program (0 for other programs) and the device's ordinal; %% is a percent sign. Fails if % is followed by
/// any other letter. `variable` is named in the message.
Result<std::string> expand_output_path(std::string_view pattern, std::uint64_t device = 0,
                                       std::string_view variable = "LYNXPP_OUTPUT");
/// True if the pattern names a separate file for each device.
bool names_device(std::string_view pattern);

}  // namespace lynxpp::interposer
