// Options of a variant that the caller of the passes chooses.
#pragma once

#include <cstdint>
#include <set>

#include "ptx/analysis/launch_shape.h"
#include "ptx/passes/counting/refinements.h"

namespace lynxpp::ptx {

/// Selects the probes whose routines become functions (outline.h): routines of at least `instructions` PTX
/// instructions with at least `sites` sites. If `instructions` is 0, every site calls a function, even where
/// an inlined copy would run faster.
struct OutlineRule {
  std::uint32_t instructions = 64;
  std::uint32_t sites = 64;
  std::uint32_t sites_after_test =
      8;  ///< of routines that only call a function where a test fails (RoutineParts)
};

/// Options that the caller chooses for the variant.
struct VariantOptions {
  LaunchShape launch;  ///< the launches that the variant is for
  OutlineRule outline;
  std::set<Refinement> without;  ///< disabled counting refinements
  /// True if ptxas assembles the variant: ptxas contracts a multiplication and an addition without rounding
  /// modifiers into one fma. The cpu device does not.
  bool assembler_contracts = true;
  /// True if setmaxnreg fixes the kernel's register counts and they leave no room for counters: no inserted
  /// value is live across the program's code. Counters are in memory, and an elected lane adds to them.
  bool has_few_registers = false;
};

}  // namespace lynxpp::ptx
