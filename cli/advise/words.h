// Words and numbers in the tables of `lynxpp advise`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/cumapz/description.h"
#include "models/machine.h"

namespace lynxpp::cli {

/// Returns "0.1234", or "1.23e-03" for values below 0.01.
std::string term_text(double value);

/// Returns "fetch", "store", "write" or "read".
const char* word_of(models::cumapz::Statement::Kind kind);

/// Returns a line that names the terms that `machine` does not advise and their correlations; empty without
/// such terms.
std::string withheld_terms(const models::Machine& machine);

/// Prints to standard output.
void print_text(const std::string& text);

/// Prints to standard output; replaces bytes that are not valid UTF-8.
void print_line(const nlohmann::ordered_json& object);

}  // namespace lynxpp::cli
