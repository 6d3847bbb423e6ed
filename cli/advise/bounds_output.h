// The output of `lynxpp advise` about the resources that bound a kernel.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/cumapz/bounds.h"
#include "models/machine.h"

namespace lynxpp::cli {

/// Returns for example "12.3".
std::string microseconds_text(const models::cumapz::Bounds& bounds, const models::Machine& machine);

/// Returns {"microseconds": …, "by": "l1", "busy": {"memory": …, …}}; busy times are in microseconds.
nlohmann::ordered_json bounds_json(const models::cumapz::Bounds& bounds, const models::Machine& machine);

}  // namespace lynxpp::cli
