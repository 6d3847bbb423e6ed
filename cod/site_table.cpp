#include "cod/site_table.h"

#include <tuple>

namespace lynxpp::cod {

std::vector<std::uint32_t> first_of_groups(const SiteTable& sites, SiteGrouping what) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string_view>, std::uint32_t> first;
  std::vector<std::uint32_t> numbers;
  numbers.reserve(sites.instructions.size());
  for (const SiteTable::Instruction& each : sites.instructions) {
    const auto own = static_cast<std::uint32_t>(numbers.size());
    const auto first_of = [&](std::uint32_t a, std::uint32_t b, std::string_view text) {
      numbers.push_back(first.try_emplace({a, b, text}, own).first->second);
    };
    switch (what) {
      case SiteGrouping::source_line: first_of(each.file, each.line, {}); break;
      case SiteGrouping::source_file: first_of(each.file, 0, {}); break;
      case SiteGrouping::opcode: first_of(each.opcode, 0, {}); break;
      case SiteGrouping::call_target: {
        const auto callee = sites.callees.find(own);
        callee == sites.callees.end() ? numbers.push_back(own) : first_of(0, 0, callee->second);
        break;
      }
    }
  }
  return numbers;
}

}  // namespace lynxpp::cod
