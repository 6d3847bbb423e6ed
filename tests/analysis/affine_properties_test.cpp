// Forms of random straight-line programs compared with the programs' results, for random threads: exact forms
// must agree.
#include <cstdint>
#include <map>
#include <random>

#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

/// A thread of a random launch.
struct Thread {
  std::uint32_t tid, ntid, ctaid, nctaid, parameter;
};

std::uint64_t number_of(const Symbol& symbol, const Thread& thread,
                        const std::map<ValueId, std::uint64_t>& values) {
  switch (symbol.kind) {
    case SymbolKind::tid: return thread.tid;
    case SymbolKind::ntid: return thread.ntid;
    case SymbolKind::ctaid: return thread.ctaid;
    case SymbolKind::nctaid: return thread.nctaid;
    case SymbolKind::parameter: return thread.parameter;
    default: return values.at(symbol.index);
  }
}

std::uint64_t value_of(const AffineForm& form, const std::vector<Symbol>& symbols, const Thread& thread,
                       const std::map<ValueId, std::uint64_t>& values) {
  auto sum = static_cast<std::uint64_t>(form.constant);
  for (const Term& term : form.terms) {
    auto product = static_cast<std::uint64_t>(term.coefficient);
    for (std::uint8_t index = 0; index < term.product.degree; ++index)
      product *= number_of(symbols[term.product.symbols[index]], thread, values);
    sum += product;
  }
  return form.bits == 32 ? static_cast<std::uint32_t>(sum) : sum;
}

/// A program and the results of its instructions, generated together.
class RandomProgram {
 public:
  RandomProgram(std::mt19937& random, const Thread& thread) : random_(random) {
    add32("mov.u32 R, %tid.x;", thread.tid);
    add32("mov.u32 R, %ntid.x;", thread.ntid);
    add32("mov.u32 R, %ctaid.x;", thread.ctaid);
    add32("mov.u32 R, %nctaid.x;", thread.nctaid);
    add32("ld.param.u32 R, [n];", thread.parameter);
    add64("mov.u64 R, 1000;", 1000);
    for (int count = 0; count < 25; ++count) add_random();
  }

  std::string text;
  std::vector<std::uint64_t> results;  ///< per instruction

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  void add(std::string instruction, const std::string& reg, std::uint64_t result) {
    instruction.replace(instruction.find('R'), 1, reg);
    text += instruction + "\n";
    results.push_back(result);
  }
  void add32(const std::string& instruction, std::uint32_t result) {
    narrow_.push_back(result);
    add(instruction, "%r" + std::to_string(narrow_.size()), result);
  }
  void add64(const std::string& instruction, std::uint64_t result) {
    wide_.push_back(result);
    add(instruction, "%rd" + std::to_string(wide_.size()), result);
  }

  void add_random() {
    const std::uint32_t first = below(static_cast<std::uint32_t>(narrow_.size()));
    const std::uint32_t second = below(static_cast<std::uint32_t>(narrow_.size()));
    const std::uint32_t a = narrow_[first];
    const std::uint32_t b = narrow_[second];
    const std::string ra = "%r" + std::to_string(first + 1);
    const std::string rb = "%r" + std::to_string(second + 1);
    const std::uint32_t wide_index = below(static_cast<std::uint32_t>(wide_.size()));
    const std::uint64_t w = wide_[wide_index];
    const std::string rw = "%rd" + std::to_string(wide_index + 1);
    const std::uint32_t shift = below(33);  // shifts by 32 or more clear the value
    const std::uint32_t mask = below(64);
    const auto sign = [](std::uint32_t value) {
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(value)));
    };
    switch (below(16)) {
      case 0: return add32("add.s32 R, " + ra + ", " + rb + ";", a + b);
      case 1: return add32("sub.s32 R, " + ra + ", " + rb + ";", a - b);
      case 2: return add32("mul.lo.s32 R, " + ra + ", " + rb + ";", a * b);
      case 3: return add32("mad.lo.s32 R, " + ra + ", 4, " + rb + ";", a * 4 + b);
      case 4:
        return add32("shl.b32 R, " + ra + ", " + std::to_string(shift) + ";", shift > 31 ? 0 : a << shift);
      case 5: return add32("or.b32 R, " + ra + ", " + rb + ";", a | b);
      case 6: return add32("not.b32 R, " + ra + ";", ~a);
      case 7: return add32("neg.s32 R, " + ra + ";", 0 - a);
      case 8: return add32("and.b32 R, " + ra + ", " + std::to_string(mask) + ";", a & mask);
      case 9: return add32("shr.u32 R, " + ra + ", 5;", a >> 5);
      case 10: return add32("xor.b32 R, " + ra + ", " + std::to_string(mask) + ";", a ^ mask);
      case 11: return add32("cvt.u32.u64 R, " + rw + ";", static_cast<std::uint32_t>(w));
      case 12: return add64("mul.wide.s32 R, " + ra + ", 4;", sign(a) * 4);
      case 13: return add64("mul.wide.u32 R, " + ra + ", " + rb + ";", std::uint64_t{a} * b);
      case 14: return add64("cvt.s64.s32 R, " + ra + ";", sign(a));
      default: return add64("mad.wide.u32 R, " + ra + ", 8, " + rw + ";", std::uint64_t{a} * 8 + w);
    }
  }

  std::mt19937& random_;
  std::vector<std::uint32_t> narrow_;
  std::vector<std::uint64_t> wide_;
};

TEST(AffineProperties, ExactFormsMatchProgramResults) {
  std::mt19937 random(7);
  std::size_t exact = 0;
  std::size_t structured = 0;
  for (int round = 0; round < 400 && !testing::Test::HasFailure(); ++round) {
    const std::uint32_t ntid = 1 + static_cast<std::uint32_t>(random() % 1024);
    const std::uint32_t blocks = 1 + static_cast<std::uint32_t>(random() % ((2147483647U - 2048U) / ntid));
    const Thread thread{static_cast<std::uint32_t>(random() % ntid), ntid,
                        static_cast<std::uint32_t>(random() % blocks), blocks,
                        static_cast<std::uint32_t>(random())};
    const RandomProgram program(random, thread);
    SCOPED_TRACE(program.text);
    Analysed analysed(program.text);
    std::map<ValueId, std::uint64_t> values;
    for (std::uint32_t at = 0; at < program.results.size(); ++at)
      values[analysed->ssa().writes(at)[0]] = program.results[at];
    for (const auto& [value, result] : values) {
      const auto form = analysed->affine().of_value(value);
      ASSERT_TRUE(form);
      if (!form->exact) continue;
      ++exact;
      structured += form->coefficient_of(0) != 0 ? 1 : 0;
      EXPECT_EQ(value_of(*form, analysed->affine().symbols(), thread, values), result)
          << "instruction " << analysed->ssa().values()[value].instruction << ": "
          << analysed->affine().text(*form);
    }
  }
  EXPECT_GT(exact, 8000U);
  EXPECT_GT(structured, 1000U) << "most are more than symbols of their own";
}

}  // namespace
}  // namespace lynxpp::ptx
