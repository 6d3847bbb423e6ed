// Matrix products as loops over columns that vectorize: operands are decoded once into numbers of double
// precision, in which all products of elements of at most 19 significant bits are exact.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/simt/operations/formats.h"

namespace lynxpp::device::cpu {

/// Decodes consecutive elements to doubles: floats but f64, and 8-bit integers.
void decode_elements(Format format, const std::byte* from, std::span<double> to);
/// Decodes elements, one in each word, to doubles: also 4-bit integers.
void decode_elements(Format format, std::span<const std::uint64_t> from, std::span<double> to);

/// Encodes one sum: rounds floats to nearest even; an s32 wraps, or clamps if `saturates`.
std::uint32_t encode_sum(Format format, bool saturates, double sum);
double decode_sum(Format format, std::uint32_t bits);

/// The operands of a warp's share of a product.
struct MatrixPanels {
  unsigned rows = 0;
  unsigned columns = 0;              ///< multiple of 8
  unsigned depth = 0;                ///< number of factors per row of `a`
  std::vector<double> a;             ///< [row][factor]
  std::vector<std::uint16_t> lines;  ///< [row][factor]: the line of `b` that multiplies each factor
  std::vector<double> b;             ///< [line][column]
  std::vector<double> sums;          ///< [row][column]

  /// Adds the products to the sums, in the order of the factors.
  void multiply();
};

}  // namespace lynxpp::device::cpu
