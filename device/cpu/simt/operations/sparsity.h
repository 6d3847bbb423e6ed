// Metadata of sparse matrix operands: the positions of the elements that each row stores.
#pragma once

#include <cstdint>

#include "device/cpu/simt/operations/formats.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {

/// Sparsity of one operand A of 16 rows. Every chunk of a row has four bits of metadata; the lanes of a group
/// of four hold those of rows g and g + 8, where g is the group's index.
struct Sparsity {
  unsigned depth = 0;     ///< k of the product; each row stores half of the elements
  unsigned stored = 2;    ///< elements stored per chunk: 1 (of 2), 2 (of 4) or 4 (of 8, in pairs)
  unsigned selector = 0;  ///< selects the lanes of a group that provide metadata

  static Sparsity of(Format format, unsigned depth, unsigned selector) {
    const unsigned bits = bits_of(format);
    return {depth, bits == 32 ? 1u : bits == 4 ? 4u : 2u, selector};
  }
  /// Number of lanes of a group that provide metadata: 1, 2 or 4.
  unsigned providers() const { return depth / (2 * stored) / 4; }

  /// Returns the k of the element that `row` stores at `index`.
  unsigned position(const Lanes& metadata, unsigned row, unsigned index) const {
    const unsigned chunk = index / stored;
    const unsigned group = row % 8 * 4;
    const auto bits = [&] {
      // Two rows share a word, or a word holds eight chunks of one row.
      if (providers() == 4) return metadata[group + row / 8 + chunk / 8 * 2] >> (chunk % 8 * 4);
      const unsigned lane = providers() * selector + chunk / 4;
      return metadata[group + lane] >> (row / 8 * 16 + chunk % 4 * 4);
    }();
    return chunk * 2 * stored + position_in_chunk(stored, static_cast<unsigned>(bits), index % stored);
  }

  /// Returns the position of an element in its chunk, which has four bits and stores `stored` elements.
  static unsigned position_in_chunk(unsigned stored, unsigned bits, unsigned index) {
    if (stored == 1) return bits >> 1 & 1;  // 0b0100 or 0b1110
    if (stored == 2) return bits >> (index * 2) & 3;
    return (bits >> (index / 2 * 2) & 3) * 2 + index % 2;
  }
};

}  // namespace lynxpp::device::cpu
