// Weights fitted to the user's device: where they are stored, how they are fitted and printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/quality/quality_inputs.h"
#include "models/proplusplus/fit.h"
#include "support/result.h"

namespace lynxpp::cli::rating {

/// Returns the weights stored for the device; nullopt if it has none. Fails if the file is invalid.
Result<std::optional<models::proplusplus::Weights>> stored_weights(const std::string& device);

/// Returns the ranges with two-part names: implementations of the primitive that the outer name denotes.
std::vector<models::proplusplus::Implementation> implementations_of(const Inputs& inputs);

/// Fits weights and stores them in `file` or, if it is empty, where stored_weights() finds them.
struct KeptFit {
  models::proplusplus::WeightFit fit;
  models::proplusplus::Weights weights;
  std::string file;
};
Result<KeptFit> fit_and_keep(const Inputs& inputs, const std::string& file);

/// Returns the criteria's weights with their errors, and how well they predict the faster implementation.
std::string fit_text(const KeptFit& kept);

}  // namespace lynxpp::cli::rating
