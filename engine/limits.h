// How much code a variant may get, and how it is kept small.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "ptx/passes/counting/refinements.h"
#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

struct Limits {
  ptx::OutlineRule outline;
  std::set<ptx::Refinement> without;  ///< refinements of counting to leave out
  /// PTX instructions of a variant, the program's and those that are added; 0: as many as it takes. Above it
  /// the variant is not made: the driver's compiler would run for minutes and take gigabytes inside the
  /// program.
  std::uint64_t instructions = 100'000;
};

/// The same, but every handler is copied to its places: what the driver's compiler refuses with calls it may
/// take so.
Limits without_functions(Limits limits);

/// The names in a list with commas between them.
std::set<std::string, std::less<>> names_in(std::string_view list);

/// The refinements in it; names of none are left alone.
std::set<ptx::Refinement> refinements_in(std::string_view list);

/// The defaults, changed by LYNXPP_VARIANT_LIMIT (a number: Limits::instructions), LYNXPP_WITHOUT (names:
/// Limits::without) and LYNXPP_OUTLINE, which is for tests: "all" makes every handler a function, "none"
/// makes no handler one. What is neither is left alone.
Limits limits_of_environment();

/// PTX instructions that the edits add; those that they replace are not taken off.
std::uint64_t added_instructions(const ptx::EditList& edits);

/// Failure: `original` and `added` are together more than the limit. Says by how much, and the variable's
/// name.
Status check_size(const Limits& limits, std::uint64_t original, std::uint64_t added);

}  // namespace lynxpp::engine
