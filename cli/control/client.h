// Speaks to a process that has liblynxpp.so in it (support/control_socket.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "support/result.h"

namespace lynxpp::cli {

/// The answer to one request, a JSON object. Failure: there is no such process, it is another user's, it does
/// not listen or does not answer, or it refuses and says why.
Result<nlohmann::json> ask(int process, const std::string& request);

}  // namespace lynxpp::cli
