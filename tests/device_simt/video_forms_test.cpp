// Video instructions that shift, average, and multiply-add, each form compared with the ISA's text. An H100
// (driver 580, CUDA 13.0) agreed with it in 22 of 33 forms, on 512 triples of words each; the other forms are
// rejected.
#include <gmock/gmock.h>

#include "form_table.h"
#include "kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

const char* type_name(bool sign) { return sign ? ".s32" : ".u32"; }

/// Shift distances, and arbitrary words.
Registers distances() {
  Registers values = rotated(words(), 5);
  for (std::uint64_t by = 0; by < 16; ++by) values[2 * by] = by * 5 / 2;
  return values;
}

std::int64_t distance(std::uint64_t word, bool wraps) {
  const auto by = static_cast<std::int64_t>(word & 0xffff'ffff);
  return wraps ? by % 32 : std::min<std::int64_t>(by, 32);
}

std::uint64_t accumulated(const std::string& second, std::uint64_t value, std::uint64_t c, bool sign) {
  if (second.empty()) return value;
  if (second == ".add") return (value + c) & 0xffff'ffff;
  const bool is_less = field(value, 0, 32, sign) < field(c, 0, 32, sign);
  return is_less == (second == ".min") ? value : c;
}

void add_shifts(std::vector<FormCase>& cases, bool left, bool sign, bool wraps) {
  for (const std::string second : {"", ".add", ".min", ".max"}) {
    for (const bool saturates : {false, true}) {
      if (left && saturates) continue;
      InstructionForm form{std::string(left ? "vshl" : "vshr") + type_name(sign) + type_name(sign) + ".u32" +
                               (saturates ? ".sat" : "") + (wraps ? ".wrap" : ".clamp") + second,
                           {{1, 32}},
                           {{1, 32}, {1, 32}}};
      std::vector<Registers> values = {words(), distances()};
      if (!second.empty()) {
        form.sources.push_back({1, 32});
        values.push_back(rotated(words(), 11));
      }
      std::string name = form.opcode;
      std::ranges::replace(name, '.', '_');
      cases.push_back({name, form, values, [=](const Registers& in) -> Registers {
                         const std::int64_t by = distance(in[1], wraps);
                         const std::int64_t value = field(in[0], 0, 32, sign);
                         const std::uint64_t result =
                             left ? in[0] << by : static_cast<std::uint64_t>(value >> by);
                         return {accumulated(second, result & 0xffff'ffff, second.empty() ? 0 : in[2], sign)};
                       }});
    }
  }
}

void add_averages(std::vector<FormCase>& cases, unsigned count, bool sign, bool saturates, bool sums) {
  if (saturates && sums) return;
  const unsigned bits = 32 / count;
  const std::string types = std::string(type_name(sign)) + type_name(sign) + type_name(sign);
  const std::string opcode =
      "vavrg" + std::to_string(count) + types + (saturates ? ".sat" : "") + (sums ? ".add" : "");
  std::string name = opcode;
  std::ranges::replace(name, '.', '_');
  cases.push_back({name,
                   {opcode, {{1, 32}}, {{1, 32}, {1, 32}, {1, 32}}},
                   {words(), rotated(words(), 3), rotated(words(), 7)},
                   [=](const Registers& in) -> Registers {
                     std::uint64_t result = sums ? in[2] : 0;
                     for (unsigned at = 0; at < 32; at += bits) {
                       const std::int64_t both = field(in[0], at, bits, sign) + field(in[1], at, bits, sign);
                       // Rounds half away from zero for sums that are not negative, otherwise down.
                       std::int64_t value = (both >= 0 ? both + 1 : both) >> 1;
                       if (saturates) value = clamp_to(value, bits, sign);
                       const auto mask = (std::uint64_t{1} << bits) - 1;
                       if (sums)
                         result += static_cast<std::uint64_t>(value);
                       else
                         result |= (static_cast<std::uint64_t>(value) & mask) << at;
                     }
                     return {result & 0xffff'ffff};
                   }});
}

struct Product {
  const char* name;
  const char* opcode;
  const char* a;  ///< selectors
  const char* b;
  bool a_signed, b_signed;
  int sign_of_product, sign_of_sum;
  unsigned shift;
  bool adds_one, saturates;
};

/// 64 bits hold every sum of these operands.
void add_products(std::vector<FormCase>& cases) {
  for (const Product& product :
       {Product{"bytes", "vmad.u32.u32.u32", ".b0", ".b1", false, false, 1, 1, 0, false, false},
        {"halves", "vmad.s32.s32.s32", ".h0", ".h1", true, true, 1, 1, 0, false, false},
        {"negated_product", "vmad.s32.u32.u32", ".h0", ".h1", false, false, -1, 1, 0, false, false},
        {"negated_sum", "vmad.s32.u32.s32.sat", ".h0", ".h1", false, true, 1, -1, 0, false, true},
        {"scaled", "vmad.s32.s32.u32.sat.shr15", ".h0", ".h1", true, false, 1, 1, 15, false, true},
        {"plus_one", "vmad.s32.s32.s32.po.sat.shr15", ".b3", ".h1", true, true, 1, 1, 15, true, true},
        {"plus_one_unsigned", "vmad.u32.u32.u32.po", ".h1", ".b2", false, false, 1, 1, 0, true, false},
        {"words", "vmad.s32.s32.s32.sat", "", "", true, true, 1, 1, 0, false, true},
        {"scaled_difference", "vmad.s32.u32.u32.shr7", ".h0", ".h1", false, false, 1, -1, 7, false, false}}) {
    InstructionForm form{product.opcode,        {{1, 32}}, {{1, 32}, {1, 32}, {1, 32}}, "", "",
                         {product.a, product.b}};
    // The signs precede the registers.
    form.opcode = "{ " + form.opcode + " %d0, " + (product.sign_of_product < 0 ? "-" : "") + "%s0" +
                  product.a + ", %s1" + product.b + ", " + (product.sign_of_sum < 0 ? "-" : "") + "%s2; } //";
    const auto part = [](std::uint64_t word, const std::string& selector, bool sign) {
      if (selector.empty()) return field(word, 0, 32, sign);
      const unsigned bits = selector[1] == 'b' ? 8 : 16;
      return field(word, static_cast<unsigned>(selector[2] - '0') * bits, bits, sign);
    };
    cases.push_back({std::string("vmad_") + product.name,
                     form,
                     {words(), rotated(words(), 3), rotated(words(), 7)},
                     [=](const Registers& in) -> Registers {
                       const bool sign = product.a_signed || product.b_signed ||
                                         product.sign_of_product < 0 || product.sign_of_sum < 0;
                       std::int64_t value = part(in[0], product.a, product.a_signed) *
                                            part(in[1], product.b, product.b_signed) *
                                            product.sign_of_product;
                       value += field(in[2], 0, 32, sign) * product.sign_of_sum + product.adds_one;
                       value >>= product.shift;
                       if (product.saturates) value = clamp_to(value, 32, sign);
                       return {static_cast<std::uint32_t>(value)};
                     }});
  }
}

std::vector<FormCase> video_cases() {
  std::vector<FormCase> cases;
  for (const bool first : {false, true}) {
    for (const bool second : {false, true}) {
      for (const bool third : {false, true}) {
        add_shifts(cases, first, second, third);
        for (const unsigned count : {2u, 4u}) add_averages(cases, count, first, second, third);
      }
    }
  }
  add_products(cases);
  return cases;
}

class VideoForms : public ::testing::TestWithParam<FormCase> {};
TEST_P(VideoForms, MatchTheIsa) { check_form(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Table, VideoForms, ::testing::ValuesIn(video_cases()), name_of_form);

/// Forms in which an H100 deviates from the ISA's text.
TEST(VideoForms, ThatDeviateOnHardwareAreRejected) {
  for (const char* instruction :
       {"vshl.u32.u32.u32.sat.clamp %r1, %r2, %r3", "vshr.u32.s32.u32.clamp %r1.h1, %r2, %r3, %r4",
        "vshr.u32.s32.u32.clamp %r1, %r2.b2, %r3", "vmad.u32.u32.u32.sat %r1, %r2, %r3, %r4",
        "vmad.u32.u32.u32.shr7 %r1, %r2, %r3, %r4", "vmad.s32.u32.u32.po %r1, -%r2, %r3, %r4",
        "vadd.s32.s32.s32 %r1, -%r2, %r3", "vavrg.u32.u32.u32 %r1, %r2, %r3"}) {
    const auto module = load(".visible .entry test() {\n  .reg .b32 %r<8>;\n  " + std::string(instruction) +
                             ";\n  ret;\n}\n");
    ASSERT_NE(module, nullptr);
    EXPECT_THAT(text_of(module->compile("test", {})),
                ::testing::HasSubstr("is not supported by the cpu device"))
        << instruction;
  }
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
