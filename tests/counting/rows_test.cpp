// Uniformity in launches with whole rows (ptx/analysis/values/lane_rows.h), compared with the values of the
// cpu device's threads.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "device/cpu/simt/execute/executor.h"
#include "ptx/analysis/analyses.h"
#include "ptx/parser/parser.h"
#include "tests/counting/fixture.h"

namespace lynxpp::cod {
namespace {

constexpr std::uint32_t steps = 40;

/// Each step computes a value from earlier ones and stores it; the threads' values of step i are at out[i *
/// threads of the launch].
class RandomArithmetic {
 public:
  explicit RandomArithmetic(std::mt19937& random) : random_(random) {}

  std::string make() {
    std::string body =
        "mov.u32 %t0, %tid.y;\nmov.u32 %t1, %ntid.x;\nmov.u32 %t2, %tid.x;\nmad.lo.u32 %t3, %t0, %t1, %t2;\n"
        "mov.u32 %t4, %ctaid.x;\nmov.u32 %t5, %ntid.y;\nmul.lo.u32 %t5, %t5, %t1;\nmad.lo.u32 %t3, %t4, %t5, "
        "%t3;\nmov.u32 %t6, %nctaid.x;\nmul.lo.u32 %t6, %t6, %t5;\nld.param.u64 %a, [out];\nmul.wide.u32 %b, "
        "%t3, 8;\nadd.u64 %a, %a, %b;\nmul.wide.u32 %b, %t6, 8;\n";
    for (; step_ < steps; ++step_)
      body += step() + "st.global.u64 [%a], " + wide(step_) + ";\nadd.u64 %a, %a, %b;\n";
    return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n.reg .pred "
           "%p<99>;\n.reg .b32 %v<99>, %t<9>;\n.reg .b64 %w<99>, %a, %b;\n" +
           body + "ret;\n}\n";
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }
  template <std::size_t N>
  std::string one_of(const std::array<const char*, N>& names) {
    return names[below(N)];
  }
  static std::string narrow(std::uint32_t step) { return "%v" + std::to_string(step); }
  static std::string wide(std::uint32_t step) { return "%w" + std::to_string(step); }
  std::string constant() {
    return one_of(std::array{"0", "1", "5", "6", "31", "32", "63", "64", "95", "96", "-32", "-1", "1023"});
  }
  std::string special() {
    return one_of(std::array{"%tid.x", "%tid.x", "%tid.y", "%ntid.x", "%ctaid.x", "%laneid"});
  }
  std::string source() { return step_ == 0 || below(3) == 0 ? constant() : narrow(below(step_)); }
  std::string wide_source() { return step_ == 0 || below(3) == 0 ? constant() : wide(below(step_)); }

  /// Sets %v and %w of the step, which may differ.
  std::string step() {
    const std::string v = narrow(step_), w = wide(step_);
    const std::string a = source(), b = source(), c = source();
    const std::string extended = one_of(std::array{"cvt.u64.u32 ", "cvt.s64.s32 "}) + w + ", " + v + ";\n";
    switch (step_ < 4 ? 0 : below(10)) {
      case 0: return "mov.u32 " + v + ", " + special() + ";\n" + extended;
      case 1: {
        const std::string compared = one_of(std::array{"lt", "le", "gt", "ge", "eq", "ne"});
        const std::string p = "%p" + std::to_string(step_);
        return "setp." + compared + one_of(std::array{".u32 ", ".s32 "}) + p + ", " + a + ", " + b +
               ";\nselp.b32 " + v + ", " + one_of(std::array{"1, 0, ", "32, 96, "}) + p + ";\n" + extended;
      }
      case 2: {
        const std::string p = "%p" + std::to_string(step_);
        return "setp." + one_of(std::array{"lo", "ls", "hi", "hs"}) + ".u64 " + p + ", " + wide_source() +
               ", " + wide_source() + ";\nselp.b32 " + v + ", " + a + ", " + b + ", " + p + ";\n" + extended;
      }
      case 3: return "mad.lo.s32 " + v + ", " + a + ", " + b + ", " + c + ";\n" + extended;
      case 4:
        return "mul.wide" + one_of(std::array{".u32 ", ".s32 "}) + w + ", " + a + ", " + b +
               ";\ncvt.u32.u64 " + v + ", " + w + ";\n";
      case 5: {
        const std::string by = one_of(std::array{"32", "64", "96", "7", "%t1"});
        return one_of(std::array{"div.u32 ", "rem.u32 ", "div.s32 "}) + v + ", " + a + ", " + by + ";\n" +
               extended;
      }
      case 6:
        return one_of(std::array{"add", "sub", "or", "and", "xor"}) + ".b64 " + w + ", " + wide_source() +
               ", " + wide_source() + ";\ncvt.u32.u64 " + v + ", " + w + ";\n";
      case 7:
        return one_of(std::array{"shr.u32 ", "shr.s32 ", "shl.b32 "}) + v + ", " + a + ", " +
               one_of(std::array{"1", "3", "5", "5", "6", "40"}) + ";\n" + extended;
      default:
        return one_of(std::array{"add.u32 ", "add.u32 ", "sub.u32 ", "or.b32 ", "and.b32 ", "and.b32 ",
                                 "xor.b32 "}) +
               v + ", " + a + ", " + b + ";\n" + extended;
    }
  }

  std::mt19937& random_;
  std::uint32_t step_ = 0;
};

/// Returns the 64-bit values of all steps by all threads.
std::vector<std::uint64_t> run(const std::string& ptx, std::uint32_t blocks,
                               const std::array<std::uint32_t, 2>& block) {
  std::vector<std::uint64_t> numbers(std::size_t{steps} * blocks * block[0] * block[1]);
  const std::uint64_t* data = numbers.data();
  std::vector<std::byte> parameters(8);
  std::memcpy(parameters.data(), &data, 8);
  const auto module = device::cpu::load_module(ptx, "k.ptx");
  EXPECT_TRUE(module.ok()) << ptx;
  if (!module) return {};
  const Status ran = (*module)->launch("k", {{blocks, 1, 1}, {block[0], block[1], 1}}, parameters, nullptr);
  EXPECT_TRUE(ran.ok()) << ptx;
  return numbers;
}

/// Returns, per step, whether the stored value is claimed to be warp-uniform.
std::vector<bool> promised(const std::string& ptx, const ptx::LaunchShape& shape) {
  auto module = ptx::parse_module(ptx, "k.ptx");
  EXPECT_TRUE(module.ok());
  ptx::Function& function = module->functions[0];
  EXPECT_TRUE(ptx::parse_body(*module, function, "k.ptx").ok());
  ptx::FunctionAnalyses analyses(function, shape);
  std::vector<bool> same;
  const auto& instructions = function.body->instructions;
  for (std::uint32_t at = 0; at < instructions.size(); ++at) {
    if (instructions[at].opcode != "st.global.u64") continue;
    const ptx::RegisterId stored = analyses.registers().find(instructions[at].operands[1].name, at);
    same.push_back((analyses.uniformity().of_register_read(at, stored) & ptx::varies_in_warp) == 0);
  }
  return same;
}

TEST(Rows, ClaimedValuesAreUniformInEveryWarp) {
  constexpr std::array<std::uint32_t, 2> blocks[] = {{32, 1}, {96, 1}, {32, 3}, {64, 2}};
  RandomKernels kernels(80, 51);
  int more = 0;
  for (int round = 0; round < kernels.count; ++round) {
    const std::string ptx = RandomArithmetic(kernels.random).make();
    const std::array<std::uint32_t, 2>& block = blocks[round % 4];
    const std::vector<std::uint64_t> numbers = run(ptx, 2, block);
    const std::vector<bool> same = promised(ptx, {true, true});
    const std::vector<bool> without = promised(ptx, {});
    ASSERT_EQ(same.size(), steps) << ptx;
    const std::size_t threads = numbers.size() / steps;
    for (std::uint32_t step = 0; step < steps; ++step) {
      ASSERT_TRUE(same[step] || !without[step]) << step << "\n" << ptx;
      more += same[step] && !without[step] ? 1 : 0;
      for (std::size_t thread = 0; same[step] && thread < threads; ++thread) {
        ASSERT_EQ(numbers[step * threads + thread], numbers[step * threads + thread / 32 * 32])
            << "step " << step << ", thread " << thread << "\n"
            << ptx;
      }
    }
  }
  if (!kernels.has_usual) return;
  EXPECT_GE(more, kernels.count);
}

TEST(Rows, RequireLaunchesWithWholeRows) {
  const std::string ptx = golden_kernel("single/row_and_warp").input;
  EXPECT_EQ(promised(ptx, {true, true}), std::vector<bool>({true, true}));
  EXPECT_EQ(promised(ptx, {true, false}), std::vector<bool>({false, false}));
}

}  // namespace
}  // namespace lynxpp::cod
