// Numbers of the formats that matrices and conversions work on.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "device/cpu/simt/lanes/half.h"

namespace lynxpp::device::cpu {

enum class Format { f16, bf16, tf32, f32, f64, e4m3, e5m2, e2m3, e3m2, e2m1, s8, u8, s4, u4, b1, s32 };

/// Nothing when the word names none of these.
std::optional<Format> parse_format(std::string_view word);
unsigned bits_of(Format format);
bool is_float(Format format);

/// Exact, but for the low 13 bits of a tf32, which do not belong to it. Precondition: a format of floats.
double decode_float(Format format, std::uint64_t bits);
/// Precondition: a format of integers.
std::int64_t decode_integer(Format format, std::uint64_t bits);
/// Rounded to the nearest, ties to even. NaN gives the canonical one. Precondition: f16, bf16, f32 or f64.
std::uint64_t encode_float(Format format, double value);
/// Rounded to the nearest, ties to even; what is beyond the range becomes the largest number. NaN gives the
/// format's own, or the largest number where it has none. Precondition: a format of at most 8 bits.
std::uint8_t encode_small(Format format, double value);

}  // namespace lynxpp::device::cpu
