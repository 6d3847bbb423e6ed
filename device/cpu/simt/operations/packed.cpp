// Pairs of floats, formats of 8 bits and fewer, and packing conversions.
#include <algorithm>
#include <bit>
#include <cmath>

#include "device/cpu/simt/lanes/lane_functions.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "device/cpu/simt/operations/formats.h"
#include "device/cpu/simt/operations/operation.h"

namespace lynxpp::device::cpu {
namespace {

using Floats = std::array<float, warp_size>;

float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

float nearest(char operation, float a, float b, float c) {
  switch (operation) {
    case 'a': return a + b;
    case 's': return a - b;
    case 'm': return a * b;
    default: return std::fma(a, b, c);
  }
}

void take_floats(Floats& floats, const Lanes& lanes, unsigned shift, bool flushes) {
  for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(lanes[lane] >> shift));
    floats[lane] = flushes ? flushed(value) : value;
  }
}

}  // namespace

/// {add,sub,mul,fma}{.rnd}{.ftz}.f32x2
Result<Operation> make_packed(OperationRequest& request) {
  OpcodeWords& words = request.words;
  const std::string root(words.root());
  const std::string_view mode = words.take_of({"rn", "rz", "rm", "rp"});
  const bool flushes = words.take("ftz");
  const unsigned operands = root == "fma" ? 3 : 2;
  if (!words.take("f32x2") || request.sources.size() != operands) return refuse(request);
  const LaneOperation* const directed =
      mode.empty() || mode == "rn" ? nullptr : find_lane_operation(root + "." + std::string(mode) + ".f32");
  const auto run = [=, operation = root[0]](const OperationCall& call) {
    call.out[0].fill(0);
    for (unsigned shift = 0; shift < 64; shift += 32) {
      Floats values[3] = {};
      for (unsigned i = 0; i < operands; ++i) take_floats(values[i], call.in[i], shift, flushes);
      Floats results{};
      if (directed != nullptr)
        directed->function(call.mask, results.data(), values[0].data(), values[1].data(), values[2].data());
      for_each_lane(call.mask, [&](std::uint32_t lane) {
        float value = directed != nullptr
                          ? results[lane]
                          : nearest(operation, values[0][lane], values[1][lane], values[2][lane]);
        if (flushes) value = flushed(value);
        const std::uint64_t bits = std::isnan(value) ? 0x7fff'ffffu : std::bit_cast<std::uint32_t>(value);
        call.out[0][lane] |= bits << shift;
      });
    }
  };
  return Operation{.run = run};
}

namespace {

/// Calls `compute(lane)` for the result of every active lane.
template <typename Compute>
Operation for_each_result(Compute compute) {
  return Operation{.run = [compute](const OperationCall& call) {
    for_each_lane(call.mask, [&](std::uint32_t lane) { call.out[0][lane] = compute(call.in, lane); });
  }};
}

std::uint32_t to_tf32(std::uint32_t bits, std::string_view mode, bool relu, bool saturates) {
  constexpr std::uint32_t infinity = 0x7f80'0000;
  if ((bits & 0x7fff'ffff) > infinity) return mode == "rna" ? bits : 0x7fff'e000;
  if (relu && (bits >> 31) != 0) return 0;
  if ((bits & 0x7fff'ffff) != infinity) {
    const std::uint32_t odd = bits >> 13 & 1;
    if (mode == "rna") bits += 0x1000;
    if (mode == "rn") bits += 0xfff + odd;
    bits &= 0xffff'e000;
  }
  if (saturates && (bits & 0x7fff'ffff) == infinity) bits = (bits & 0x8000'0000) | 0x7f7f'e000;
  return bits;
}

/// cvt.{rn,rz,rna}{.satfinite}{.relu}.tf32.f32
Result<Operation> make_tf32(OperationRequest& request, std::string_view mode, bool relu, bool saturates) {
  if (!request.words.take("f32") || request.sources.size() != 1 || (mode == "rna" && relu))
    return refuse(request);
  return for_each_result([=](const Lanes* in, std::uint32_t lane) -> std::uint64_t {
    return to_tf32(static_cast<std::uint32_t>(in[0][lane]), mode, relu, saturates);
  });
}

/// Of .relu: zero is positive, too, and NaN stays.
double positive(double value) { return std::signbit(value) && !std::isnan(value) ? 0.0 : value; }

/// The format of "e4m3x2" and its like.
std::optional<Format> pair_format(std::string_view word) {
  if (!word.ends_with("x2")) return std::nullopt;
  const std::optional<Format> format = parse_format(word.substr(0, word.size() - 2));
  return format && is_float(*format) && bits_of(*format) <= 8 ? format : std::nullopt;
}

/// Bits that one number of a pair takes: those of six bits are padded to eight.
unsigned width_in_pair(Format format) { return format == Format::e2m1 ? 4 : 8; }

/// cvt.rn.satfinite{.relu}.pair.{f32,f16x2}: of two floats the first becomes the upper half.
Result<Operation> make_to_pair(OperationRequest& request, Format to, bool relu) {
  OpcodeWords& words = request.words;
  const bool from_floats = words.take("f32");
  if (!from_floats && (!words.take("f16x2") || bits_of(to) != 8)) return refuse(request);
  if (request.sources.size() != (from_floats ? 2u : 1u)) return failure("malformed operands");
  return for_each_result([=](const Lanes* in, std::uint32_t lane) {
    const auto narrow = [&](double value) -> std::uint64_t {
      return encode_small(to, relu ? positive(value) : value);
    };
    const double high =
        from_floats ? decode_float(Format::f32, in[0][lane]) : decode_float(Format::f16, in[0][lane] >> 16);
    const double low =
        from_floats ? decode_float(Format::f32, in[1][lane]) : decode_float(Format::f16, in[0][lane]);
    return narrow(high) << width_in_pair(to) | narrow(low);
  });
}

/// cvt.rn{.relu}.f16x2.pair
Result<Operation> make_from_pair(OperationRequest& request, Format from, bool relu) {
  if (request.sources.size() != 1) return failure("malformed operands");
  return for_each_result([=](const Lanes* in, std::uint32_t lane) {
    const auto widen = [&](std::uint64_t bits) {
      const double value = decode_float(from, bits);
      return encode_float(Format::f16, relu ? positive(value) : value);
    };
    const std::uint64_t low_mask = (std::uint64_t{1} << width_in_pair(from)) - 1;
    return widen(in[0][lane] >> width_in_pair(from) & low_mask) << 16 | widen(in[0][lane] & low_mask);
  });
}

/// cvt.pack.sat.to.s32{.b32} d, a, b{, c}: c, a and b one behind the other, b lowest.
Result<Operation> make_pack(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (!words.take("sat")) return refuse(request);
  const std::string_view to = words.take_of({"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"});
  if (to.empty() || !words.take("s32")) return refuse(request);
  const unsigned bits = static_cast<unsigned>(to.ends_with("16") ? 16 : to[1] - '0');
  const bool has_third = words.take("b32");
  if (has_third == (bits == 16) || request.sources.size() != (has_third ? 3u : 2u)) return refuse(request);
  const bool sign = to[0] == 's';
  return for_each_result([=](const Lanes* in, std::uint32_t lane) -> std::uint64_t {
    const auto clamped = [&](std::uint64_t word) {
      const std::int64_t highest = (std::int64_t{1} << (sign ? bits - 1 : bits)) - 1;
      const std::int64_t lowest = sign ? -highest - 1 : 0;
      const std::int64_t value = static_cast<std::int32_t>(word);
      return static_cast<std::uint64_t>(std::clamp(value, lowest, highest)) & ((1u << bits) - 1);
    };
    const std::uint64_t third = has_third ? in[2][lane] << (2 * bits) : 0;
    return (third | clamped(in[0][lane]) << bits | clamped(in[1][lane])) & 0xffff'ffff;
  });
}

}  // namespace

Result<Operation> make_conversion(OperationRequest& request) {
  OpcodeWords& words = request.words;
  if (words.take("pack")) return make_pack(request);
  const std::string_view mode = words.take_of({"rn", "rz", "rna"});
  bool saturates = words.take("satfinite");
  const bool relu = words.take("relu");
  saturates |= words.take("satfinite");
  if (mode.empty()) return refuse(request);
  if (words.take("tf32")) return make_tf32(request, mode, relu, saturates);
  if (mode != "rn") return refuse(request);
  if (const std::optional<Format> to = pair_format(words.front()); to && saturates) {
    words.take_any();
    return make_to_pair(request, *to, relu);
  }
  if (saturates || !words.take("f16x2")) return refuse(request);
  const std::optional<Format> from = pair_format(words.front());
  if (!from) return refuse(request);
  words.take_any();
  return make_from_pair(request, *from, relu);
}

}  // namespace lynxpp::device::cpu
