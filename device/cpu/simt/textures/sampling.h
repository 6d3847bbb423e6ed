// Texture sampling.
//
// Linear filtering rounds the position to the nearest 1/256 of an element, ties upwards, and derives the
// weights from it: they have 8 fractional bits, and a weight of 1 is possible. The weighted elements are
// summed in double precision, in the order x, y, z and level, and the sum is rounded once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// The coordinates of a texture fetch.
struct Coordinates {
  unsigned dimensions = 2;    ///< number of coordinates used; 3 for a cube, whose coordinates are a direction
  bool are_integers = false;  ///< true if coordinates are in elements and not filtered
  bool is_cube = false;
  std::array<float, 3> at = {};
  std::array<std::int32_t, 3> element = {};  ///< integer coordinates
  std::array<std::int32_t, 3> offset = {};   ///< in elements
  std::uint32_t layer = 0;
};

/// Change of the coordinates from one pixel to the next, horizontally and vertically.
struct Gradients {
  std::array<float, 3> across = {};
  std::array<float, 3> down = {};
};

/// Memory that elements are read from.
class TexelMemory {
 public:
  virtual ~TexelMemory() = default;
  /// Returns the element at an address; null if it may not be read.
  virtual const std::byte* texel(std::uint64_t address, unsigned bytes) = 0;
};

/// Returns the level that gradients select, before bias and clamps.
float level_of(const ImageObject& object, const Coordinates& coordinates, const Gradients& gradients);

/// Fetches from the first level.
TexelBits sample_base(const ImageObject& object, const Coordinates& coordinates, TexelMemory& memory);
/// Fetches from the levels that `level`, with bias and clamps, selects.
TexelBits sample_level(const ImageObject& object, const Coordinates& coordinates, float level,
                       TexelMemory& memory);
/// Fetches one channel of the four elements that linear filtering would read, counter-clockwise from the
/// lower left.
TexelBits gather(const ImageObject& object, const Coordinates& coordinates, unsigned channel,
                 TexelMemory& memory);

}  // namespace lynxpp::device::cpu
