// Declarations for one-liners, derived from how undeclared names are used.
#pragma once

#include <string>

#include "support/result.h"

namespace lynxpp::cod {

/// Returns declarations, on one line, of the names that `source` modifies but does not declare. Empty if
/// nothing is missing or the text has syntax errors, which compile() reports. Append them after the text on a
/// line of their own, so that source locations stay valid.
///   a[basicBlockId()]++      an array with the extent that matches the index
///   a[x]++                   a map; all indices but the last must match extents
///   a++, a += x              one element
///   record(&a, x)            a histogram
///   append(&a, x, y)         a trace
/// Elements are `unsigned long`; `long` if something is subtracted, `double` if a floating-point constant or
/// conversion is added. Fails if a use does not determine the declaration; the error has its location in
/// `name`.
Result<std::string> declared_by_use(const std::string& source, const std::string& name);

}  // namespace lynxpp::cod
