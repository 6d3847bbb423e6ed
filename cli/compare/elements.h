// Elements of arrays and rows of maps in two files, paired by what they stand for.
#pragma once

#include <string>
#include <vector>

#include "cli/compare/comparison.h"

namespace lynxpp::cli {

/// The kernel in one file with the key to its places; null: there is none.
struct KernelSide {
  const report::KernelTotals& kernel;
  const report::SitesRecord* sites;
};

/// Adds to `change` what changed among the elements of its arrays and the rows of its maps, and what cannot
/// be compared.
void compare_elements(const KernelSide& a, const KernelSide& b, KernelChange& change);

}  // namespace lynxpp::cli
