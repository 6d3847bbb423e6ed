// Splits a routine that usually has nothing to do into its test and the rest, so that only the test is copied
// to each site and the rest becomes a function (outline.h).
//
//   setp.lt.f32 %p1, %f1, 0f7F800000;
//   @%p1 bra END;                         the test ends here
//   ...                                   the rest
//   END:
#pragma once

#include <optional>
#include <vector>

#include "ptx/passes/probes/code_template.h"

namespace lynxpp::ptx {

/// A routine that first tests whether there is anything to do, in two parts:
///   if (kind == NORMAL) return;         test
///   found[kind] += 1;                   rest
struct RoutineParts {
  CodeTemplate test;  ///< without the branch to the end
  CodeTemplate rest;
  /// Registers that the test sets, invariants of both parts in this order: the predicate of the branch, then
  /// those that the rest reads.
  std::vector<RegisterType> passed;
  bool ends_if = true;  ///< the value of the predicate for which nothing is left to do
};

/// Returns the parts of a routine whose first branch is conditional and goes to its end. nullopt: there is no
/// such branch, or the rest reads a predicate of the test.
std::optional<RoutineParts> split_at_test(const CodeTemplate& whole);

}  // namespace lynxpp::ptx
