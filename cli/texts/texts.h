// Specifications that are no files: one-liners (-e) and standard input (-s -).
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace lynxpp::cli {

/// Entries of a list of specifications (instrumentors/catalogue.h): `specifications` with "-" replaced by
/// what is read from standard input, then `one_liners`, with what they use and do not declare declared. They
/// are named "stdin", "one-liner", "one-liner-2", …. Failure: standard input cannot be read or is wanted
/// twice, a one-liner uses what cannot be declared, or a text is too long for the environment.
Result<std::vector<std::string>> with_texts(const std::vector<std::string>& specifications,
                                            const std::vector<std::string>& one_liners);

/// The name of the one-liner at this position.
std::string one_liner_name(std::size_t index);

}  // namespace lynxpp::cli
