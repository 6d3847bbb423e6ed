// Results by instruction or basic block, with the names of the places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/record.h"
#include "report/totals.h"

namespace lynxpp::report {

/// What the array is indexed by, when it has that one extent alone.
std::optional<SiteKind> site_kind_of(const std::vector<std::string>& extent_names);

/// A place in a kernel, for a person to read. What is not known is empty or 0.
struct SiteLabel {
  std::uint64_t id = 0;  ///< instructionId() or basicBlockId()
  std::string function;  ///< demangled
  std::uint64_t block = 0;
  std::string opcode;  ///< of a basic block: empty
  std::uint32_t ptx_line = 0;
  std::string file;  ///< without its folders
  std::uint32_t line = 0;
  std::vector<std::string> inlined_at;  ///< calls that inlined the line's function, the innermost first
  std::string object;  ///< that the address points into: "argument 2 (float const*)", "tile"; empty: unknown

  std::string source() const;  ///< "vecadd.cu:12"
};

/// `sites` null, or `id` beyond it: a label with the id alone.
SiteLabel label_of(const SitesRecord* sites, SiteKind kind, std::uint64_t id);

/// Arrays of one kernel by one kind of site, row by row.
struct HotSites {
  SiteKind kind = SiteKind::basic_block;
  std::vector<const ArrayTotals*> arrays;
  /// those with the greatest values of the first array that has any, the greatest first
  std::vector<SiteLabel> rows;
  std::size_t further = 0;  ///< sites with a value that are not in `rows`
};

/// Of every kind of site that the kernel has arrays by. Arrays whose sites changed from launch to launch are
/// left out.
std::vector<HotSites> hot_sites_of(const KernelTotals& kernel, const SitesRecord* sites, std::size_t most);

}  // namespace lynxpp::report
