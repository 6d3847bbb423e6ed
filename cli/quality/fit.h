// Weights fitted to the user's device: where they are kept, what they are fitted to, how they are told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/quality/quality_inputs.h"
#include "models/proplusplus/fit.h"
#include "support/result.h"

namespace lynxpp::cli::rating {

/// What was fitted to the device for good; nullopt: nothing. Failure: the file is not understood.
Result<std::optional<models::proplusplus::Weights>> stored_weights(const std::string& device);

/// The ranges of two names: implementations of what the outer one names.
std::vector<models::proplusplus::Implementation> implementations_of(const Inputs& inputs);

/// Fits weights and keeps them in `file`, or, when that is empty, where stored_weights() finds them.
struct KeptFit {
  models::proplusplus::WeightFit fit;
  models::proplusplus::Weights weights;
  std::string file;
};
Result<KeptFit> fit_and_keep(const Inputs& inputs, const std::string& file);

/// The criteria's weights with their errors, and how well they tell which implementation is the faster.
std::string fit_text(const KeptFit& kept);

}  // namespace lynxpp::cli::rating
