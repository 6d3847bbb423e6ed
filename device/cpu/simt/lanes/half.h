// Half precision in software: f16 and bf16 values as 16-bit patterns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "device/cpu/simt/lanes/lane_operation.h"

namespace lynxpp::device::cpu {

/// Fields of a 16-bit floating-point format.
struct HalfFormat {
  int exponent_bits;
  int mantissa_bits;
  std::uint16_t canonical_nan;
};
inline constexpr HalfFormat binary16{5, 10, 0x7fff};
inline constexpr HalfFormat brain16{8, 7, 0x7fff};

enum class HalfRounding { nearest_even, toward_zero, downward, upward };

/// Converts exactly.
double half_to_double(std::uint16_t half, const HalfFormat& format);
/// Rounds once; NaN becomes the format's canonical NaN.
std::uint16_t double_to_half(double value, const HalfFormat& format, HalfRounding rounding);

/// Adds the operations on f16, f16x2, bf16 and bf16x2 to the table.
void add_half_operations(std::map<std::string, LaneOperation, std::less<>>& table);

}  // namespace lynxpp::device::cpu
