// Instruction descriptors of tcgen05.mma: shapes and types of a matrix product.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/simt/operations/formats.h"

namespace lynxpp::device::cpu {

/// `.kind::…`: the types that an instruction descriptor may name.
enum class ProductKind : std::uint8_t { f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4, mxf4nvf4 };

/// The modifiers of an instruction.
struct ProductForm {
  ProductKind kind = ProductKind::f16;
  unsigned blocks = 1;         ///< .cta_group
  bool is_stationary = false;  ///< .ws
  bool is_sparse = false;      ///< .sp
  bool a_in_tensor = false;
  bool masks_lanes = false;  ///< disable-output-lane
  unsigned scale_shift = 0;  ///< scale-input-d
  unsigned scale_block = 0;  ///< elements of a row, of a sparse A stored ones, that share a scale; else 0

  bool is_scaled() const { return scale_block != 0; }
  /// True if a byte holds two elements of 4 bits; in other kinds 16 elements take 16 bytes.
  bool packs_pairs() const { return kind == ProductKind::mxf4 || kind == ProductKind::mxf4nvf4; }
};

/// The properties that the instruction descriptor adds.
struct ProductShape {
  unsigned rows = 0;     ///< M
  unsigned columns = 0;  ///< N
  unsigned depth = 0;    ///< K
  unsigned stored = 0;   ///< elements of a row of A in memory: K, or half of it if A is sparse
  Format a = Format::f16;
  Format b = Format::f16;
  Format d = Format::f32;
  bool negates = false;  ///< exactly one of A and B
  bool transposes_a = false;
  bool transposes_b = false;
  bool saturates = false;
  bool has_exponent_scales = false;  ///< scales are ue8m0; otherwise ue4m3
  unsigned scale_a = 0;              ///< byte of a scale in its word
  unsigned scale_b = 0;
  unsigned selector = 0;         ///< sparse: the column of metadata
  unsigned stored_of_chunk = 0;  ///< sparse: elements that A stores of each chunk, half of them

  /// Sparse: true if the metadata of each 16 rows fill one column; otherwise a row has two words of a lane.
  bool interleaves_metadata() const { return bits_of(a) >= 16; }
};

/// Decodes a descriptor. Returns why the instruction cannot use it, or null; the text lives forever.
const char* decode_shape(const ProductForm& form, std::uint32_t bits, ProductShape& to);

/// Decodes a zero-column mask descriptor of .ws. Sets `to` to true for columns of B that count as zeros.
/// Returns why the instruction cannot use the descriptor, or null; the text lives forever.
const char* decode_zero_columns(const ProductShape& shape, std::uint64_t bits, std::vector<bool>& to);

/// Returns the bits that an element takes in shared memory, on average.
unsigned container_bits(const ProductForm& form, Format format);

}  // namespace lynxpp::device::cpu
