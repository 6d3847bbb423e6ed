#include "device/cpu/simt/operations/tensor_core_shape.h"

#include <algorithm>
#include <optional>

namespace lynxpp::device::cpu {
namespace {

/// Returns the type of elements of A or B; nullopt if the kind has none with this number.
std::optional<Format> element_format(ProductKind kind, unsigned number) {
  switch (kind) {
    case ProductKind::f16:
      if (number > 1) return std::nullopt;
      return number == 0 ? Format::f16 : Format::bf16;
    case ProductKind::tf32: return number == 2 ? std::optional(Format::tf32) : std::nullopt;
    case ProductKind::i8:
      if (number > 1) return std::nullopt;
      return number == 0 ? Format::u8 : Format::s8;
    case ProductKind::mxf4:
    case ProductKind::mxf4nvf4: return number == 1 ? std::optional(Format::e2m1) : std::nullopt;
    case ProductKind::f8f6f4:
    case ProductKind::mxf8f6f4: break;
  }
  switch (number) {
    case 0: return Format::e4m3;
    case 1: return Format::e5m2;
    case 3: return Format::e2m3;
    case 4: return Format::e3m2;
    case 5: return Format::e2m1;
    default: return std::nullopt;
  }
}

std::optional<Format> sum_format(ProductKind kind, unsigned number) {
  if (kind == ProductKind::i8) return number == 2 ? std::optional(Format::s32) : std::nullopt;
  if (number == 1) return Format::f32;
  const bool may_be_half = kind == ProductKind::f16 || kind == ProductKind::f8f6f4;
  return number == 0 && may_be_half ? std::optional(Format::f16) : std::nullopt;
}

const char* problem_of_size(const ProductForm& form, const ProductShape& shape) {
  const unsigned m = shape.rows;
  const unsigned n = shape.columns;
  const bool is_known = form.is_stationary ? m == 32 || m == 64 || m == 128
                        : form.is_scaled() ? m == 128 * form.blocks
                        : form.blocks == 2 ? m == 128 || m == 256
                                           : m == 64 || m == 128;
  if (!is_known) return "M is not defined for this form of the instruction";
  if (form.is_sparse && m != 128 * form.blocks)
    return "sparse products of less than 128 rows in a block are not supported";
  const char* const problem = "N is not defined for this form of the instruction";
  if (n == 0 || n > 256) return problem;
  if (form.is_stationary) return n == 64 || n == 128 || (n == 256 && !form.is_sparse) ? nullptr : problem;
  unsigned step = form.blocks == 2 ? 16 : 8;
  if (form.kind == ProductKind::i8) step = form.blocks == 2 ? 32 : n > 32 ? 16 : 8;
  if (shape.transposes_b && bits_of(shape.b) == 8) step = form.blocks == 2 ? 32 : 16;
  return n % step == 0 ? nullptr : problem;
}

/// Decodes the fields of instructions without scales.
const char* decode_plain(const ProductForm& form, std::uint32_t bits, ProductShape& to) {
  const std::optional<Format> d = sum_format(form.kind, bits >> 4 & 3);
  if (!d) return "the type of D is not defined for this kind";
  to.d = *d;
  to.saturates = (bits >> 3 & 1) != 0;
  if (to.saturates && form.kind != ProductKind::i8) return "only integers saturate";
  const unsigned reserved = form.is_sparse ? 0x2080'0040 : 0x2080'0043;
  if ((bits & reserved) != 0 || (!form.is_stationary && bits >> 30 != 0)) return "a reserved bit is 1";
  to.selector = bits & 3;
  const bool has_selector = form.kind == ProductKind::f16 || form.kind == ProductKind::tf32;
  return to.selector > (has_selector ? 1 : 0) ? "the sparsity selector is not defined for this kind"
                                              : nullptr;
}

const char* decode_scaled(const ProductForm& form, std::uint32_t bits, ProductShape& to) {
  to.d = Format::f32;
  to.scale_b = bits >> 4 & 3;
  to.scale_a = bits >> 29 & 3;
  to.has_exponent_scales = (bits >> 23 & 1) != 0;
  if ((bits & 0x0700'004b) != 0) return "a reserved bit is 1";
  if (bits >> 31 != 0) return "products with K = 96 are not supported";
  if (!to.has_exponent_scales && (form.kind != ProductKind::mxf4nvf4 || form.scale_block != 16))
    return "scales of type ue4m3 are for blocks of 16 elements of .kind::mxf4nvf4";
  const unsigned step = form.kind == ProductKind::mxf8f6f4 ? 1 : form.scale_block == 32 ? 2 : 4;
  if (to.scale_a % step != 0 || to.scale_b % step != 0)
    return "the number of a scale factor is not defined for this form of the instruction";
  return nullptr;
}

}  // namespace

const char* decode_zero_columns(const ProductShape& shape, std::uint64_t bits, std::vector<bool>& to) {
  to.assign(shape.columns, false);
  if ((bits >> 36 & 7) != 0 || bits >> 62 != 0) return "a reserved bit is 1";
  if (bits >> 56 != 0) return "column shifts of zero-column masks are not supported";
  if ((bits >> 39 & 1) == 0) return nullptr;
  // The lengths follow the ISA's examples, which its table contradicts.
  const unsigned zeros = (bits >> 40 & 0xff) + 1;
  const unsigned used = (bits >> 48 & 0xff) + 1;
  const unsigned parts = 128 / shape.rows;
  const unsigned width = shape.columns / parts;
  for (unsigned part = 0; part < parts; ++part) {
    const bool begins_with_zeros = (bits >> (32 + part) & 1) != 0;
    const auto start = static_cast<unsigned>(bits >> 8 * part & 0xff);
    if (start >= (begins_with_zeros ? zeros : used))
      return "a start count is not smaller than the first span";
    for (unsigned column = 0; column < width; ++column) {
      const unsigned at = (start + column) % (zeros + used);
      to[part * width + column] = begins_with_zeros ? at < zeros : at >= used;
    }
  }
  return nullptr;
}

unsigned container_bits(const ProductForm& form, Format format) {
  return form.packs_pairs() ? 4 : std::max(bits_of(format), 8u);
}

const char* decode_shape(const ProductForm& form, std::uint32_t bits, ProductShape& to) {
  if ((bits >> 2 & 1) != (form.is_sparse ? 1 : 0))
    return form.is_sparse ? "it describes a dense product, but the instruction has .sp"
                          : "it describes a sparse product, but the instruction has no .sp";
  const char* const problem = form.is_scaled() ? decode_scaled(form, bits, to) : decode_plain(form, bits, to);
  if (problem != nullptr) return problem;
  const std::optional<Format> a = element_format(form.kind, bits >> 7 & 7);
  const std::optional<Format> b = element_format(form.kind, bits >> 10 & (form.packs_pairs() ? 3 : 7));
  if (!a || !b) return "the type of A or B is not defined for this kind";
  to.a = *a;
  to.b = *b;
  to.rows = (bits >> 24 & 31) * 16;
  if (form.is_scaled()) to.rows = (bits >> 27 & 3) * 128;
  to.columns = (bits >> 17 & 63) * 8;
  to.stored = form.packs_pairs() ? 64 : 256 / container_bits(form, *a);
  to.depth = to.stored * (form.is_sparse ? 2 : 1);
  to.stored_of_chunk = form.packs_pairs() ? 4 : *a == Format::tf32 ? 1 : 2;
  const bool negates_a = (bits >> 13 & 1) != 0;
  const bool negates_b = (bits >> 14 & 1) != 0;
  if ((negates_a || negates_b) && form.kind == ProductKind::i8) return "integers are not negated";
  to.negates = negates_a != negates_b;
  to.transposes_a = (bits >> 15 & 1) != 0;
  to.transposes_b = (bits >> 16 & 1) != 0;
  if ((to.transposes_a && bits_of(*a) < 8) || (to.transposes_b && bits_of(*b) < 8))
    return "elements of 4 and 6 bits are not transposed";
  if (to.transposes_a && form.a_in_tensor) return "A in tensor memory is not transposed";
  return problem_of_size(form, to);
}

}  // namespace lynxpp::device::cpu
