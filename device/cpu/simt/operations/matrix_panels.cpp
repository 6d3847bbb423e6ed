#include "device/cpu/simt/operations/matrix_panels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/check.h"

namespace lynxpp::device::cpu {
namespace {

/// Two columns: the widest vector that every x86-64 processor has. Wider ones would pass through memory.
using Pair = double __attribute__((vector_size(16), aligned(8), may_alias));
constexpr unsigned block_columns = 8;
constexpr unsigned pairs = block_columns / 2;

template <typename Word>
Word word_at(const std::byte* from, std::size_t index) {
  Word word;
  std::memcpy(&word, from + index * sizeof word, sizeof word);
  return word;
}

/// Exponents differ by 112; a multiplication also normalizes subnormals.
double decode_half(std::uint16_t half) {
  const std::uint32_t magnitude = (half & 0x7fffu) << 13;
  const bool is_finite = (half & 0x7c00) != 0x7c00;
  const float value =
      is_finite ? std::bit_cast<float>(magnitude) * 0x1p112f : std::bit_cast<float>(magnitude | 0x7f80'0000u);
  return (half & 0x8000) != 0 ? -value : value;
}

std::uint32_t encode_half(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint32_t>(bits >> 48 & 0x8000);
  const std::uint64_t magnitude = bits << 1 >> 1;
  if (std::isnan(value)) return 0x7fff;
  // The unit of a subnormal is 2^-24, that of doubles in [2^28, 2^29).
  if (std::fabs(value) < 0x1p-14)
    return sign | static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(std::fabs(value) + 0x1p28) & 0x7ff);
  constexpr unsigned dropped = 42;
  const std::uint64_t half_unit = (std::uint64_t{1} << (dropped - 1)) - 1;
  const std::uint64_t rounded = (magnitude + half_unit + (magnitude >> dropped & 1)) >> dropped;
  constexpr std::uint64_t bias = (1023 - 15) << 10;
  return sign | static_cast<std::uint32_t>(std::min<std::uint64_t>(rounded - bias, 0x7c00));
}

const std::array<double, 256>& byte_table(Format format) {
  const auto made = [](Format of) {
    std::array<double, 256> table{};
    for (unsigned bits = 0; bits < 256; ++bits)
      table[bits] = is_float(of) ? decode_float(of, bits) : static_cast<double>(decode_integer(of, bits));
    return table;
  };
  static const std::array<std::array<double, 256>, 4> tables = {made(Format::e4m3), made(Format::e5m2),
                                                                made(Format::s8), made(Format::u8)};
  switch (format) {
    case Format::e4m3: return tables[0];
    case Format::e5m2: return tables[1];
    case Format::s8: return tables[2];
    default: LYNXPP_CHECK(format == Format::u8, "the format has no table"); return tables[3];
  }
}

}  // namespace

void decode_elements(Format format, const std::byte* from, std::span<double> to) {
  switch (format) {
    case Format::f16:
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = decode_half(word_at<std::uint16_t>(from, i));
      return;
    case Format::bf16:
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = std::bit_cast<float>(std::uint32_t{word_at<std::uint16_t>(from, i)} << 16);
      return;
    case Format::tf32:
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = decode_float(format, word_at<std::uint32_t>(from, i));
      return;
    default: break;
  }
  const std::array<double, 256>& table = byte_table(format);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = table[word_at<std::uint8_t>(from, i)];
}

double decode_sum(Format format, std::uint32_t bits) {
  if (format == Format::f16) return decode_half(static_cast<std::uint16_t>(bits));
  return format == Format::f32 ? std::bit_cast<float>(bits)
                               : static_cast<double>(std::bit_cast<std::int32_t>(bits));
}

std::uint32_t encode_sum(Format format, bool saturates, double sum) {
  if (format == Format::f16) return encode_half(sum);
  if (format == Format::f32) return static_cast<std::uint32_t>(encode_float(format, sum));
  auto whole = static_cast<std::int64_t>(sum);
  using Limits = std::numeric_limits<std::int32_t>;
  if (saturates) whole = std::clamp<std::int64_t>(whole, Limits::min(), Limits::max());
  return static_cast<std::uint32_t>(whole);
}

void MatrixPanels::multiply() {
  for (unsigned row = 0; row < rows; ++row) {
    const double* const factors = &a[std::size_t{row} * depth];
    const std::uint16_t* const line = &lines[std::size_t{row} * depth];
    for (unsigned column = 0; column < columns; column += block_columns) {
      auto* const sum = reinterpret_cast<Pair*>(&sums[std::size_t{row} * columns + column]);
      Pair totals[pairs];
      std::copy(sum, sum + pairs, totals);
      for (unsigned k = 0; k < depth; ++k) {
        const auto* const others = reinterpret_cast<const Pair*>(&b[std::size_t{line[k]} * columns + column]);
#pragma GCC unroll 4
        for (unsigned i = 0; i < pairs; ++i) totals[i] += factors[k] * others[i];
      }
      std::copy(totals, totals + pairs, sum);
    }
  }
}

}  // namespace lynxpp::device::cpu
