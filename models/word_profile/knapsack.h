// Exact solution of the 0/1 knapsack problem.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lynxpp::models {

struct KnapsackItem {
  std::uint64_t weight = 0;
  std::uint64_t value = 0;
};

/// Returns the indices, ascending, of the items with the greatest sum of values whose weights sum to at most
/// `capacity`; among equal sums the one with the least weight, then with earlier items. Skips items without a
/// value. Uses items × capacity / (8 × greatest common divisor of the weights) bytes of memory.
std::vector<std::size_t> fill_knapsack(std::span<const KnapsackItem> items, std::uint64_t capacity);

}  // namespace lynxpp::models
