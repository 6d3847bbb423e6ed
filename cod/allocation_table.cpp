#include "cod/allocation_table.h"

#include <algorithm>

namespace lynxpp::cod {

std::vector<std::uint64_t> allocation_table(std::vector<AllocatedRange> ranges) {
  std::ranges::sort(ranges, {}, &AllocatedRange::begin);
  std::vector<std::uint64_t> table{ranges.size()};
  for (const AllocatedRange& each : ranges)
    table.insert(table.end(), {each.begin, each.begin + each.bytes, each.id});
  return table;
}

}  // namespace lynxpp::cod
