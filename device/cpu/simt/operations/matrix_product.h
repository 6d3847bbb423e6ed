// What mma and wmma have in common.
#pragma once

#include <cstdint>

#include "device/cpu/simt/operations/formats.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {

struct ProductTypes {
  Format d = Format::f32;
  Format a = Format::f32;
  Format b = Format::f32;
  Format c = Format::f32;
  bool saturates = false;  ///< integers: the sum clamps instead of wrapping
  bool exclusive = false;  ///< b1: bits are combined by xor, not by and
};

/// {.satfinite}.d.a.b.c{.op.popc}; false for types that do not go together.
bool take_product_types(OpcodeWords& words, ProductTypes& types);

/// c + the products of a row and a column, in the order of k: of f64 by fused operations; of other floats
/// exact products are summed in double precision and rounded once, at the end.
std::uint64_t multiply_row(const ProductTypes& types, const std::uint64_t* a, const std::uint64_t* b,
                           unsigned count, std::uint64_t c);

}  // namespace lynxpp::device::cpu
