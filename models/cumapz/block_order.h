// The order in which thread blocks take their work.
#pragma once

#include <array>
#include <cstdint>

#include "models/cumapz/description.h"

namespace lynxpp::models::cumapz {

/// The description's order, the diagonal one where the variant has it, or that of the launch.
class BlockOrder {
 public:
  BlockOrder(const Description& description, const Variant& variant);
  /// What blockIdx is for the block that the device begins as number `linear`, x fastest.
  std::array<std::int64_t, 3> block(std::int64_t linear) const;
  /// The same of `count` blocks from `first` on: a column for each dimension.
  std::array<Column, 3> blocks(std::int64_t first, std::int64_t count) const;

 private:
  const Description& description_;
  const Variant& variant_;
};

/// Whether every block becomes another one of the grid: the analysis then is that of all blocks. Fails with a
/// place, also on a grid of more than 16,777,216 blocks, which would take long.
Status check_order(const Description& description, const Variant& variant);

}  // namespace lynxpp::models::cumapz
