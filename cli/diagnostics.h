// How the commands talk on stderr.
#pragma once

#include <string>
#include <string_view>

#include "support/diagnostic.h"
#include "support/result.h"

namespace lynxpp::cli {

/// Diagnostics without a place begin with "lynxpp: ". `source` is the text of the file they name, for the
/// caret.
void print(const Diagnostics& diagnostics, std::string_view source = {});
void print_error(std::string message, std::string hint = {});
void print_warning(std::string message, std::string hint = {});

/// The failure of a command whose program ran, with nothing to measure: a warning, as nothing is wrong.
Failure nothing_measured(std::string message, std::string hint = {});

/// Prints why a command has failed. Returns the exit code for it.
int failed(const Failure& failure);

/// Whether any of them is an error.
bool has_error(const Diagnostics& diagnostics);

}  // namespace lynxpp::cli
