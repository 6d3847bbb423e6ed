// Compares elements of arrays and rows of maps in two files, paired by key.
#pragma once

#include "cli/compare/changes.h"

namespace lynxpp::cli {

/// A kernel in one file and its table of sites; null if the file has none.
struct KernelSide {
  const report::KernelTotals& kernel;
  const report::SitesRecord* sites;
};

/// Adds to `change` the differences among the elements of its arrays and the rows of its maps, and what
/// cannot be compared.
void compare_elements(const KernelSide& a, const KernelSide& b, KernelChange& change);

}  // namespace lynxpp::cli
