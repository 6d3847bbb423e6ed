// Reductions of many elements: atomics on vectors of halves and bulk reductions, each operation and type
// compared with C++.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using Bytes = std::array<std::uint8_t, 64>;

struct Reduction {
  std::string opcode;  ///< ".add.u32"
  unsigned width = 4;  ///< bytes per element
  std::function<std::uint64_t(std::uint64_t, std::uint64_t)> compute;
  bool in_blocks_too = false;  ///< also tested with a target in shared memory
};

std::int64_t as_signed(std::uint64_t word, unsigned width) {
  const unsigned unused = 64 - 8 * width;
  return static_cast<std::int64_t>(word << unused) >> unused;
}

float half(std::uint64_t word) {
  return static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(word)));
}
float brain(std::uint64_t word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word << 16)); }

/// A number wins over NaN, and −0 is less than +0.
std::uint64_t order(std::uint64_t a, std::uint64_t b, float (*value)(std::uint64_t), bool minimum) {
  const float x = value(a);
  const float y = value(b);
  if (std::isnan(x) && std::isnan(y)) return 0x7fff;
  if (std::isnan(x)) return b;
  if (std::isnan(y)) return a;
  const bool is_less = x < y || (x == y && std::signbit(x));
  return is_less == minimum ? a : b;
}

std::uint64_t float_sum(std::uint64_t a, std::uint64_t b) {
  const auto flushed = [](float value) {
    return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
  };
  const auto value = [&](std::uint64_t bits) {
    return flushed(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  };
  return std::bit_cast<std::uint32_t>(flushed(value(a) + value(b)));
}

std::uint64_t half_sum(std::uint64_t a, std::uint64_t b) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(half(a) + half(b)));
}

/// Adds exactly in float, then rounds to nearest even.
std::uint64_t brain_sum(std::uint64_t a, std::uint64_t b) {
  const auto bits = std::bit_cast<std::uint32_t>(brain(a) + brain(b));
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

std::vector<Reduction> half_orders() {
  return {{".min.f16", 2, [](auto a, auto b) { return order(a, b, half, true); }},
          {".max.f16", 2, [](auto a, auto b) { return order(a, b, half, false); }},
          {".min.bf16", 2, [](auto a, auto b) { return order(a, b, brain, true); }},
          {".max.bf16", 2, [](auto a, auto b) { return order(a, b, brain, false); }}};
}

std::vector<Reduction> reductions() {
  std::vector<Reduction> all = half_orders();
  for (const unsigned width : {4u, 8u}) {
    const std::string bits = std::to_string(width * 8);
    const bool both = width == 4;
    all.push_back({".and.b" + bits, width, [](auto a, auto b) { return a & b; }, both});
    all.push_back({".or.b" + bits, width, [](auto a, auto b) { return a | b; }, both});
    all.push_back({".xor.b" + bits, width, [](auto a, auto b) { return a ^ b; }, both});
    all.push_back({".add.u" + bits, width, [](auto a, auto b) { return a + b; }, true});
    all.push_back({".min.u" + bits, width, [](auto a, auto b) { return std::min(a, b); }, both});
    all.push_back({".max.u" + bits, width, [](auto a, auto b) { return std::max(a, b); }, both});
    for (const bool minimum : {true, false}) {
      const auto compute = [=](std::uint64_t a, std::uint64_t b) {
        return (as_signed(a, width) < as_signed(b, width)) == minimum ? a : b;
      };
      all.push_back({(minimum ? ".min.s" : ".max.s") + bits, width, compute, both});
    }
  }
  all.push_back({".add.s32", 4, [](auto a, auto b) { return a + b; }, true});
  all.push_back({".inc.u32", 4, [](auto a, auto b) { return a >= b ? 0 : a + 1; }, true});
  all.push_back({".dec.u32", 4, [](auto a, auto b) { return a == 0 || a > b ? b : a - 1; }, true});
  all.push_back({".add.f32", 4, float_sum});
  all.push_back({".add.f64", 8, [](auto a, auto b) {
                   return std::bit_cast<std::uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
                 }});
  all.push_back({".add.noftz.f16", 2, half_sum});
  all.push_back({".add.noftz.bf16", 2, brain_sum});
  return all;
}

std::uint64_t element(const Bytes& bytes, unsigned at, unsigned width) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, width);
  return value;
}

/// Generates NaNs only for 16-bit elements that are not summed.
Bytes operand(std::uint32_t state, bool with_nan) {
  Bytes bytes{};
  for (std::uint8_t& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
  for (unsigned at = 1; at < 64; at += 2) bytes[at] &= 0xb7;  // no exponent is all ones
  if (!with_nan) return bytes;
  const std::uint16_t special[] = {0x7fff, 0x8000, 0x0000, 0xffff};
  std::memcpy(bytes.data() + 16 * (state % 2), special, sizeof special);
  return bytes;
}

void expect_reduced(const Reduction& each, const std::string& opcode, const Bytes& before, const Bytes& with,
                    const Bytes& after) {
  for (unsigned at = 0; at < 64; at += each.width) {
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - 8 * each.width);
    EXPECT_EQ(element(after, at, each.width),
              each.compute(element(before, at, each.width), element(with, at, each.width)) & mask)
        << opcode << " at byte " << at;
  }
}

void launch(const std::string& text, Bytes& to, const Bytes& from) {
  const auto module = load(text);
  ASSERT_NE(module, nullptr);
  const Status ran =
      module->launch("test", {{1, 1, 1}, {32, 1, 1}}, Arguments(to.data(), from.data()).bytes(), nullptr);
  EXPECT_EQ(text_of(ran), "") << text;
}

/// One lane copies both operands into shared memory and reduces there, or into global memory.
std::string bulk_kernel(const std::string& reduction, bool to_shared) {
  const std::string instruction =
      to_shared ? "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes" +
                      reduction + " [target], [source], 64, [bar]"
                : "cp.reduce.async.bulk.global.shared::cta.bulk_group" + reduction + " [%x], [source], 64";
  std::string text = R"(.visible .entry test(.param .u64 p0, .param .u64 p1) {
  .shared .align 16 .b8 source[64];
  .shared .align 16 .b8 target[64];
  .shared .b64 bar;
  .reg .b64 %x, %y, %v;
  .reg .pred %p;
  .reg .b32 %t;
  mov.u32 %t, %tid.x;
  setp.ne.u32 %p, %t, 0;
  @%p exit;
  ld.param.u64 %x, [p0];
  ld.param.u64 %y, [p1];
  mbarrier.init.shared.b64 [bar], 1;
)";
  for (unsigned at = 0; at < 64; at += 8) {
    const std::string place = "+" + std::to_string(at) + "]";
    text += "  ld.global.b64 %v, [%y" + place + ";\n  st.shared.b64 [source" + place + ", %v;\n";
    text += "  ld.global.b64 %v, [%x" + place + ";\n  st.shared.b64 [target" + place + ", %v;\n";
  }
  if (!to_shared)
    return text + "  " + instruction +
           ";\n  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\n  ret;\n}\n";
  text += "  mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;\n  " + instruction +
          ";\nagain:\n  mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;\n  @!%p bra again;\n";
  for (unsigned at = 0; at < 64; at += 8) {
    const std::string place = "+" + std::to_string(at) + "]";
    text += "  ld.shared.b64 %v, [target" + place + ";\n  st.global.b64 [%x" + place + ", %v;\n";
  }
  return text + "  ret;\n}\n";
}

TEST(BulkReductions, ReduceEachElement) {
  for (const Reduction& each : reductions()) {
    const bool orders_halves = each.width == 2 && each.opcode.find("add") == std::string::npos;
    for (const bool to_shared : {false, true}) {
      if (to_shared && !each.in_blocks_too) continue;
      alignas(16) Bytes to = operand(11, orders_halves);
      alignas(16) const Bytes from = operand(12, orders_halves);
      const Bytes before = to;
      launch(bulk_kernel(each.opcode, to_shared), to, from);
      expect_reduced(each, each.opcode, before, from, to);
    }
  }
}

/// Float sums flush subnormals to zero; double and half sums do not.
TEST(BulkReductions, FlushSubnormalFloats) {
  alignas(16) Bytes to{};
  alignas(16) Bytes from{};
  const std::uint32_t old[] = {0x0000'0001, 0x8000'0001, 0x0080'0000, 0x3f80'0000};
  const std::uint32_t added[] = {0x0000'0001, 0x8000'0000, 0x8080'0001, 0x0000'ffff};
  std::memcpy(to.data(), old, sizeof old);
  std::memcpy(from.data(), added, sizeof added);
  launch(bulk_kernel(".add.f32", false), to, from);
  const std::uint32_t expected[] = {0, 0x8000'0000, 0x8000'0000, 0x3f80'0000};
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(element(to, 4 * i, 4), expected[i]) << i;
}

/// {atom,red}.global{.min,.max}.noftz of 2, 4 and 8 halves, or 2 and 4 pairs of halves.
TEST(WideAtomics, OrderHalves) {
  for (const Reduction& each : half_orders()) {
    const std::string op = each.opcode.substr(0, 4);
    for (const bool pairs : {false, true}) {
      for (const unsigned count : {2u, 4u, 8u}) {
        if (pairs && count == 8) continue;
        const std::string type = each.opcode.substr(4) + (pairs ? "x2" : "");
        const std::string width = pairs ? "32" : "16";
        const unsigned bytes = count * (pairs ? 4 : 2);
        const std::string modifiers = ".global" + op + ".noftz.v" + std::to_string(count) + type;
        std::string d, b, loads, stores;
        for (unsigned i = 0; i < count; ++i) {
          const std::string index = std::to_string(i);
          const unsigned at = i * bytes / count;
          d += (i == 0 ? "" : ", ") + ("%d" + index);
          b += (i == 0 ? "" : ", ") + ("%s" + index);
          loads += "  ld.global.b" + width + " %s" + index + ", [%y+" + std::to_string(at) + "];\n";
          stores += "  st.global.b" + width + " [%x+" + std::to_string(32 + at) + "], %d" + index + ";\n";
        }
        alignas(16) Bytes to = operand(11, true);
        alignas(16) const Bytes from = operand(12, true);
        const Bytes before = to;
        launch(".visible .entry test(.param .u64 p0, .param .u64 p1) {\n  .reg .b64 %x, %y;\n  .reg .b" +
                   width +
                   " %d<8>, %s<8>;\n  .reg .pred %p;\n  .reg .b32 %t;\n  mov.u32 %t, %tid.x;\n"
                   "  setp.ne.u32 %p, %t, 0;\n  @%p exit;\n  ld.param.u64 %x, [p0];\n  ld.param.u64 %y, "
                   "[p1];\n" +
                   loads + "  atom" + modifiers + " {" + d + "}, [%x], {" + b + "};\n  red" + modifiers +
                   " [%x+16], {" + b + "};\n" + stores + "  ret;\n}\n",
               to, from);
        for (unsigned at = 0; at < bytes; at += 2) {
          const std::uint64_t with = element(from, at, 2);
          EXPECT_EQ(element(to, at, 2), each.compute(element(before, at, 2), with)) << modifiers << " " << at;
          EXPECT_EQ(element(to, 16 + at, 2), each.compute(element(before, 16 + at, 2), with)) << modifiers;
          EXPECT_EQ(element(to, 32 + at, 2), element(before, at, 2)) << modifiers;
        }
      }
    }
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
