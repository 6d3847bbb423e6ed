// Types and arithmetic shared by mma and wmma.
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
  bool exclusive = false;  ///< b1: combines bits by xor instead of and
};

/// Consumes {.satfinite}.d.a.b.c{.op.popc}; returns false if the types cannot be combined.
bool take_product_types(OpcodeWords& words, ProductTypes& types);

/// The multiplications and additions of a row and a column of `count` elements.
constexpr std::uint64_t operations_of_row(unsigned count) { return std::uint64_t{2} * count; }

/// Returns c plus the products of a row and a column, in the order of k. f64 uses fused operations; for other
/// floats, exact products are summed in double precision and rounded once at the end.
std::uint64_t multiply_row(const ProductTypes& types, const std::uint64_t* a, const std::uint64_t* b,
                           unsigned count, std::uint64_t c);

}  // namespace lynxpp::device::cpu
