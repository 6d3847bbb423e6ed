// Parts of a module that a variant needs, and kernels that cannot have a variant: aliases, targets, tables of
// functions, launches from the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/instrument.h"
#include "tests/passes/splice_fixture.h"

namespace lynxpp::ptx::testing {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Must run in every block: none of it can be counted elsewhere.
engine::SpecificationPtr mark_blocks() {
  return *cod::compile(
      "global unsigned long counts[BASIC_BLOCKS];\nON_BASIC_BLOCK_ENTRY: { "
      "atomicMax(&counts[basicBlockId()], 1); }\n",
      "mark.cod");
}

/// `online`: the program's variables have addresses, as at a launch.
Result<engine::Instrumented> instrument(const std::string& body, bool online = false,
                                        const std::string& target = "sm_75",
                                        std::uint64_t address = 0x7f0000000000) {
  const std::string text = ".version 7.0\n.target " + target + "\n.address_size 64\n" + body;
  engine::Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.specifications = {mark_blocks()};
  request.inspection.verify = true;
  if (online) request.variable_address = [address](const std::string&) { return std::optional(address); };
  return engine::instrument(request);
}

/// Returns the variant's text, which ptxas must accept.
std::string accepted(const Result<engine::Instrumented>& result) {
  if (!result) return ADD_FAILURE() << render(result.error().diagnostics), "";
  std::string messages;
  bool available = false;
  if (!assemble(result->ptx, messages, available) && available) ADD_FAILURE() << messages << result->ptx;
  return result->ptx;
}

std::string refusal(const Result<engine::Instrumented>& result) {
  return result ? "accepted:\n" + result->ptx : result.error().diagnostics.front().message;
}

constexpr const char* alias_module =
    ".visible .func (.param .b32 r) twice(.param .b32 x);\n"
    ".visible .func (.param .b32 r) real(.param .b32 x)\n"
    "{\n  .reg .b32 %r<3>;\n  ld.param.b32 %r1, [x];\n  add.u32 %r2, %r1, %r1;\n  st.param.b32 [r], %r2;\n  "
    "ret;\n}\n"
    ".alias twice, real;\n"
    ".visible .entry k(.param .u64 p)\n"
    "{\n  .reg .b32 %r<3>;\n  .reg .b64 %rd<2>;\n  ld.param.u64 %rd1, [p];\n  ld.global.u32 %r1, [%rd1];\n"
    "  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r2, [b]; "
    "}\n"
    "  st.global.u32 [%rd1], %r2;\n  ret;\n}\n"
    ".visible .entry other() { ret; }\n";

TEST(WholeModule, CallsThroughAnAliasAreInstrumented) {
  const Result<engine::Instrumented> result = instrument(alias_module);
  const std::string text = accepted(result);
  EXPECT_THAT(text, HasSubstr(".alias twice, real;"));
  EXPECT_THAT(text, HasSubstr("call (b), twice, (a, __lynxpp_argument)"));
  EXPECT_THAT(text, Not(HasSubstr("other")));
  EXPECT_EQ(result->size.basic_blocks, 3U) << "two of the kernel, split at the call, and one of the function";
}

TEST(WholeModule, UnusedAliasesAreRemoved) {
  const std::string text =
      accepted(instrument(".visible .func twice();\n.visible .func real()\n{\n  ret;\n}\n.alias twice, "
                          "real;\n.visible .entry k()\n{\n  call real;\n  ret;\n}\n"));
  EXPECT_THAT(text, Not(HasSubstr("alias")));
}

TEST(WholeModule, TargetOptionsAreKept) {
  EXPECT_THAT(accepted(instrument(".entry k()\n{\n  ret;\n}\n", false, "sm_75, texmode_independent")),
              HasSubstr(".target sm_75, texmode_independent\n"));
}

TEST(WholeModule, TargetOptionsMayBeOnASeparateLine) {
  const std::string text =
      accepted(instrument(".entry k()\n{\n  ret;\n}\n", false, "sm_75\n.target texmode_independent"));
  EXPECT_THAT(text, HasSubstr("sm_75, texmode_independent\n"));
  EXPECT_THAT(refusal(instrument(".entry k()\n{\n  ret;\n}\n", false, "sm_75\n.target sm_80")),
              HasSubstr("a second architecture"));
}

TEST(WholeModule, NamesOfOneDeclarationAreKeptTogether) {
  const std::string text = accepted(instrument(
      ".global .u32 c;\n.global .u64 a, b = c;\n.shared .b32 s, t[4];\n.const .u32 q = 1, r = 2;\n"
      ".global .u32 unrelated;\n"
      ".visible .entry k()\n{\n  .reg .b64 %rd<3>;\n  .reg .b32 %r<3>;\n  ld.global.u64 %rd1, [a];\n"
      "  ld.const.u32 %r1, [r];\n  st.shared.b32 [t+4], %r1;\n  st.global.u64 [a], %rd1;\n  ret;\n}\n"));
  EXPECT_THAT(text,
              HasSubstr(".global .u32 c;\n.global .u64 a, b = c;\n.shared .b32 s, t[4];\n.const .u32 q = 1"));
  EXPECT_THAT(text, Not(HasSubstr("unrelated")));
}

TEST(WholeModule, ARegisterMayHaveAFunctionsName) {
  const std::string text = accepted(instrument(
      ".func f(.param .b32 x)\n{\n  ret;\n}\n.func g(.param .b32 x)\n{\n  ret;\n}\n"
      ".visible .entry k()\n{\n  .reg .b64 f;\n  mov.u64 f, g;\n  P: .callprototype _ (.param .b32 _);\n"
      "  {\n  .param .b32 x;\n  st.param.b32 [x], 3;\n  call f, (x), P;\n  }\n  ret;\n}\n"));
  EXPECT_THAT(text, HasSubstr("call f, (x), P;"));
}

TEST(WholeModule, AFunctionMayHaveARegistersName) {
  const std::string text = accepted(
      instrument(".func %f(.param .b32 x)\n{\n  ret;\n}\n.visible .entry k()\n{\n  .reg .b64 %rd<2>;\n"
                 "  mov.u64 %rd1, %f;\n  P: .callprototype _ (.param .b32 _);\n"
                 "  {\n  .param .b32 x;\n  st.param.b32 [x], 3;\n  call %f, (x);\n  call %rd1, (x), P;\n  }\n"
                 "  ret;\n}\n"));
  EXPECT_THAT(text, HasSubstr("call %f, (x);")) << "its address is taken, so it gets no frame";
}

TEST(WholeModule, ReadsElementsOfParameters) {
  const std::string text =
      accepted(instrument(".visible .entry k(.param .u64 p, .param .u32 q[4])\n{\n  .reg .b32 %r<2>;\n"
                          "  ld.param.u32 %r1, q[1];\n  ret;\n}\n"));
  EXPECT_THAT(text, HasSubstr("ld.param.u32 %r1, q[1];"));
}

TEST(WholeModule, ATableWithTheKernelMayLaunchIt) {
  const std::string module =
      ".visible .entry k(.param .u64 p);\n.global .u64 t[1] = {k};\n"
      ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %rd<2>;\n  ld.global.u64 %rd1, [t];\n"
      "  st.global.u64 [%rd1], %rd1;\n  ret;\n}\n";
  EXPECT_THAT(refusal(instrument(module)),
              HasSubstr("it may launch itself from the device, which does not pass the hidden "
                        "parameter: 't' references it"));
  EXPECT_TRUE(instrument(module, true)) << "that table refers to the original";
}

TEST(WholeModule, DebugCodeIsNotContracted) {
  const char* const body =
      ".entry k(.param .u64 p)\n{\n  .reg .f32 %f<5>;\n  .reg .f64 %fd<4>;\n  .reg .b32 %r<3>;\n  .reg .b64 "
      "%rd<2>;\n"
      "  ld.param.u64 %rd1, [p];\n  ld.global.f32 %f1, [%rd1];\n"
      "  mul.f32 %f2, %f1, %f1;\n  add.ftz.f32 %f3, %f2, %f1;\n  sub.rz.f32 %f4, %f3, %f1;\n  mul.f64 %fd1, "
      "0d3FF0000000000000, %fd2;\n"
      "  add.s32 %r1, %r1, %r2;\n  mul.lo.s32 %r2, %r1, %r1;\n  st.global.f32 [%rd1], %f4;\n  ret;\n}\n";
  const std::string text = accepted(instrument(body, false, "sm_75, debug"));
  EXPECT_THAT(text, HasSubstr(".target sm_75\n"));
  EXPECT_THAT(text, HasSubstr("mul.rn.f32 %f2"));
  EXPECT_THAT(text, HasSubstr("add.rn.ftz.f32 %f3"));
  EXPECT_THAT(text, HasSubstr("sub.rz.f32 %f4"));
  EXPECT_THAT(text, HasSubstr("mul.rn.f64 %fd1"));
  EXPECT_THAT(text, HasSubstr("add.s32 %r1"));
  EXPECT_THAT(text, HasSubstr("mul.lo.s32 %r2"));
  EXPECT_THAT(accepted(instrument(body)), Not(HasSubstr("mul.rn.f32")))
      << "the assembler was free to contract in the original";
}

constexpr const char* table_module =
    ".extern .func free(.param .b64 p);\n"
    ".global .align 8 .u64 unrelated = 5;\n"
    ".global .align 8 .u32 used = 3;\n"
    ".func helper()\n{\n  .reg .b32 %r<2>;\n  .reg .b64 %rd<2>;\n  ld.global.u32 %r1, [used];\n"
    "  { .param .b64 a; st.param.b64 [a], %rd1; call free, (a); }\n  ret;\n}\n"
    ".func virtual_function()\n{\n  call helper;\n  ret;\n}\n"
    ".global .align 8 .u64 table[2] = {0, virtual_function};\n"
    ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %rd<3>;\n  ld.param.u64 %rd1, [p];\n  mov.u64 %rd2, "
    "table;\n"
    "  st.global.u64 [%rd1], %rd2;\n  ret;\n}\n";

TEST(WholeModule, TableFunctionsAreIncludedWithTheirDependencies) {
  const std::string text = accepted(instrument(table_module));
  EXPECT_THAT(text, HasSubstr(".func helper()"));
  EXPECT_THAT(text, HasSubstr("used = 3"));
  EXPECT_THAT(text, HasSubstr(".extern .func free"));
  EXPECT_THAT(text, Not(HasSubstr("unrelated")));
}

TEST(WholeModule, TablesStayInTheProgramsModuleAtLaunch) {
  const Result<engine::Instrumented> result = instrument(table_module, true);
  const std::string text = accepted(result);
  EXPECT_THAT(text, ContainsRegex("ld.const.b64 (%lynxpp_rd[0-9]+), .__lynxpp_variables.;"));
  EXPECT_THAT(text, HasSubstr("mov.u64 %rd2, %lynxpp_rd"));
  EXPECT_THAT(result->traits.variables.addresses, ElementsAre(0x7f0000000000U));
  EXPECT_THAT(text, Not(HasSubstr("helper")));
  EXPECT_EQ(instrument(table_module, true, "sm_75", 0x7e0000000000)->ptx, text)
      << "equal in every run, so that compilers' caches have it";
  EXPECT_GT(result->sites_per_handler.at(0), 0U);
}

constexpr const char* address_module =
    ".func leaf()\n{\n  ret;\n}\n.func taken()\n{\n  call leaf;\n  ret;\n}\n"
    ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %rd<3>;\n  ld.param.u64 %rd1, [p];\n  mov.u64 %rd2, "
    "taken;\n"
    "  st.global.u64 [%rd1], %rd2;\n  call leaf;\n  ret;\n}\n";

TEST(WholeModule, CalleesOfUninstrumentedFunctionsAreNotInstrumented) {
  const Result<engine::Instrumented> result = instrument(address_module);
  accepted(result);
  EXPECT_THAT(result->notes, Contains("device function taken is not instrumented: its address is taken"));
  EXPECT_THAT(result->notes,
              Contains("device function leaf is not instrumented: it is called by taken, which is not"));
}

TEST(WholeModule, RejectsFunctionAddressesAtLaunch) {
  EXPECT_THAT(refusal(instrument(address_module, true)),
              HasSubstr("it takes the address of the function 'taken'"));
}

TEST(WholeModule, KernelsLaunchedFromTheDeviceAreUnchanged) {
  const Result<engine::Instrumented> result = instrument(
      ".global .align 4 .u32 used;\n"
      ".visible .entry child()\n{\n  .reg .b32 %r<2>;\n  ld.global.u32 %r1, [used];\n  ret;\n}\n"
      ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %rd<3>;\n  ld.param.u64 %rd1, [p];\n  mov.u64 %rd2, "
      "child;\n"
      "  st.global.u64 [%rd1], %rd2;\n  ret;\n}\n");
  EXPECT_THAT(accepted(result), HasSubstr(".entry child()\n"));
  EXPECT_THAT(result->notes, Contains("kernel child is not instrumented: it is launched from the device"));
}

// The hidden argument cannot follow variadic arguments.
TEST(WholeModule, VariadicFunctionsAreNotInstrumented) {
  const Result<engine::Instrumented> result = instrument(
      ".func (.param .b32 r) sum(.param .b32 count, .param .align 8 .b8 rest[])\n{\n  .reg .b32 %r<2>;\n"
      "  ld.param.b32 %r1, [rest+8];\n  st.param.b32 [r], %r1;\n  ret;\n}\n"
      ".visible .entry k()\n{\n  .param .b32 r;\n  .param .b32 a;\n  .param .align 8 .b8 b[16];\n"
      "  st.param.b32 [a], 1;\n  st.param.b32 [b+8], 2;\n  call (r), sum, (a, b);\n  ret;\n}\n");
  accepted(result);
  EXPECT_THAT(result->notes,
              Contains("device function sum is not instrumented: it takes a variable number of arguments"));
}

TEST(WholeModule, LocalNamesHideFunctionsAndTheKernel) {
  const Result<engine::Instrumented> result = instrument(
      ".func f()\n{\n  ret;\n}\n"
      ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 k;\n  ld.param.u64 k, [p];\n  call f;\n"
      "  { .reg .b32 f; mov.b32 f, 1; st.global.u32 [k], f; }\n  ret;\n}\n");
  accepted(result);
  EXPECT_THAT(result->notes, ::testing::IsEmpty());
}

TEST(WholeModule, RejectsInstrumentedModules) {
  const std::string text = accepted(instrument(
      ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %rd<2>;\n  ld.param.u64 %rd1, [p];\n  ret;\n}\n"));
  engine::Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.specifications = {mark_blocks()};
  EXPECT_THAT(refusal(engine::instrument(request)), HasSubstr("is reserved for instrumentation"));
}

/// Reads every operand's value, before and after the instruction.
Result<engine::Instrumented> with_operands(const std::string& body) {
  const std::string text =
      ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
      "  .reg .b64 %rd<4>;\n  .reg .b32 %r<4>;\n  .reg .b8 %b<3>;\n  .reg .pred %p<2>;\n  ld.param.u64 "
      "%rd1, [p];\n" +
      body + "  ret;\n}\n";
  engine::Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.specifications = {*cod::compile(
      "global unsigned long sum[1];\n"
      "ON_INSTRUCTION: { sum[0] += operandValue(0) + operandValue(1) + operandValue(2) + storedValue(); }\n"
      "ON_INSTRUCTION_AFTER: { sum[0] += operandValue(0) + loadedValue(); }\n",
      "operands.cod")};
  request.device_sm = 90;
  request.inspection.verify = true;
  return engine::instrument(request);
}

TEST(WholeModule, ReadsOperandsOfAllKinds) {
  EXPECT_THAT(accepted(with_operands("  ld.global.u8 %b1, [%rd1];\n  st.global.u8 [%rd1+1], %b1;\n")),
              HasSubstr("cvt.u64.u8"));
  EXPECT_THAT(accepted(with_operands("  mov.u32 %r1, %globaltimer_lo;\n  mov.u32 %r1, %globaltimer_hi;\n"
                                     "  mov.u64 %rd2, %globaltimer;\n")),
              HasSubstr(", %globaltimer_hi;\n\tcvt.u64.u32"));
  EXPECT_THAT(accepted(with_operands("  mov.pred %p1, %is_explicit_cluster;\n")),
              ContainsRegex("mov.pred %lynxpp_p[0-9]+, %is_explicit_cluster;"));
  EXPECT_THAT(accepted(with_operands("  vadd.u32.u32.u32 %r1, %r2.b3, %r3.h1;\n")),
              ContainsRegex("bfe.u32 %lynxpp_r[0-9]+, %lynxpp_r[0-9]+, 24, 8;"));
}

TEST(WholeModule, RejectsAKernelThatLaunchesItself) {
  EXPECT_THAT(refusal(instrument(
                  ".visible .entry k(.param .u64 p)\n{\n  .reg .b64 %rd<3>;\n  ld.param.u64 %rd1, [p];\n"
                  "  mov.u64 %rd2, k;\n  st.global.u64 [%rd1], %rd2;\n  ret;\n}\n")),
              HasSubstr("it launches itself from the device"));
}

TEST(WholeModule, LeavesFunctionsWithRegisterParametersAsTheyAre) {
  const auto variant = instrument(
      ".func f(.reg .b32 a)\n{\n  .reg .b32 %r<2>;\n  add.u32 %r1, a, 1;\n  ret;\n}\n"
      ".visible .entry k()\n{\n  .reg .b32 %r1;\n  mov.u32 %r1, 5;\n  call f, (%r1);\n  ret;\n}\n");
  EXPECT_THAT(accepted(variant), HasSubstr("call f, (%r1);"));
  ASSERT_TRUE(variant);
  EXPECT_THAT(variant->notes, testing::Contains(HasSubstr("it has register parameters")));
}

TEST(WholeModule, RejectsUndefinedFunctionsAtLaunch) {
  const std::string body =
      ".extern .func g;\n.extern .func unused;\n.visible .entry k\n{\n  call g;\n  ret;\n}\n";
  EXPECT_EQ(refusal(instrument(body, true)), "it calls 'g', which the PTX of its module does not define");
  EXPECT_TRUE(instrument(body).ok()) << "the caller may link it";
  const std::string known =
      ".extern .func free(.param .b64 p);\n.visible .entry k\n{\n  .reg .b64 %rd1;\n  mov.u64 %rd1, 0;\n"
      "  {\n  .param .b64 p;\n  st.param.b64 [p], %rd1;\n  call free, (p);\n  }\n  ret;\n}\n";
  accepted(instrument(known, true));
}

namespace {

/// One warpgroup releases registers to another, which has a loop with `more` live values.
std::string sharing_registers(int of_producer) {
  return ".visible .entry k(.param .u64 p)\n.maxntid 384, 1, 1\n.minnctapersm 1\n{\n  .reg .pred %p<2>;\n"
         "  .reg .b32 %r<4>;\n  .reg .b64 %rd<2>;\n  ld.param.u64 %rd1, [p];\n  mov.u32 %r1, %tid.x;\n"
         "  setp.gt.u32 %p1, %r1, 127;\n  @%p1 bra CONSUME;\n  setmaxnreg.dec.sync.aligned.u32 " +
         std::to_string(of_producer) +
         ";\nPRODUCE:\n  ld.global.u32 %r2, [%rd1];\n  setp.ne.u32 %p1, %r2, 0;\n  @%p1 bra PRODUCE;\n  "
         "ret;\n"
         "CONSUME:\n  setmaxnreg.inc.sync.aligned.u32 232;\n  st.global.u32 [%rd1], %r1;\n  ret;\n}\n";
}

Result<engine::Instrumented> with_handler(const std::string& specification, int of_producer,
                                          ptx::OutlineRule outline = {}) {
  const std::string text =
      ".version 8.0\n.target sm_90a\n.address_size 64\n" + sharing_registers(of_producer);
  engine::Request request;
  request.ptx = &text;
  request.kernel = "k";
  request.specifications = {*cod::compile(specification, "values.cod")};
  request.device_sm = 90;
  request.launch = {true, true};
  request.limits.outline = outline;
  return engine::instrument(request);
}

/// Returns a handler that keeps 60 values of each thread live while it computes `initial`.
std::string with_values(const std::string& initial) {
  std::string handler;
  for (int i = 0; i < 60; ++i)
    handler += "unsigned int v" + std::to_string(i) + " = (unsigned int)clockCounter();\n";
  handler += "unsigned long all = " + initial + ";\n";
  for (int i = 0; i < 60; ++i) handler += "all = all * 31 + v" + std::to_string(i) + ";\n";
  return "global unsigned long sum[1];\nON_INSTRUCTION: {\n" + handler + "atomicMax(&sum[0], all);\n}\n";
}

}  // namespace

TEST(WholeModule, VariantsRespectTheRegistersOfSetmaxnreg) {
  const std::string of_warp = with_values("warpMax((unsigned long)clockCounter())");
  EXPECT_THAT(refusal(with_handler(of_warp, 40)),
              HasSubstr("setmaxnreg leaves the kernel 40 registers, and in the variant about"));
  EXPECT_TRUE(with_handler(of_warp, 152).ok()) << "they are available";
  EXPECT_TRUE(with_handler(with_values("0"), 40).ok()) << "ptxas spills what does not fit";
  EXPECT_THAT(accepted(with_handler(with_values("0"), 40, {0, 0})), Not(HasSubstr("call")));
  EXPECT_THAT(accepted(with_handler(with_values("0"), 152, {0, 0})), HasSubstr("call"));
}

TEST(WholeModule, CountersAreInMemoryIfSetmaxnregLeavesFewRegisters) {
  const std::string counts =
      "global unsigned long lanes[BASIC_BLOCKS];\n"
      "ON_BASIC_BLOCK_ENTRY: atomicAdd(&lanes[basicBlockId()], 1);\n";
  EXPECT_THAT(accepted(with_handler(counts, 24)), Not(HasSubstr("redux.sync")));
  EXPECT_THAT(accepted(with_handler(counts, 152)), HasSubstr("redux.sync"));
}

TEST(WholeModule, RejectsDuplicateFunctionDefinitions) {
  EXPECT_THAT(
      refusal(instrument(
          ".func g\n{\n  ret;\n}\n.visible .entry k\n{\n  call g;\n  ret;\n}\n.func g\n{\n  ret;\n}\n")),
      HasSubstr("the module defines the function 'g' twice"));
}

}  // namespace
}  // namespace lynxpp::ptx::testing
