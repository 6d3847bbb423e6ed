// Prints the criteria of Pro++ as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "cli/quality/quality_inputs.h"
#include "models/proplusplus/weights.h"

namespace lynxpp::cli::rating {

/// Returns the table and notes on the origin of the values; with `inputs` also every raw input of Table I.
std::string to_text(const Inputs& inputs, const models::proplusplus::Weights& weights, bool shows_inputs);

/// Returns one object and a newline (docs/schema/quality.schema.json).
std::string to_json(const Inputs& inputs, const models::proplusplus::Weights& weights);

}  // namespace lynxpp::cli::rating
