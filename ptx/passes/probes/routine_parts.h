// Splits a routine that usually has nothing to do into its test and the rest, so that only the test is copied
// to each site and the rest becomes a function (outline.h).
//
//   setp.lt.f32 %p1, %f1, 0f7F800000;
//   @%p1 bra END;                         the test ends here
//   ...                                   the rest
//   END:
#pragma once

#include <optional>

#include "ptx/passes/probes/routine.h"

namespace lynxpp::ptx {

/// Returns the parts of a routine whose first branch is conditional and goes to its end. nullopt: there is no
/// such branch, or the rest reads a predicate of the test.
std::optional<RoutineParts> split_at_test(const CodeTemplate& whole);

}  // namespace lynxpp::ptx
