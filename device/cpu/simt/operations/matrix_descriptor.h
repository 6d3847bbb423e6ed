// Matrix descriptors of wgmma and tcgen05: the layout of an operand in shared memory.
#pragma once

#include <cstdint>

namespace lynxpp::device::cpu {

/// An operand in shared memory as pieces of 16 bytes. A line is a row of A or a column of B if elements along
/// k are adjacent (K-major); otherwise it holds the elements of one k (MN-major).
struct MatrixDescriptor {
  static constexpr unsigned piece_bytes = 16;

  std::uint64_t start = 0;    ///< shared address
  std::uint64_t leading = 0;  ///< leading dimension byte offset
  std::uint64_t stride = 0;   ///< stride dimension byte offset
  std::uint64_t base = 0;  ///< 128-byte rows from the preceding multiple of 1024 to the start of the pattern
  unsigned width = 1;      ///< pieces in a row of the swizzle pattern: 1 (no swizzle), 2, 4 or 8
  bool swaps_pairs = false;  ///< the pattern moves pairs of pieces and has 4 rows (tcgen05, with 8 pieces)

  static MatrixDescriptor decode(std::uint64_t bits) {
    const auto field = [bits](unsigned position) { return (bits >> position & 0x3fff) * 16; };
    const auto mode = static_cast<unsigned>(bits >> 62);
    return {field(0), field(16), field(32), bits >> 49 & 7, mode == 0 ? 1 : 16u >> mode};
  }

  /// Decodes a descriptor of tcgen05. Returns why it is invalid, or null.
  static const char* decode_tensor_core(std::uint64_t bits, MatrixDescriptor& to) {
    const auto field = [bits](unsigned position) { return (bits >> position & 0x3fff) * 16; };
    const auto mode = static_cast<unsigned>(bits >> 61);
    if ((bits >> 46 & 7) != 1) return "bits 46 to 48 of a matrix descriptor must be 1";
    if ((bits >> 52 & 1) != 0) return "absolute leading dimensions of matrix descriptors are not supported";
    if ((bits >> 53 & 0xff) != 0) return "bits 53 to 60 of a matrix descriptor must be 0";
    if (mode == 3 || mode == 5 || mode == 7) return "the matrix descriptor's swizzling mode is invalid";
    const unsigned width = mode == 0 ? 1 : mode == 6 ? 2 : mode == 4 ? 4 : 8;
    to = {field(0), field(16), field(32), bits >> 49 & 7, width, mode == 1};
    return nullptr;
  }

  /// Returns the address of a piece of line `index`, a row of A or a column of B.
  std::uint64_t k_major(unsigned index, unsigned piece) const {
    const std::uint64_t next = width == 1 ? leading : piece_bytes;
    return swizzled(start + index / 8 * stride + index % 8 * row_bytes() + piece * next);
  }

  /// Returns the address of a piece of line `k`.
  std::uint64_t mn_major(unsigned k, unsigned piece) const {
    const unsigned rows = swaps_pairs ? 4 : 8;
    const std::uint64_t in_pattern = start + k % rows * row_bytes() + piece % width * piece_bytes;
    if (width == 1) return in_pattern + k / rows * leading + piece * stride;
    return swizzled(in_pattern + k / rows * stride + piece / width * leading);
  }

 private:
  std::uint64_t row_bytes() const { return std::uint64_t{width} * piece_bytes; }
  /// The index of a piece in its 128 bytes is combined with the index of these in the pattern.
  std::uint64_t swizzled(std::uint64_t address) const {
    if (swaps_pairs) return address ^ (((address >> 7) - base) & 3) << 5;
    return address ^ (((address >> 7) - base) & (width - 1)) << 4;
  }
};

}  // namespace lynxpp::device::cpu
