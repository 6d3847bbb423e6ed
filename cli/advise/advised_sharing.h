// What `lynxpp advise --sharing` shows: who visits the arrays of an observed launch.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "models/accesses.h"

namespace lynxpp::cli {

/// Tables of words and sectors, a heat map of each array, and findings.
std::string text_of_sharing(const models::Observation& observation);

/// Adds the members `sharing` and `findings`.
void add_sharing(const models::Observation& observation, nlohmann::ordered_json& object);

}  // namespace lynxpp::cli
