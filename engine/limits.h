// How much code a variant may get, and how it is kept small.
#pragma once

#include <cstdint>
#include <string>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

struct Limits {
  ptx::OutlineRule outline;
  /// InstrumentationUnit::most_flushed_fast
  std::size_t most_flushed_fast = 1000;
  /// PTX instructions of a variant, the program's and those that are added; 0: as many as it takes. Above it
  /// the variant is not made: the driver's compiler would run for minutes and take gigabytes inside the
  /// program.
  std::uint64_t instructions = 100'000;
};

/// The same, but every handler is copied to its places: what the driver's compiler refuses with calls it may
/// take so.
Limits without_functions(Limits limits);

/// The defaults, changed by LYNXPP_VARIANT_LIMIT (a number: Limits::instructions) and LYNXPP_OUTLINE, which
/// is for tests: "all" makes every handler a function and takes the shortest texts for counters of device
/// functions, "none" makes no handler one. What is neither is left alone.
Limits limits_of_environment();

/// PTX instructions that the edits add; of edits that are text an estimate, the lines that end in a semicolon
/// and declare nothing.
std::uint64_t added_instructions(const ptx::EditList& edits);

/// Failure: `original` and `added` are together more than the limit. Says by how much, and the variable's
/// name.
Status check_size(const Limits& limits, std::uint64_t original, std::uint64_t added);

}  // namespace lynxpp::engine
