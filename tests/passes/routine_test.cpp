#include "ptx/passes/probes/routine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/emitter/code_printer.h"
#include "ptx/parser/parser.h"
#include "tests/passes/splice_fixture.h"

namespace lynxpp::ptx {
namespace {

using ::testing::HasSubstr;

Result<ProbeRoutine> make(const std::string& body) {
  Result<Module> module = parse_module(
      ".version 8.0\n.target sm_75\n.address_size 64\n.extern .func g;\n.visible .func h()\n{\n" + body +
      "}\n");
  if (!module) return module.error();
  Function* function = module->find_function("h");
  if (Status parsed = parse_body(*module, *function); !parsed) return parsed.error();
  RoutineFunctions functions;
  return ProbeRoutine::make(
      *module, *function,
      {"__lynxpp_word_", "__lynxpp_state_", "__lynxpp_site_", "__lynxpp_shared_or_table_"}, functions);
}

/// Returns a copy in a function without names.
std::string copy(const ProbeRoutine& routine, SiteBinding binding = {}) {
  if (!binding.site_value) binding.site_value = [](std::string_view) { return CodeOperand(7); };
  if (!binding.state) {
    binding.state = [](std::uint32_t index) { return CodeOperand(Name{"%state" + std::to_string(index)}); };
  }
  NameSource names;
  return print(routine.copy(binding, names));
}

TEST(ProbeRoutine, FillsPlaceholdersPerSite) {
  const Result<ProbeRoutine> routine = make(
      ".reg .b64 %rd<3>;\n.reg .b32 %r<2>;\nmov.b64 %rd1, __lynxpp_word_2;\nmov.b32 %r1, "
      "__lynxpp_site_basic_block_id;\n"
      "mov.b64 __lynxpp_state_1, %rd1;\nret;\n");
  ASSERT_TRUE(routine.ok());
  SiteBinding binding;
  binding.first.slot = 3;
  binding.first.state = 4;
  EXPECT_EQ(copy(*routine, binding),
            "\tld.param.b64 %lynxpp_rd0, [__lynxpp_probe+40];\n\tmov.b32 %lynxpp_r0, 7;\n"
            "\tmov.b64 %state5, %lynxpp_rd0;\n");
  EXPECT_TRUE(routine->reads_site_value("basic_block_id"));
  EXPECT_FALSE(routine->reads_site_value("memory_address"));
}

TEST(ProbeRoutine, UnusedValuesAreZeroAndNotWritten) {
  const Result<ProbeRoutine> routine = make(
      ".reg .b32 %r<3>;\nadd.u32 __lynxpp_site_tally_0, __lynxpp_site_tally_0, 1;\n"
      "mov.b32 %r1, __lynxpp_site_tally_0;\nadd.u32 %r2, %r1, 2;\nret;\n");
  ASSERT_TRUE(routine.ok());
  SiteBinding binding;
  binding.site_value = [](std::string_view) -> std::optional<CodeOperand> { return std::nullopt; };
  EXPECT_EQ(copy(*routine, binding), "\tmov.b32 %lynxpp_r0, 0;\n\tadd.u32 %lynxpp_r1, %lynxpp_r0, 2;\n");
}

TEST(ProbeRoutine, EarlyReturnsBranchToTheEndAndCopiesHaveOwnNames) {
  const Result<ProbeRoutine> routine =
      make(".reg .pred %p<2>;\n@%p1 ret;\n$L__BB0_1:\nbra $L__BB0_1;\nret;\n");
  ASSERT_TRUE(routine.ok());
  EXPECT_EQ(copy(*routine), "\t@%lynxpp_p0 bra $lynxpp_0;\n$lynxpp_1:\n\tbra $lynxpp_1;\n$lynxpp_0:\n");
  NameSource names;
  names.fresh_label();
  names.fresh(RegisterType::pred);
  EXPECT_EQ(print(routine->copy({}, names)),
            "\t@%lynxpp_p1 bra $lynxpp_1;\n$lynxpp_2:\n\tbra $lynxpp_2;\n$lynxpp_1:\n");
  EXPECT_EQ(names.registers(RegisterType::pred), 2u);
}

TEST(ProbeRoutine, SpecialRegistersKeepTheirNames) {
  const Result<ProbeRoutine> routine = make(".reg .b32 %r<2>;\nmov.u32 %r1, %tid.x;\nret;\n");
  ASSERT_TRUE(routine.ok());
  NameSource names;
  const Code code = routine->copy({}, names);
  ASSERT_EQ(code.statements.size(), 1u);
  EXPECT_EQ(std::get<CodeInstruction>(code.statements[0]).operands[1], SpecialRegister{"%tid.x"});
}

TEST(ProbeRoutine, RegistersOfInnerScopesAreDistinct) {
  const Result<ProbeRoutine> routine = make(
      ".reg .b32 %r<3>;\n.reg .b64 %rd<2>;\n{ .reg .b32 tmp; mov.b64 {tmp, %r1}, %rd1; }\n"
      "{ .reg .b32 tmp; mov.b64 {tmp, %r2}, %rd1; }\nret;\n");
  ASSERT_TRUE(routine.ok());
  EXPECT_EQ(copy(*routine),
            "\tmov.b64 {%lynxpp_r0, %lynxpp_r1}, %lynxpp_rd0;\n"
            "\tmov.b64 {%lynxpp_r2, %lynxpp_r3}, %lynxpp_rd0;\n");
}

TEST(ProbeRoutine, RejectsCodeThatCannotBeCopied) {
  EXPECT_FALSE(make(".reg .b64 %rd<2>;\nadd.s64 %rd1, __lynxpp_word_0, 8;\nret;\n").ok());
  EXPECT_FALSE(make(".reg .v2 .b32 %v;\nmov.b64 %v, 0;\nret;\n").ok());
  EXPECT_FALSE(make(".reg .b32 %r<2>;\nts: .branchtargets A;\nbrx.idx %r1, ts;\nA:\nret;\n").ok());
}

TEST(ProbeRoutine, RejectsCallsAndMemoryThatOutlivesIt) {
  EXPECT_FALSE(make("call g;\nret;\n").ok());
  EXPECT_FALSE(make(".shared .align 8 .b8 tile[16];\nret;\n").ok());
  EXPECT_FALSE(make(".local .align 32 .b8 wide[64];\nret;\n").ok());
}

TEST(ProbeRoutine, LocalMemoryMovesToTheFunctionsDepot) {
  const Result<ProbeRoutine> routine = make(
      ".local .align 8 .b8 __local_depot0[20];\n.local .align 4 .b8 more[4];\n.reg .b64 %SPL;\n.reg .b64 "
      "%rd<2>;\n"
      "mov.u64 %SPL, __local_depot0;\nmov.u64 %rd1, more;\nst.local.b64 [%SPL+8], %rd1;\nret;\n");
  ASSERT_TRUE(routine.ok());
  EXPECT_EQ(routine->depot_bytes(), 48u);
  EXPECT_EQ(copy(*routine),
            "\tmov.u64 %lynxpp_rd0, __lynxpp_depot;\n\tmov.u64 %lynxpp_rd1, __lynxpp_depot+32;\n"
            "\tst.local.b64 [%lynxpp_rd0+8], %lynxpp_rd1;\n");
}

TEST(ProbeRoutine, NamesTheVariantsVariables) {
  const Result<ProbeRoutine> routine =
      make(".reg .b64 %rd<2>;\nmov.b64 %rd1, __lynxpp_shared_or_table_1;\nret;\n");
  ASSERT_TRUE(routine.ok());
  SiteBinding binding;
  binding.first.variable = 3;
  EXPECT_THAT(copy(*routine, binding), HasSubstr("mov.b64 %lynxpp_rd0, __lynxpp_variable_4;"));
}

TEST(Splice, CountsItsSites) {
  const Result<testing::Spliced> spliced = testing::splice(
      ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p<2>;\nsetp.eq.s32 "
      "%p1, 1, 2;\n@%p1 ret;\nret;\n}\n",
      "k", {{ProbePoint::basic_block_exit, "count"}, {ProbePoint::kernel_exit, "flush"}});
  ASSERT_TRUE(spliced.ok()) << render(spliced.error().diagnostics);
  EXPECT_EQ(spliced->basic_blocks, 2u);
  EXPECT_EQ(spliced->sites, (std::vector<std::uint64_t>{2, 2}));
}

TEST(Splice, NamesTheMissingKernel) {
  const Result<testing::Spliced> spliced = testing::splice(
      ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry other()\n{\nret;\n}\n", "k", {});
  ASSERT_FALSE(spliced.ok());
  EXPECT_EQ(spliced.error().diagnostics.front().message, "the module has no kernel 'k'");
}

TEST(Splice, AddressTakenFunctionIsUnchangedAndNamed) {
  const Result<testing::Spliced> spliced = testing::splice(
      ".version 8.0\n.target sm_75\n.address_size 64\n.func f()\n{\nret;\n}\n.visible .entry k()\n{\n.reg "
      ".b64 %rd<2>;\n"
      "mov.u64 %rd1, f;\nproto: .callprototype _ ();\ncall %rd1, proto;\nret;\n}\n",
      "k", {{ProbePoint::basic_block_exit, "count"}});
  ASSERT_TRUE(spliced.ok()) << render(spliced.error().diagnostics);
  ASSERT_EQ(spliced->notes.size(), 1u);
  EXPECT_EQ(spliced->notes[0], "device function f is not instrumented: its address is taken");
  EXPECT_THAT(spliced->text, HasSubstr(".func f()\n{\nret;\n}"));
}

}  // namespace
}  // namespace lynxpp::ptx
