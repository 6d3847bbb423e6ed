// Kinds of sites that arrays are indexed by, and descriptions of sites.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/record.h"

namespace lynxpp::report {

/// The index kinds of arrays that the report can describe.
enum class SiteKind { instruction, basic_block };

/// Returns the array's index kind if it has exactly that one extent.
std::optional<SiteKind> site_kind_of(const std::vector<std::string>& extent_names);

/// A description of a site. Unknown members are empty or 0.
struct SiteLabel {
  std::uint64_t id = 0;  ///< instructionId() or basicBlockId()
  std::string function;  ///< demangled
  std::uint64_t block = 0;
  std::string opcode;  ///< empty for a basic block
  std::uint32_t ptx_line = 0;
  std::string file;  ///< without folders
  std::uint32_t line = 0;
  std::vector<std::string> inlined_at;  ///< calls that inlined the line's function, innermost first
  std::string object;  ///< that the address points into: "argument 2 (float const*)", "tile"; empty: unknown

  std::string source() const;  ///< Returns "vecadd.cu:12".
};

/// If `sites` is null or `id` is out of range, the label has the id only.
SiteLabel label_of(const SitesRecord* sites, SiteKind kind, std::uint64_t id);

}  // namespace lynxpp::report
