// Talks to a process that has loaded liblynxpp.so (support/control_socket.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "support/result.h"

namespace lynxpp::cli {

/// Sends a request and returns the answer, a JSON object. Fails if the process does not exist, belongs to
/// another user, does not listen or answer, or refuses the request; then the message has its reason.
Result<nlohmann::json> ask(int process, const std::string& request);

}  // namespace lynxpp::cli
