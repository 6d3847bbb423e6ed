// Limits on the code size of a variant.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "ptx/emitter/emitter.h"
#include "ptx/passes/counting/refinements.h"
#include "ptx/passes/options.h"
#include "support/result.h"

namespace lynxpp::engine {

struct Limits {
  ptx::OutlineRule outline;
  std::set<ptx::Refinement> without;  ///< counting refinements to disable
  /// The maximum number of PTX instructions of a variant, including the program's own; 0: unlimited. A larger
  /// variant is rejected: the driver's compiler would run for minutes and use gigabytes of memory inside the
  /// program.
  std::uint64_t instructions = 100'000;
};

/// Returns the same limits with every handler copied to its sites. The driver's compiler may accept this when
/// it rejects calls.
Limits without_functions(Limits limits);

/// Returns the names in a comma-separated list.
std::set<std::string, std::less<>> names_in(std::string_view list);

/// Returns the refinements in the list; unknown names are ignored.
std::set<ptx::Refinement> refinements_in(std::string_view list);

/// Returns the defaults, overridden by LYNXPP_VARIANT_LIMIT (a number: Limits::instructions), LYNXPP_WITHOUT
/// (names: Limits::without) and LYNXPP_OUTLINE, which is for tests: "all" outlines every handler, "none"
/// outlines no handler. Other values are ignored.
Limits limits_of_environment();

/// Returns the number of PTX instructions that the edits add; instructions that they replace are not
/// subtracted.
std::uint64_t added_instructions(const ptx::EditList& edits);

/// Fails if `original` plus `added` exceeds the limit. The message contains the numbers and the variable's
/// name.
Status check_size(const Limits& limits, std::uint64_t original, std::uint64_t added);

}  // namespace lynxpp::engine
