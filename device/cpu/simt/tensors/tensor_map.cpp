#include "device/cpu/simt/tensors/tensor_map.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lynxpp::device::cpu {
namespace {

static_assert(std::endian::native == std::endian::little, "the layout is little-endian");

constexpr std::uint32_t magic = 0x4d54584c;  // "LXTM"
constexpr std::uint8_t version = 2;
constexpr std::size_t checked_bytes = tensor_map_bytes - sizeof(std::uint32_t);

constexpr std::uint64_t most_elements = std::uint64_t{1} << 32;
constexpr std::uint64_t stride_limit = std::uint64_t{1} << 40;
constexpr unsigned most_box_elements = 256;
constexpr unsigned most_pixels = 1024;
constexpr unsigned most_step = 8;
constexpr unsigned padded_elements = 128;

std::uint32_t checksum_of(ConstTensorMapBytes bytes) {
  std::uint32_t sum = 2166136261u;  // FNV-1a
  for (const std::byte each : bytes.first<checked_bytes>())
    sum = (sum ^ static_cast<std::uint32_t>(each)) * 16777619u;
  return sum;
}

/// Visits the fields in the order of the layout.
template <typename Map, typename Visit>
void visit_fields(Map& map, const Visit& visit) {
  visit(map.rank, 1);
  visit(map.access, 1);
  visit(map.element, 1);
  visit(map.interleave, 1);
  visit(map.swizzle, 1);
  visit(map.atom, 1);
  visit(map.fill, 1);
  visit(map.l2_promotion, 1);
  for (auto& each : map.steps) visit(each, 1);
  for (auto& each : map.box) visit(each, 2);
  for (auto& each : map.lower) visit(each, 2);
  for (auto& each : map.upper) visit(each, 2);
  visit(map.address, 8);
  for (auto& each : map.strides) visit(each, 8);
  for (auto& each : map.sizes) visit(each, 8);
  visit(map.pixels, 2);
}

bool has_known_values(const TensorMap& map) {
  return map.access <= TensorAccess::im2col_w128 && map.element <= TensorElement::b6x16_p32 &&
         map.interleave <= TensorInterleave::bytes_32 && map.swizzle <= TensorSwizzle::bytes_96 &&
         map.atom <= SwizzleAtom::bytes_64 && map.fill <= TensorFill::oob_nan;
}

const char* problem_of_tensor(const TensorMap& map) {
  const bool has_wide_rows = map.interleave == TensorInterleave::bytes_32 || is_padded(map.element);
  const std::uint64_t alignment = has_wide_rows ? 32 : 16;
  const bool is_interleaved = map.interleave != TensorInterleave::none;
  const bool is_3d = is_interleaved || map.access != TensorAccess::tile;
  if (map.rank < 1 || map.rank > most_dimensions) return "its rank is not between 1 and 5";
  if (is_3d && map.rank < 3) return "interleaved and im2col tensors have at least 3 dimensions";
  if (is_interleaved && bytes_of(map.element) == 0)
    return "interleaved tensors of elements of 4 or 6 bits are not supported";
  if (map.address % alignment != 0)
    return alignment == 32 ? "its global address is not a multiple of 32"
                           : "its global address is not a multiple of 16";
  for (std::uint32_t i = 0; i < map.rank; ++i) {
    if (map.sizes[i] < 1 || map.sizes[i] > most_elements) return "a size is not between 1 and 2^32";
    if (i == 0 && is_padded(map.element) && map.sizes[0] % padded_elements != 0)
      return "the size of dimension 0 is not a multiple of 128, which its type of elements needs";
    if (i == 0 && map.sizes[0] % unit_of(map.element).elements != 0)
      return "the size of dimension 0 is odd, but an element has 4 bits";
    if (i == 0) continue;
    if (map.strides[i - 1] % alignment != 0)
      return alignment == 32 ? "a stride is not a multiple of 32" : "a stride is not a multiple of 16";
    if (map.strides[i - 1] >= stride_limit) return "a stride is 2^40 bytes or more";
  }
  if (map.fill == TensorFill::oob_nan && !is_float(map.element))
    return "elements that are not floats cannot be filled with NaN";
  return nullptr;
}

const char* problem_of_corners(const TensorMap& map) {
  const bool is_wide = map.access != TensorAccess::im2col;
  const int limit = map.rank == 3 || is_wide ? 32768 : map.rank == 4 ? 128 : 16;
  const auto fits = [limit](int corner) { return corner >= -limit && corner < limit; };
  for (std::uint32_t i = 0; i < (is_wide ? 1 : map.rank - 2); ++i) {
    if (!fits(map.lower[i]) || !fits(map.upper[i])) return "a corner of its pixel box is out of range";
    if (map.lower[i] >= static_cast<std::int64_t>(map.sizes[i + 1]) + map.upper[i])
      return "its pixel box is empty";
  }
  if (map.access == TensorAccess::im2col_w128) return nullptr;  // 128 pixels always
  if (map.pixels < 1 || map.pixels > most_pixels) return "its pixels per column are not between 1 and 1024";
  return nullptr;
}

const char* problem_of_swizzle(const TensorMap& map) {
  const bool has_big_atom = map.atom != SwizzleAtom::bytes_16;
  if (map.swizzle == TensorSwizzle::bytes_96) return "a swizzle of 96 bytes needs compute capability 10.3";
  if (has_big_atom && map.swizzle != TensorSwizzle::bytes_128)
    return "only a swizzle of 128 bytes has atoms of more than 16 bytes";
  if (map.interleave == TensorInterleave::bytes_32 && map.swizzle != TensorSwizzle::bytes_32)
    return "an interleave of 32 bytes needs a swizzle of 32 bytes";
  if (is_padded(map.element)) {
    if (map.swizzle != TensorSwizzle::none && map.swizzle != TensorSwizzle::bytes_128)
      return "its type of elements needs a swizzle of 128 bytes or none";
    if (map.atom == SwizzleAtom::bytes_32_flip_8 ||
        (map.atom == SwizzleAtom::bytes_64 && map.element == TensorElement::b4x16_p64))
      return "its type of elements does not have this swizzle atom";
  }
  if (map.access != TensorAccess::im2col_w && map.access != TensorAccess::im2col_w128) return nullptr;
  if (map.interleave != TensorInterleave::none) return "im2col::w tensors cannot be interleaved";
  const bool has_span = map.swizzle == TensorSwizzle::bytes_64 || map.swizzle == TensorSwizzle::bytes_128;
  return !has_span || (has_big_atom && map.atom != SwizzleAtom::bytes_32)
             ? "im2col::w tensors need a swizzle of 64 or 128 bytes with atoms of 16 or 32 bytes"
             : nullptr;
}

const char* problem_of_box(const TensorMap& map) {
  const bool is_im2col = map.access != TensorAccess::tile;
  const bool is_interleaved = map.interleave != TensorInterleave::none;
  for (std::uint32_t i = 0; i < (is_im2col ? 1 : map.rank); ++i) {
    if (map.box[i] < 1 || map.box[i] > most_box_elements)
      return is_im2col ? "its channels per pixel are not between 1 and 256"
                       : "a box dimension is not between 1 and 256";
  }
  for (std::uint32_t i = is_interleaved ? 0 : 1; i < map.rank; ++i) {
    if (map.steps[i] < 1 || map.steps[i] > most_step) return "an element stride is not between 1 and 8";
  }
  const ElementUnit unit = unit_of(map.element);
  if (is_padded(map.element) && map.box[0] != padded_elements)
    return "box dimension 0 is not 128, which its type of elements needs";
  if (map.box[0] % unit.elements != 0) return "box dimension 0 is odd, but an element has 4 bits";
  const std::uint32_t inner_bytes = map.box[0] / unit.elements * unit.shared_bytes;
  if (!is_interleaved && !is_im2col && inner_bytes % 16 != 0)
    return "the bytes of box dimension 0 are not a multiple of 16";
  if (const char* const problem = problem_of_swizzle(map); problem != nullptr) return problem;
  const std::uint32_t span = span_of(map.swizzle);
  if (!is_interleaved && span != 0 && inner_bytes > span)
    return "box dimension 0 has more bytes than the swizzle";
  return is_im2col ? problem_of_corners(map) : nullptr;
}

}  // namespace

std::uint32_t bytes_of(TensorElement element) {
  switch (element) {
    case TensorElement::u8: return 1;
    case TensorElement::u16:
    case TensorElement::f16:
    case TensorElement::bf16: return 2;
    case TensorElement::u32:
    case TensorElement::s32:
    case TensorElement::f32:
    case TensorElement::f32_ftz:
    case TensorElement::tf32:
    case TensorElement::tf32_ftz: return 4;
    case TensorElement::u64:
    case TensorElement::s64:
    case TensorElement::f64: return 8;
    case TensorElement::b4x16:
    case TensorElement::b4x16_p64:
    case TensorElement::b6x16_p32: return 0;
  }
  return 0;
}

ElementUnit unit_of(TensorElement element) {
  switch (element) {
    case TensorElement::b4x16: return {.elements = 2};
    case TensorElement::b4x16_p64: return {.elements = 16, .global_bytes = 8, .shared_bytes = 16};
    case TensorElement::b6x16_p32: return {.elements = 16, .global_bytes = 12, .shared_bytes = 16};
    default: break;
  }
  const std::uint32_t bytes = bytes_of(element);
  return {.elements = 1, .global_bytes = bytes, .shared_bytes = bytes};
}

bool is_padded(TensorElement element) {
  return element == TensorElement::b4x16_p64 || element == TensorElement::b6x16_p32;
}

std::string_view size_name(TensorElement element) {
  switch (bytes_of(element)) {
    case 1: return "1 byte";
    case 2: return "2 bytes";
    case 4: return "4 bytes";
    case 8: return "8 bytes";
    default: return element == TensorElement::b6x16_p32 ? "6 bits" : "4 bits";
  }
}

bool is_float(TensorElement element) {
  return element >= TensorElement::f16 && element <= TensorElement::tf32_ftz;
}

std::uint32_t span_of(TensorSwizzle swizzle) {
  switch (swizzle) {
    case TensorSwizzle::none: return 0;
    case TensorSwizzle::bytes_32: return 32;
    case TensorSwizzle::bytes_64: return 64;
    case TensorSwizzle::bytes_128: return 128;
    case TensorSwizzle::bytes_96: return 96;
  }
  return 0;
}

void encode(const TensorMap& map, TensorMapBytes bytes) {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  std::memcpy(bytes.data(), &magic, sizeof magic);
  std::memcpy(bytes.data() + sizeof magic, &version, sizeof version);
  std::size_t at = sizeof magic + sizeof version;
  visit_fields(map, [&](const auto& field, std::size_t size) {
    std::memcpy(bytes.data() + at, &field, size);
    at += size;
  });
  const std::uint32_t sum = checksum_of(bytes);
  std::memcpy(bytes.data() + checked_bytes, &sum, sizeof sum);
}

const char* decode(ConstTensorMapBytes bytes, TensorMap& map) {
  map = {};
  if (std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{0}; })) return nullptr;
  const auto read = [&](std::size_t at) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    return word;
  };
  if (read(0) != magic) return "these bytes are not a tensor map";
  if (bytes[sizeof magic] != std::byte{version}) return "another version of lynxpp has written these bytes";
  if (read(checked_bytes) != checksum_of(bytes))
    return "these bytes are an incomplete or overwritten tensor map";
  std::size_t at = sizeof magic + sizeof version;
  visit_fields(map, [&](auto& field, std::size_t size) {
    std::memcpy(&field, bytes.data() + at, size);
    at += size;
  });
  if (!has_known_values(map)) return "these bytes are an incomplete or overwritten tensor map";
  return nullptr;
}

const char* problem_of(const TensorMap& map) {
  const char* const problem = problem_of_tensor(map);
  return problem != nullptr ? problem : problem_of_box(map);
}

}  // namespace lynxpp::device::cpu
