// Number formats of matrix operands and conversions.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "device/cpu/simt/lanes/half.h"

namespace lynxpp::device::cpu {

enum class Format { f16, bf16, tf32, f32, f64, e4m3, e5m2, e2m3, e3m2, e2m1, s8, u8, s4, u4, b1, s32 };

/// Returns nullopt if the word does not name a format.
std::optional<Format> parse_format(std::string_view word);
unsigned bits_of(Format format);
bool is_float(Format format);

/// Decodes exactly; ignores the low 13 bits of a tf32. Precondition: a floating-point format.
double decode_float(Format format, std::uint64_t bits);
/// Precondition: an integer format.
std::int64_t decode_integer(Format format, std::uint64_t bits);
/// Rounds to nearest even. NaN becomes the canonical NaN. Precondition: f16, bf16, f32 or f64.
std::uint64_t encode_float(Format format, double value);
/// Rounds to nearest even; values beyond the range become the largest number. NaN becomes the format's NaN,
/// or the largest number if it has none. Precondition: a format of at most 8 bits.
std::uint8_t encode_small(Format format, double value);

}  // namespace lynxpp::device::cpu
