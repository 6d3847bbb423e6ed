// Words and numbers in the tables of `lynxpp advise`.
#pragma once

#include <string>

#include "models/cumapz/description.h"

namespace lynxpp::cli {

/// "0.1234"; of less than a hundredth "1.23e-03".
std::string term_text(double value);

/// "fetch", "store", "write" or "read".
const char* word_of(models::cumapz::Statement::Kind kind);

/// To standard output.
void print_text(const std::string& text);

}  // namespace lynxpp::cli
