// Outlined routines, and variants that are too large.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/instrument.h"
#include "tests/passes/splice_fixture.h"

namespace lynxpp::ptx::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Loads of two sizes in a kernel and in a function that it calls.
const std::string module_text =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".func (.param .b32 r) twice(.param .b64 x)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n"
    "ld.param.b64 %rd1, [x];\nld.shared.u32 %r1, [%rd1];\nadd.u32 %r2, %r1, %r1;\nst.param.b32 [r], "
    "%r2;\nret;\n}\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;\n.reg .pred %p<2>;\n"
    ".shared .align 8 .b8 tile[64];\nld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd1, %rd1;\n"
    "mov.u64 %rd2, tile;\nld.shared.u32 %r1, [%rd2];\nld.shared.u32 %r2, [%rd2+4];\nsetp.eq.s32 %p1, %r1, "
    "0;\n"
    "@%p1 bra L;\nld.shared.u64 %rd3, [%rd2+8];\nst.global.u64 [%rd1], %rd3;\nL:\n"
    "{\n.param .b64 a;\n.param .b32 b;\nst.param.b64 [a], %rd2;\ncall (b), twice, (a);\nld.param.b32 %r3, "
    "[b];\n}\n"
    "add.u32 %r3, %r3, %r2;\nst.global.u32 [%rd1+8], %r3;\nret;\n}\n";

constexpr const char* wavefronts =
    "global unsigned long fronts[INSTRUCTIONS]; global unsigned long total; unsigned long mine = 0;\n"
    "shared unsigned int seen[WARPS_PER_BLOCK];\n"
    "ON_INSTRUCTION: MEM_READ: SHARED: { unsigned int n = bankWavefronts(); mine += n; seen[blockThreadId() "
    "/ 32] += 1;\n"
    "  if (leastActiveThreadInWarp()) atomicAdd(&fronts[instructionId()], n); }\n"
    "ON_KERNEL_EXIT: { atomicAdd(&total, mine); }\n";

Result<engine::Instrumented> instrument(const engine::Limits& limits, const std::string& text = module_text) {
  engine::Request request;
  request.ptx = &text;
  request.kernel = "k";
  Result<engine::SpecificationPtr> specification = cod::compile(wavefronts, "wavefronts.cod");
  if (!specification) return specification.error();
  request.specifications = {*specification};
  request.device_sm = 80;
  request.inspection.verify = true;
  request.limits = limits;
  request.inspection.wants_registers = true;
  return engine::instrument(request);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

engine::Limits all_outlined() {
  engine::Limits limits;
  limits.outline = {0, 1};
  return limits;
}

/// A kernel that exceeds the limit by itself is rejected before it is analysed.
TEST(Outline, RejectsKernelsThatExceedTheLimitThemselves) {
  engine::Limits limits;
  limits.instructions = 4;
  const Result<engine::Instrumented> refused = instrument(limits);
  ASSERT_FALSE(refused);
  EXPECT_THAT(
      refused.error().diagnostics.front().message,
      ::testing::MatchesRegex("the kernel has [0-9]+ PTX instructions, and the limit for a variant is 4 .*"));
}

TEST(Outline, LongHandlersBecomeOneFunctionPerSetOfImmediates) {
  const Result<engine::Instrumented> result = instrument(all_outlined());
  ASSERT_TRUE(result.ok()) << render(result.error().diagnostics);
  const std::string& text = result->ptx;
  // 4 and 8 bytes; two of the four loads, because the others use known lane values; the program's own call.
  EXPECT_EQ(count(text, "\n.func (.param .align 8 .b8 __lynxpp_result"), 2u) << text;
  EXPECT_EQ(count(text, "call (__lynxpp_result), __lynxpp_function_"), 2u) << text;
  EXPECT_EQ(count(text, "call (b), twice"), 1u) << text;
  EXPECT_EQ(result->sites_per_handler, (std::vector<std::uint64_t>{1, 4, 1}));
  bool available = false;
  std::string messages;
  EXPECT_TRUE(assemble(text, messages, available) || !available) << messages << text;
  ASSERT_TRUE(result->size.registers.has_value());
  EXPECT_GE(result->size.registers->instrumented, 10u);  // including those of the function
}

TEST(Outline, CallsPreserveTheCarryFlag) {
  const std::string kernel =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<9>;\n"
      ".reg .b64 %rd<9>;\nld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd1, %rd1;\n"
      "ld.global.u64 %rd2, [%rd1];\nld.global.u64 %rd5, [%rd1+8];\nsub.cc.u64 %rd3, %rd1, %rd2;\n"
      "ld.shared.u32 %r1, [%rd2];\nsubc.u64 %rd4, %rd2, %rd1;\nld.shared.u32 %r2, [%rd5];\n"
      "add.u32 %r3, %r1, %r2;\nst.global.u32 [%rd1], %r3;\nst.global.u64 [%rd1+8], %rd4;\nret;\n}\n";
  const Result<engine::Instrumented> result = instrument(all_outlined(), kernel);
  ASSERT_TRUE(result.ok()) << render(result.error().diagnostics);
  const std::string& text = result->ptx;
  EXPECT_EQ(count(text, "call (__lynxpp_result), __lynxpp_function_"), 2u) << text;
  // One of the two calls is between sub.cc and subc.
  EXPECT_EQ(count(text, "addc.u32"), 1u) << text;
  EXPECT_EQ(count(text, "add.cc.u32"), 1u) << text;
  const std::size_t read = text.find("addc.u32");
  const std::size_t call = text.find("call (__lynxpp_result)");
  const std::size_t restored = text.find("add.cc.u32");
  EXPECT_TRUE(text.find("sub.cc") < read && read < call && call < restored &&
              restored < text.find("subc.u64"))
      << text;
  bool available = false;
  std::string messages;
  EXPECT_TRUE(assemble(text, messages, available) || !available) << messages << text;
}

/// Loads from shared memory at addresses that are not known earlier.
std::string loads(int count) {
  std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<3>;\n"
      ".reg .b64 %rd<3>;\nld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd1, %rd1;\n";
  for (int i = 0; i < count; ++i) {
    text += "ld.global.u64 %rd2, [%rd1+" + std::to_string(8 * i) + "];\nld.shared.u32 %r1, [%rd2];\n";
    text += "st.global.u32 [%rd1], %r1;\n";
  }
  return text + "ret;\n}\n";
}

TEST(Outline, FewSitesGetCopiesAndManyGetCalls) {
  engine::Limits limits;
  for (const int places : {4, 200}) {
    const std::string text = loads(places);
    limits.outline = engine::Limits{}.outline;
    const Result<engine::Instrumented> chosen = instrument(limits, text);
    limits.outline.sites = 0xffffffff;
    const Result<engine::Instrumented> copies = instrument(limits, text);
    ASSERT_TRUE(chosen.ok() && copies.ok());
    EXPECT_THAT(copies->ptx, Not(HasSubstr("__lynxpp_function_")));
    EXPECT_EQ(chosen->ptx == copies->ptx, places == 4);
    EXPECT_EQ(2 * chosen->size.added_instructions < copies->size.added_instructions, places == 200);
  }
}

/// Counts loaded values that are not zero, by their last digit.
constexpr const char* rare_values =
    "global unsigned long found[10][INSTRUCTIONS];\n"
    "ON_INSTRUCTION_AFTER: MEM_READ: SHARED: {\n"
    "  unsigned int value = resultValue();\n"
    "  if (value == 0) return;\n"
    "  found[value % 10][instructionId()] += value; }\n";

TEST(Outline, SitesKeepTheTestOfARoutineAndCallItsRest) {
  engine::Request request;
  const std::string text = loads(12);
  request.ptx = &text;
  request.kernel = "k";
  const Result<engine::SpecificationPtr> specification = cod::compile(rare_values, "rare.cod");
  ASSERT_TRUE(specification.ok()) << render(specification.error().diagnostics);
  request.specifications = {*specification};
  request.device_sm = 80;
  request.inspection.verify = true;
  request.limits.outline.instructions = 8;
  const Result<engine::Instrumented> split = engine::instrument(request);
  request.limits.outline.sites = request.limits.outline.sites_after_test = 0xffffffff;
  const Result<engine::Instrumented> copied = engine::instrument(request);
  ASSERT_TRUE(split.ok() && copied.ok());
  EXPECT_EQ(count(split->ptx, "call __lynxpp_function_"), 12u) << split->ptx;
  EXPECT_EQ(count(split->ptx, "\n.func"), 1u);
  // Only the function distinguishes digits, and only for values that are not zero.
  const std::size_t kernel = split->ptx.find(".visible .entry");
  EXPECT_EQ(split->ptx.find("global.add.u64", kernel), std::string::npos) << split->ptx;
  const std::size_t call = split->ptx.find("call __lynxpp_function_", kernel);
  const std::size_t branch = split->ptx.rfind(" bra ", call);
  const std::size_t load = split->ptx.rfind("ld.shared.u32", call);
  EXPECT_TRUE(load < branch && branch < call) << split->ptx;
  EXPECT_LT(split->size.added_instructions, copied->size.added_instructions);
  bool available = false;
  std::string messages;
  EXPECT_TRUE(assemble(split->ptx, messages, available) || !available) << messages << split->ptx;
}

TEST(Outline, RejectsLargeVariantsWithTheirSizes) {
  engine::Limits limits;
  limits.instructions = 40;
  const Result<engine::Instrumented> refused = instrument(limits);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().diagnostics.front().message,
              ::testing::MatchesRegex(
                  "the variant would have [0-9]+ PTX instructions instead of 20, and the limit is 40 "
                  "\\(LYNXPP_VARIANT_LIMIT\\)"));
  limits.instructions = 0;
  EXPECT_TRUE(instrument(limits).ok());
}

TEST(Outline, CountsOnlyInstructions) {
  EditList edits;
  NameSource names;
  CodeBuilder code(names);
  const Label label = code.fresh_label();
  code.open_scope();
  code.add_text(".param .b32 value;");
  code.emit("add.u32", {Name{"a"}, Name{"b"}, Name{"c"}});
  code.place(label);
  code.branch_if(Name{"p"}, label);
  code.close_scope();
  edits.insert_before(0, code.take());
  edits.replace({3, 4}, "name");
  EXPECT_EQ(engine::added_instructions(edits), 2u);
}

}  // namespace
}  // namespace lynxpp::ptx::testing
