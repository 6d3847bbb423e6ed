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

/// Columns of one vector: two on every x86-64 processor, four with AVX.
using Pair = double __attribute__((vector_size(16), aligned(8), may_alias));
using Quad = double __attribute__((vector_size(32), aligned(8), may_alias));

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

/// Adds the products for `vectors` vectors of columns of one row.
template <typename Vector, unsigned vectors>
[[gnu::always_inline]] inline void multiply_block(MatrixPanels& panels, unsigned row, unsigned column) {
  const double* const factors = &panels.a[std::size_t{row} * panels.depth];
  const std::uint16_t* const lines = &panels.lines[std::size_t{row} * panels.depth];
  auto* const sums = reinterpret_cast<Vector*>(&panels.sums[std::size_t{row} * panels.columns + column]);
  Vector totals[vectors];
#pragma GCC unroll 8
  for (unsigned i = 0; i < vectors; ++i) totals[i] = sums[i];
  for (unsigned k = 0; k < panels.depth; ++k) {
    const auto* const others =
        reinterpret_cast<const Vector*>(&panels.b[std::size_t{lines[k]} * panels.columns + column]);
#pragma GCC unroll 8
    for (unsigned i = 0; i < vectors; ++i) totals[i] += factors[k] * others[i];
  }
#pragma GCC unroll 8
  for (unsigned i = 0; i < vectors; ++i) sums[i] = totals[i];
}

/// Blocks of 32 columns hide the latency of additions.
template <typename Vector>
[[gnu::always_inline]] inline void multiply_rows(MatrixPanels& panels) {
  constexpr unsigned narrow = 8 * sizeof(double) / sizeof(Vector);
  for (unsigned row = 0; row < panels.rows; ++row) {
    unsigned column = 0;
    if constexpr (sizeof(Vector) == sizeof(Quad)) {
      for (; column + 32 <= panels.columns; column += 32) multiply_block<Vector, 8>(panels, row, column);
    }
    for (; column < panels.columns; column += 8) multiply_block<Vector, narrow>(panels, row, column);
  }
}

void multiply_pairs(MatrixPanels& panels) { multiply_rows<Pair>(panels); }

/// Computes the same: products are exact, so that fused additions round as others do.
[[gnu::target("avx2,fma")]] void multiply_quads(MatrixPanels& panels) { multiply_rows<Quad>(panels); }

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

void decode_elements(Format format, std::span<const std::uint64_t> from, std::span<double> to) {
  const auto decode = [&](const auto& one) { std::ranges::transform(from, to.begin(), one); };
  switch (format) {
    case Format::f16:
      return decode([](std::uint64_t bits) { return decode_half(static_cast<std::uint16_t>(bits)); });
    case Format::bf16:
      return decode([](std::uint64_t bits) {
        return double{std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16)};
      });
    case Format::tf32: return decode([](std::uint64_t bits) { return decode_float(Format::tf32, bits); });
    case Format::s4:
    case Format::u4:
      return decode([&](std::uint64_t bits) { return static_cast<double>(decode_integer(format, bits)); });
    default: break;
  }
  const std::array<double, 256>& table = byte_table(format);
  decode([&](std::uint64_t bits) { return table[bits & 0xff]; });
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
  static const bool has_quads = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  has_quads ? multiply_quads(*this) : multiply_pairs(*this);
}

}  // namespace lynxpp::device::cpu
