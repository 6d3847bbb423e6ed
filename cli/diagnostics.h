// Prints diagnostics on stderr.
#pragma once

#include <string>
#include <string_view>

#include "support/diagnostic.h"
#include "support/result.h"

namespace lynxpp::cli {

/// Diagnostics without a location begin with "lynxpp: ". `source` is the text of the file that they refer to,
/// for the caret line.
void print(const Diagnostics& diagnostics, std::string_view source = {});
void print_error(std::string message, std::string hint = {});
void print_warning(std::string message, std::string hint = {});

/// Prints the faults of a file with `records` records. Without any, only the first: the file is of another
/// kind.
void print_reading(const std::string& path, std::size_t records, const Diagnostics& faults,
                   const Status& read = success());

/// Returns the failure of a command whose program ran but had nothing to measure: a warning, not an error.
Failure nothing_measured(std::string message, std::string hint = {});

/// Prints why a command failed. Returns its exit code.
int failed(const Failure& failure);

/// True if any of them is an error.
bool has_error(const Diagnostics& diagnostics);

}  // namespace lynxpp::cli
