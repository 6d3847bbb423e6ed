// The order in which thread blocks are processed.
#pragma once

#include <array>
#include <cstdint>

#include "models/cumapz/description.h"

namespace lynxpp::models::cumapz {

/// The description's order, the diagonal one if the variant has it, or that of the launch.
class BlockOrder {
 public:
  BlockOrder(const Description& description, const Variant& variant);
  /// Returns blockIdx for the block that the device starts as number `linear`, x fastest.
  std::array<std::int64_t, 3> block(std::int64_t linear) const;
  /// The same for `count` blocks from `first` on: a column for each dimension.
  std::array<Column, 3> blocks(std::int64_t first, std::int64_t count) const;

 private:
  const Description& description_;
  const Variant& variant_;
};

/// Checks that the order is a permutation of the grid's blocks, so that the analysis covers all of them.
/// Fails with a location, also for a grid of more than 16,777,216 blocks, which would take too long.
Status check_order(const Description& description, const Variant& variant);

}  // namespace lynxpp::models::cumapz
