// The 0/1 knapsack problem, exactly.
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

/// Positions, ascending, of the items with the greatest sum of values whose weights add up to at most
/// `capacity`; of equal sums the one with the least weight, then with earlier items. Items without a value
/// are left out. Takes memory of items × capacity / (8 × greatest common divisor of the weights) bytes.
std::vector<std::size_t> fill_knapsack(std::span<const KnapsackItem> items, std::uint64_t capacity);

}  // namespace lynxpp::models
