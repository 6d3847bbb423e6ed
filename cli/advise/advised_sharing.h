// The output of `lynxpp advise --sharing`: which warps and blocks access the arrays of an observed launch.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "models/accesses.h"

namespace lynxpp::cli {

/// Returns tables of words and sectors, a heat map of each array, and findings.
std::string text_of_sharing(const models::Observation& observation);

/// Adds the members `sharing` and `findings` to `object`.
void add_sharing(const models::Observation& observation, nlohmann::ordered_json& object);

}  // namespace lynxpp::cli
