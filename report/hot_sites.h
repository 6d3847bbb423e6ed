// Results by instruction or basic block, with descriptions of the sites.
#pragma once

#include <cstddef>
#include <vector>

#include "report/record.h"
#include "report/sites.h"
#include "report/totals.h"

namespace lynxpp::report {

/// Arrays of one kernel over one kind of site, by row.
struct HotSites {
  SiteKind kind = SiteKind::basic_block;
  std::vector<const ArrayTotals*> arrays;
  /// sites with the largest values of the first array that has nonzero values, largest first
  std::vector<SiteLabel> rows;
  std::size_t further = 0;  ///< sites with a value that are not in `rows`
};

/// Returns the hot sites for every kind of site that the kernel has arrays over. Arrays whose sites changed
/// from launch to launch are left out.
std::vector<HotSites> hot_sites_of(const KernelTotals& kernel, const SitesRecord* sites, std::size_t most);

}  // namespace lynxpp::report
