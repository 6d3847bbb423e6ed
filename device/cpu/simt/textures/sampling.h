// What a texture fetch reads and returns.
//
// Linear filtering: the place is rounded to the nearest 1/256 of an element, half a step upwards, and the
// weights follow from it, so that they have 8 bits of fraction and 1 is among them. The sum of the weighted
// elements is taken in double precision, in the order of x, y, z and level, and rounded once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/cpu/simt/textures/image.h"

namespace lynxpp::device::cpu {

/// Where a texture fetch looks.
struct Coordinates {
  unsigned dimensions = 2;    ///< that are looked up: of a cube 3, its direction
  bool are_integers = false;  ///< places in elements, never filtered
  bool is_cube = false;
  std::array<float, 3> at = {};
  std::array<std::int32_t, 3> element = {};  ///< of integer coordinates
  std::array<std::int32_t, 3> offset = {};   ///< in elements
  std::uint32_t layer = 0;
};

/// How much the coordinates change from one pixel to the next, across and down.
struct Gradients {
  std::array<float, 3> across = {};
  std::array<float, 3> down = {};
};

/// Memory that elements are read from.
class TexelMemory {
 public:
  virtual ~TexelMemory() = default;
  /// The element at an address; null when it may not be read.
  virtual const std::byte* texel(std::uint64_t address, unsigned bytes) = 0;
};

/// The level that gradients ask for, before bias and clamps.
float level_of(const ImageObject& object, const Coordinates& coordinates, const Gradients& gradients);

/// What a fetch from the first level returns.
TexelBits sample_base(const ImageObject& object, const Coordinates& coordinates, TexelMemory& memory);
/// The same from the levels that `level`, with bias and clamps, selects.
TexelBits sample_level(const ImageObject& object, const Coordinates& coordinates, float level,
                       TexelMemory& memory);
/// One channel of the four elements that linear filtering would look at, counter-clockwise from the lower
/// left.
TexelBits gather(const ImageObject& object, const Coordinates& coordinates, unsigned channel,
                 TexelMemory& memory);

}  // namespace lynxpp::device::cpu
