// Tensor maps: the objects of 128 bytes that cuTensorMapEncode… and tensormap.replace write and tensor copies
// read.
//
// CUDA leaves the bytes of a map open. Here they are, little-endian:
//
//    0  magic (4 bytes), version, rank, access mode, element type
//    8  interleave, swizzle, swizzle atom, fill, L2 promotion
//   13  element strides (5 × 1)       18  box (5 × 2)
//   28  lower and upper corner of an im2col box, W first (6 × 2)
//   40  global address (8)            48  strides of dimensions 1 to 4, in bytes (4 × 8)
//   80  sizes in elements (5 × 8)    120  pixels of an im2col box (2)
//  122  zero (2)                     124  checksum of the other bytes (4)
//
// CUTLASS clears bit 21 of the second word of eight bytes if the tensor is small; it is 0 in every map.
//
// 128 zero bytes are a map without any field: kernels may begin with them and replace every field. All other
// bytes must have magic, version and checksum, so a map that was not encoded here, or only partly copied, is
// recognized and never interpreted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lynxpp::device::cpu {

inline constexpr std::size_t tensor_map_bytes = 128;
inline constexpr std::uint64_t tensor_map_alignment = 64;
inline constexpr std::size_t most_dimensions = 5;

/// In the numbering of tensormap.replace, which differs from CUtensorMapDataType. The last three are elements
/// of 4 and 6 bits; b6x16_p32 is the ISA's b6p2x16 in stores.
enum class TensorElement : std::uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f32_ftz,
  f64,
  bf16,
  tf32,
  tf32_ftz,
  b4x16,
  b4x16_p64,
  b6x16_p32
};
enum class TensorInterleave : std::uint8_t { none, bytes_16, bytes_32 };
enum class TensorSwizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128, bytes_96 };
/// The unit that a swizzle moves. Others than 16 bytes need a swizzle of 128 bytes.
enum class SwizzleAtom : std::uint8_t { bytes_16, bytes_32, bytes_32_flip_8, bytes_64 };
enum class TensorFill : std::uint8_t { zero, oob_nan };
/// The last two walk along W only (cuTensorMapEncodeIm2colWide).
enum class TensorAccess : std::uint8_t { tile, im2col, im2col_w, im2col_w128 };

/// A tensor in global memory and the box that a copy accesses. Dimension 0 is the innermost one. Members that
/// tensormap.replace may set hold any value; problem_of() decides whether a copy can use them.
struct TensorMap {
  std::uint32_t rank = 0;
  TensorAccess access = TensorAccess::tile;
  TensorElement element = TensorElement::u8;
  std::uint64_t address = 0;
  std::array<std::uint64_t, most_dimensions - 1> strides{};  ///< of dimensions 1 to 4, in bytes
  std::array<std::uint64_t, most_dimensions> sizes{};        ///< in elements
  std::array<std::uint16_t, most_dimensions> box{};          ///< im2col: only box[0], the channels of a pixel
  std::array<std::uint8_t, most_dimensions> steps{};         ///< element strides
  TensorInterleave interleave = TensorInterleave::none;
  TensorSwizzle swizzle = TensorSwizzle::none;
  SwizzleAtom atom = SwizzleAtom::bytes_16;
  TensorFill fill = TensorFill::zero;
  std::uint8_t l2_promotion = 0;
  // im2col only; corners are offsets from the tensor's first and last pixel, of W, H and D (im2col_w: of W).
  std::array<std::int16_t, 3> lower{};
  std::array<std::int16_t, 3> upper{};
  std::uint16_t pixels = 0;

  bool operator==(const TensorMap&) const = default;
};

/// Returns the size of an element; 0 for elements of 4 and 6 bits.
std::uint32_t bytes_of(TensorElement element);

/// The smallest group of elements along dimension 0 that is whole bytes, or that a load pads.
struct ElementUnit {
  std::uint32_t elements = 1;
  std::uint32_t global_bytes = 1;
  std::uint32_t shared_bytes = 1;  ///< more than global_bytes if shared memory has padding
};
ElementUnit unit_of(TensorElement element);
/// True for types with padding in shared memory: their boxes have 128 elements along dimension 0.
bool is_padded(TensorElement element);
/// "4 bytes", "6 bits"
std::string_view size_name(TensorElement element);
bool is_float(TensorElement element);
/// Returns the size of the span that a swizzle permutes; 0 without swizzle.
std::uint32_t span_of(TensorSwizzle swizzle);

using TensorMapBytes = std::span<std::byte, tensor_map_bytes>;
using ConstTensorMapBytes = std::span<const std::byte, tensor_map_bytes>;

void encode(const TensorMap& map, TensorMapBytes bytes);
/// Reads a map that encode() has written, or zero bytes. Returns null, or what is wrong with other bytes.
const char* decode(ConstTensorMapBytes bytes, TensorMap& map);

/// Returns the first requirement of CUDA's driver API that the map violates: "a size is not between 1 and
/// 2^32". Null if a copy can use the map.
const char* problem_of(const TensorMap& map);

}  // namespace lynxpp::device::cpu
