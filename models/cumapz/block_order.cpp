#include "models/cumapz/block_order.h"

#include <algorithm>

namespace lynxpp::models::cumapz {
namespace {

constexpr std::int64_t most_ordered_blocks = std::int64_t{1} << 24;

std::string shown(std::int64_t x, std::int64_t y, std::int64_t z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

}  // namespace

BlockOrder::BlockOrder(const Description& description, const Variant& variant)
    : description_(description), variant_(variant) {}

std::array<std::int64_t, 3> BlockOrder::block(std::int64_t linear) const {
  const std::array<Column, 3> one = blocks(linear, 1);
  return {one[0][0], one[1][0], one[2][0]};
}

std::array<Column, 3> BlockOrder::blocks(std::int64_t first, std::int64_t count) const {
  const auto size = static_cast<std::size_t>(count);
  const auto& [width, height, depth] = variant_.grid;
  std::array<Column, 3> result{Column(size), Column(size), Column(size)};
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t linear = first + static_cast<std::int64_t>(i);
    const std::int64_t in_plane = linear % (width * height);
    result[0][i] = in_plane % width;
    result[1][i] = in_plane / width;
    result[2][i] = linear / (width * height);
    if (!variant_.is_diagonal) continue;
    // On a square grid this is x' = (x + y) % width, y' = x.
    result[1][i] = in_plane % height;
    result[0][i] = (in_plane / height + result[1][i]) % width;
  }
  if (description_.order[0].empty()) return result;
  Frame frame(description_.slots, Column(size, 0));
  for (std::size_t i = 0; i < description_.constants.size(); ++i)
    std::ranges::fill(frame[description_.constants[i].slot], variant_.constants[i]);
  for (unsigned d = 0; d < 3; ++d) {
    std::ranges::fill(frame[block_size + d], variant_.block[d]);
    std::ranges::fill(frame[grid_size + d], variant_.grid[d]);
    frame[block_index + d] = result[d];
  }
  for (unsigned d = 0; d < 3; ++d) {
    if (description_.order[d].empty()) continue;
    // Division by zero yields -1, which is outside every grid.
    result[d] = evaluate(description_.order[d], frame, Mask(size, 1)).value_or(Column(size, -1));
  }
  return result;
}

Status check_order(const Description& description, const Variant& variant) {
  if (description.order[0].empty()) return success();
  const Position& at = description.order[0].position;
  const SourceLocation place{description.file, at.line, at.column, at.length};
  const std::int64_t blocks = variant.blocks();
  if (blocks > most_ordered_blocks)
    return failure_at(place,
                      "the order of " + std::to_string(blocks) + " thread blocks takes too long to check",
                      "a smaller size gives the same terms: -D NAME=VALUE");
  const BlockOrder order(description, variant);
  const auto& [width, height, depth] = variant.grid;
  std::vector<bool> is_taken(static_cast<std::size_t>(blocks));
  constexpr std::int64_t step = 4096;
  for (std::int64_t first = 0; first < blocks; first += step) {
    const std::array<Column, 3> column = order.blocks(first, std::min(step, blocks - first));
    for (std::size_t i = 0; i < column[0].size(); ++i) {
      const std::int64_t x = column[0][i], y = column[1][i], z = column[2][i];
      const std::int64_t linear = first + static_cast<std::int64_t>(i);
      const auto from = [&] {
        return shown(linear % width, linear / width % height, linear / width / height);
      };
      if (x < 0 || x >= width || y < 0 || y >= height || z < 0 || z >= depth)
        return failure_at(
            place, "block " + from() + " becomes " + shown(x, y, z) + ", which the grid does not have", "");
      auto taken = is_taken[static_cast<std::size_t>((z * height + y) * width + x)];
      if (taken)
        return failure_at(place, "block " + from() + " becomes " + shown(x, y, z) + ", as does another block",
                          "an order must map every block to a different one");
      taken = true;
    }
  }
  return success();
}

}  // namespace lynxpp::models::cumapz
