#include "cod/storage.h"

#include <algorithm>
#include <array>
#include <limits>

namespace lynxpp::cod {
std::uint32_t size_of(ScalarType type) {
  static constexpr std::array<std::uint32_t, 10> sizes{1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
  return sizes[static_cast<std::size_t>(type)];
}

std::uint64_t value_of(const Dimension& dimension, const LaunchExtents& extents) {
  switch (dimension.extent) {
    case Extent::constant: return dimension.constant;
    case Extent::basic_blocks: return extents.basic_blocks;
    case Extent::instructions: return extents.instructions;
    case Extent::blocks: return extents.blocks;
    case Extent::warps: return extents.warps;
    case Extent::threads: return extents.threads;
    case Extent::sms: return extents.sms;
    case Extent::shared_words: return extents.shared_words;
    case Extent::device_words: return extents.device_words;
    case Extent::lynx: {
      // Upper bounds of the index formulas in the Lynx paper's specifications: one slot for each pair of
      // basic blocks and each thread, two for each thread block and warp, and its `(blockDim() * blockDim() +
      // blockDim()) >> 5` for 1024 threads.
      constexpr std::uint64_t largest_paper_warp = (1024 * 1024 + 1024) >> 5;
      return std::max({extents.basic_blocks * extents.basic_blocks + extents.threads, 2 * extents.warps,
                       2 * (largest_paper_warp + 1)});
    }
    case Extent::lanes: break;
  }
  return 32;
}

std::uint64_t element_count(const GlobalArray& array, const LaunchExtents& extents) {
  std::uint64_t count = 1;
  for (const Dimension& dimension : array.dimensions) {
    const std::uint64_t extent = value_of(dimension, extents);
    if (extent != 0 && count > std::numeric_limits<std::uint64_t>::max() / extent) return 0;
    count *= extent;
  }
  return count;
}

std::uint64_t initial_bytes(const GlobalArray& array, std::uint64_t bytes) {
  return array.fills ? bytes : std::min<std::uint64_t>(array.initial.size(), bytes);
}

void set_initial_values(const GlobalArray& array, std::span<std::byte> elements) {
  const std::uint64_t bytes = initial_bytes(array, elements.size());
  for (std::uint64_t i = 0; i < bytes; ++i) elements[i] = std::byte{array.initial[i % array.initial.size()]};
}

bool is_of_words(const GlobalArray& array) {
  return std::ranges::any_of(array.dimensions, [](const Dimension& each) {
    return each.extent == Extent::shared_words || each.extent == Extent::device_words;
  });
}

}  // namespace lynxpp::cod
