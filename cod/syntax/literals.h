// Literals of the language: text ▶ value.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "cod/syntax/type.h"

namespace lynxpp::cod {

/// Returns the value and the first type of C's list that can represent it. Sets `problem`, and possibly
/// `hint`, if the text is not a valid constant.
std::pair<Type, std::uint64_t> integer_literal(const std::string& text, std::string& problem,
                                               std::string& hint);

/// Decimal or hexadecimal; float with the suffix f, else double.
std::pair<Type, double> floating_literal(const std::string& text, std::string& problem);

/// The text between the quotes, with C's escape sequences resolved.
std::string unquoted(const std::string& token, std::string& problem);

}  // namespace lynxpp::cod
