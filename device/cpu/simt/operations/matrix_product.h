// Types and arithmetic shared by mma and wmma.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/simt/operations/formats.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {

struct ProductTypes {
  Format d = Format::f32;
  Format a = Format::f32;
  Format b = Format::f32;
  Format c = Format::f32;
  bool saturates = false;  ///< integers: the sum clamps instead of wrapping
  bool exclusive = false;  ///< b1: combines bits by xor instead of and
};

/// Consumes {.satfinite}.d.a.b.c{.op.popc}; returns false if the types cannot be combined.
bool take_product_types(OpcodeWords& words, ProductTypes& types);

/// The operands of a product, row by row, as bits.
struct ProductOperands {
  unsigned m = 0;
  unsigned n = 0;
  std::vector<std::uint64_t> a;           ///< m rows
  std::vector<std::uint64_t> b;           ///< k rows
  std::vector<std::uint64_t> c;           ///< m rows
  std::vector<std::uint16_t> lines = {};  ///< of a sparse A: the row of B that multiplies each element

  unsigned depth() const { return static_cast<unsigned>(a.size()) / m; }
  /// Returns the number of multiplications and additions.
  std::uint64_t operations() const { return std::uint64_t{2} * m * n * depth(); }
};

/// Replaces C by D, the sum of C and the products, in the order of k. f64 uses fused operations; for other
/// floats, exact products are summed in double precision and rounded once at the end.
void multiply(const ProductTypes& types, ProductOperands& operands);

}  // namespace lynxpp::device::cpu
