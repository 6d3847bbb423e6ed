// The criteria of Pro++ for a person and for a program.
#pragma once

#include <string>
#include <vector>

#include "cli/quality/quality_inputs.h"
#include "models/proplusplus/weights.h"

namespace lynxpp::cli::rating {

/// The table, and below it where the numbers come from; with `inputs` every raw input of Table I too.
std::string to_text(const Inputs& inputs, const models::proplusplus::Weights& weights, bool shows_inputs);

/// One object and a line end (docs/schema/quality.schema.json).
std::string to_json(const Inputs& inputs, const models::proplusplus::Weights& weights);

}  // namespace lynxpp::cli::rating
