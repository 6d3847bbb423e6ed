#include "ptx/passes/probes/routine_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/emitter/code_printer.h"
#include "ptx/parser/parser.h"
#include "ptx/passes/probes/routine.h"
#include "tests/passes/splice_fixture.h"

namespace lynxpp::ptx {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string_view> placeholders{"__lynxpp_word_", "__lynxpp_state_", "__lynxpp_site_", ""};

/// Functions as LLVM writes them: forward declarations, labels and depots numbered over the module, and calls
/// marked as uniform.
std::string functions_text(int first, const std::string& leaf_name, const std::string& extra = {}) {
  const std::string number = std::to_string(first);
  return ".func (.param .b32 func_retval0) " + leaf_name + "\n(\n.param .b32 " + leaf_name +
         "_param_0\n)\n;\n.func (.param .b32 func_retval0) middle(\n.param .b32 middle_param_0\n)\n{\n"
         ".reg .b32 %r<3>;\nld.param.u32 %r1, [middle_param_0];\n{ // callseq " +
         number + ", 0\n.param .b32 param0;\nst.param.b32 [param0+0], %r1;\n.param .b32 retval0;\n" +
         "call.uni (retval0), \n" + leaf_name + ", \n(\nparam0\n);\nld.param.b32 %r2, [retval0+0];\n}\n" +
         "st.param.b32 [func_retval0+0], %r2;\nret;\n}\n.func (.param .b32 func_retval0) " + leaf_name +
         "(\n.param .b32 " + leaf_name +
         "_param_0\n) // -- Begin function\n{\n.local .align 4 .b8 __local_depot" + number +
         "[8];\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<2>;\nmov.u64 %rd1, __local_depot" +
         number + ";\nld.param.u32 %r1, [" + leaf_name +
         "_param_0];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra $L__BB" + number +
         "_2;\nvote.sync.ballot.b32 %r2, 1, %r1;\n" + extra + "$L__BB" + number +
         "_2:\nst.local.b32 [%rd1], %r1;\nld.local.b32 %r3, [%rd1];\nst.param.b32 [func_retval0+0], "
         "%r3;\nret;\n}\n";
}

Result<Module> parse(const std::string& functions) {
  Result<Module> module = parse_module(".version 8.0\n.target sm_75\n.address_size 64\n" + functions);
  if (!module) return module;
  for (Function& function : module->functions) {
    if (function.is_declaration()) continue;
    if (Status parsed = parse_body(*module, function); !parsed) return parsed.error();
  }
  return module;
}

Result<std::uint32_t> add(const std::string& text, std::string_view name, RoutineFunctions& functions) {
  const Result<Module> module = parse(text);
  if (!module) return module.error();
  return add_function(*module, name, placeholders, functions);
}

std::string reason(const Result<std::uint32_t>& result) {
  return result ? "" : result.error().diagnostics.front().message;
}

TEST(RoutineFunctions, AreOrderedWithoutForwardDeclarationsAndAssemble) {
  RoutineFunctions functions;
  const Result<std::uint32_t> middle = add(functions_text(1, "leaf"), "middle", functions);
  ASSERT_TRUE(middle.ok()) << reason(middle);
  EXPECT_EQ(*middle, 1u);
  EXPECT_TRUE(functions.definitions().empty());  // until they are used
  functions.use({*middle});
  std::string text;
  for (const CodeFunction& each : functions.definitions()) text += print(each);
  EXPECT_LT(text.find("__lynxpp_function_0("), text.find("__lynxpp_function_1("));
  EXPECT_THAT(text, Not(HasSubstr("leaf")));
  EXPECT_THAT(text, Not(HasSubstr("call.uni")));
  EXPECT_THAT(text, Not(HasSubstr("//")));
  EXPECT_EQ(functions.instructions(), 15u);
  bool available = false;
  std::string messages;
  const bool accepted =
      testing::assemble(".version 8.0\n.target sm_75\n.address_size 64\n" + text, messages, available);
  EXPECT_TRUE(accepted || !available) << messages << text;
}

TEST(RoutineFunctions, EqualCodeIsOneFunctionUnderAnyNames) {
  RoutineFunctions functions;
  const Result<std::uint32_t> first = add(functions_text(1, "leaf"), "middle", functions);
  const Result<std::uint32_t> again = add(functions_text(7, "other"), "middle", functions);
  const Result<std::uint32_t> different =
      add(functions_text(1, "leaf", "add.s32 %r1, %r1, 1;\n"), "middle", functions);
  ASSERT_TRUE(first.ok() && again.ok() && different.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *different);
}

TEST(RoutineFunctions, RejectsFunctionsThatCannotMoveToAnotherModule) {
  RoutineFunctions functions;
  EXPECT_THAT(reason(add(".extern .func g;\n.func f()\n{\ncall g;\nret;\n}\n", "f", functions)),
              HasSubstr("'g', which is not defined here"));
  EXPECT_THAT(reason(add(".func f()\n{\ncall f;\nret;\n}\n", "f", functions)), HasSubstr("calls itself"));
  EXPECT_THAT(reason(add(".func f()\n{\n.reg .b64 %rd<2>;\nmov.b64 %rd1, __lynxpp_word_0;\nret;\n}\n", "f",
                         functions)),
              HasSubstr("'__lynxpp_word_0'"));
  EXPECT_THAT(reason(add(".func f()\n{\n.reg .b64 %rd<2>;\np: .callprototype _ ();\ncall %rd1, p;\nret;\n}\n",
                         "f", functions)),
              HasSubstr("through a pointer"));
}

TEST(RoutineFunctions, RoutinesCallThemAtEverySite) {
  const Result<Module> module =
      parse(functions_text(1, "leaf") +
            ".visible .func h()\n{\n.reg .b32 %r<3>;\nactivemask.b32 %r1;\n{ // callseq 0, 0\n.param .b32 "
            "param0;\nst.param.b32 [param0+0], %r1;\n.param .align 8 .b8 retval0[4];\ncall.uni (retval0), "
            "\nmiddle, \n(\nparam0\n);\nld.param.b32 %r2, [retval0+0];\n}\nret;\n}\n");
  ASSERT_TRUE(module.ok());
  RoutineFunctions functions;
  const Result<ProbeRoutine> routine =
      ProbeRoutine::make(*module, *module->find_function("h"),
                         {"__lynxpp_word_", "__lynxpp_state_", "__lynxpp_site_"}, functions);
  ASSERT_TRUE(routine.ok());
  EXPECT_EQ(routine->functions(), (std::set<std::uint32_t>{1}));
  EXPECT_EQ(routine->depot_bytes(), 0u);
  NameSource names;
  EXPECT_EQ(print(routine->copy({}, names)),
            "\tactivemask.b32 %lynxpp_r0;\n\t{\n"
            "\t.param .b32 __lynxpp_param0;\n\t.param .align 8 .b8 __lynxpp_retval0[4];\n"
            "\tst.param.b32 [__lynxpp_param0], %lynxpp_r0;\n"
            "\tcall (__lynxpp_retval0), __lynxpp_function_1, (__lynxpp_param0);\n"
            "\tld.param.b32 %lynxpp_r1, [__lynxpp_retval0];\n\t}\n");
}

}  // namespace
}  // namespace lynxpp::ptx
