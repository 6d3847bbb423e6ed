// The site table of an instrumented kernel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "cod/site_table.h"
#include "ptx/ir/module.h"
#include "ptx/passes/reached.h"

namespace lynxpp::engine {

/// Describes every block and instruction of the instrumented functions, in the order of their ids.
cod::SiteTable describe_sites(const ptx::Module& module, const ptx::ReachedFunctions& reached);

/// Site values that group instructions by a common property (cod::first_of_groups). value() requires that
/// the functions are numbered.
class GroupedSites {
 public:
  GroupedSites(const ptx::Module& module, const ptx::ReachedFunctions& reached)
      : module_(module), reached_(reached) {}
  /// nullopt: `name` is not a grouping value.
  std::optional<std::uint32_t> value(std::string_view name, const ptx::Instruction& instruction);

 private:
  const ptx::Module& module_;
  const ptx::ReachedFunctions& reached_;
  std::optional<cod::SiteTable> table_;  ///< built on demand
  std::map<cod::SiteGrouping, std::vector<std::uint32_t>> first_;
};

}  // namespace lynxpp::engine
