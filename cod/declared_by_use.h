// One-liners: what they change without having declared it.
#pragma once

#include <string>

#include "support/result.h"

namespace lynxpp::cod {

/// Declarations, on one line, of what `source` changes and does not declare; empty when there is nothing to
/// declare or the text has syntax errors, which compile() tells. They belong behind the text, on a line of
/// their own, so that places in the text stay right.
///   a[basicBlockId()]++      an array with the extent that belongs to the index
///   a[x]++                   a map; further indices before the last must belong to extents
///   a++, a += x              one element
///   record(&a, x)            a histogram
///   append(&a, x, y)         a trace
/// Elements are `unsigned long`; `long` where something is taken away, `double` where a floating-point
/// constant
/// or conversion is added. Failure: an array that cannot be declared by its use, with its place in `name`.
Result<std::string> declared_by_use(const std::string& source, const std::string& name);

}  // namespace lynxpp::cod
