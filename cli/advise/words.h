// Words and numbers in the tables of `lynxpp advise`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/cumapz/description.h"

namespace lynxpp::cli {

/// "0.1234"; of less than a hundredth "1.23e-03".
std::string term_text(double value);

/// "fetch", "store", "write" or "read".
const char* word_of(models::cumapz::Statement::Kind kind);

/// To standard output.
void print_text(const std::string& text);

/// To standard output; what is no UTF-8 is replaced.
void print_line(const nlohmann::ordered_json& object);

}  // namespace lynxpp::cli
