#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <thread>

#include "parse.h"
#include "ptx/ir/array_element.h"
#include "ptx/ir/debug_string.h"
#include "ptx/ir/memory_access.h"
#include "ptx/ir/source_files.h"

namespace lynxpp::ptx {
namespace {

/// A parsed text and its first instruction; the module must outlive it.
struct Parsed {
  explicit Parsed(const std::string& text)
      : module(module_of_body(text)), body(*module.functions.at(0).body) {}
  const Instruction& first() const { return body.instructions.at(0); }
  const Operand& operand(std::size_t index) const { return first().operands[index]; }

  Module module;
  const Body& body;
};

TEST(Body, InstructionHasGuardModifiersAndText) {
  const Parsed parsed("  @!%p1 ld.global.nc.v4.f32 {%f1, _, %f3, %f4}, [%rd1+-16];");
  const Instruction& load = parsed.first();
  EXPECT_EQ(parsed.module.text(load.text), "@!%p1 ld.global.nc.v4.f32 {%f1, _, %f3, %f4}, [%rd1+-16];");
  EXPECT_EQ(load.line, 6U);
  EXPECT_TRUE(load.guarded() && load.guard.negated);
  EXPECT_EQ(load.guard.predicate, "%p1");
  EXPECT_EQ(load.opcode, "ld.global.nc.v4.f32");
  EXPECT_EQ(memory_accesses(load).access[0].bytes, 16U);
  ASSERT_EQ(load.operands.size(), 2U);
  EXPECT_EQ(load.operands[0].kind, OperandKind::vector);
  ASSERT_EQ(load.operands[0].elements.size(), 4U);
  EXPECT_EQ(load.operands[0].elements[0].name, "%f1");
  EXPECT_EQ(load.operands[0].elements[1].kind, OperandKind::sink);
  EXPECT_EQ(parsed.module.text(load.operands[0].text), "{%f1, _, %f3, %f4}");
  EXPECT_EQ(load.operands[1].kind, OperandKind::address);
  EXPECT_EQ(load.operands[1].offset, -16);
  ASSERT_EQ(load.operands[1].elements.size(), 1U);
  EXPECT_EQ(load.operands[1].elements[0].name, "%rd1");
  EXPECT_EQ(load.operands[1].elements[0].offset, 0);
}

TEST(Body, LineMarkersAreComments) {
  // The second one is inside text that only the grammar parses.
  const Parsed parsed(
      "\n# 1 \"a.cu\"\n mov.u32 %r1, 2;\n t: .branchtargets\n#line 3 \"b;.cu\"\n A, B;\nA: B: ret;");
  ASSERT_EQ(parsed.body.instructions.size(), 2U);
  EXPECT_EQ(parsed.body.instructions[0].opcode, "mov.u32");
  EXPECT_EQ(parsed.body.instructions[0].line, 8U);
  ASSERT_EQ(parsed.body.branch_targets.size(), 1U);
  EXPECT_EQ(parsed.body.branch_targets[0].targets.size(), 2U);
}

TEST(Body, LineMarkersMayBeAnywhere) {
  for (const char* text :
       {"mov.u32 %r1, 2; # 7 \"a.cu\"\n ret;", "/* x */ # 7 \"c:\\\" 1 2\r\n mov.u32 %r1, 2; ret;",
        "mov.u32 # 7 \"a.cu\"\n %r1, 2; ret; #line 8 \"b.cu\"\n", "mov # 7 \"}{\"\n .u32 %r1, 2;\nret;"}) {
    const Parsed parsed(text);
    ASSERT_EQ(parsed.body.instructions.size(), 2U) << text;
    EXPECT_EQ(parsed.first().opcode, "mov.u32") << text;
    EXPECT_EQ(parsed.operand(1).integer, 2) << text;
  }
}

// ptxas accepts white space and comments between an opcode and its modifiers.
TEST(Body, OpcodesAreNormalised) {
  for (const std::string opcode : {"st.global.u32", "st .global\t.u32", "st/*.x*/.global.u32",
                                   "st.global//.x\n.u32", "st\n# 9 \"x.y\"\n.global.u32"}) {
    const Parsed parsed("@%p1 " + opcode + " [%rd1], %r1; " + opcode + " [%rd1], %r2;");
    ASSERT_EQ(parsed.body.instructions.size(), 2U) << opcode;
    const Body copy = parsed.body;
    for (const Instruction& instruction : copy.instructions) {
      EXPECT_EQ(instruction.opcode, "st.global.u32") << opcode;
      EXPECT_EQ(instruction.traits.space, StateSpace::global) << opcode;
      EXPECT_EQ(memory_accesses(instruction).access[0].bytes, 4U) << opcode;
      EXPECT_EQ(parsed.module.text(copy.opcode_range(instruction, parsed.module.source())), opcode);
    }
  }
}

TEST(Body, InstructionMayBeUnguarded) {
  const Parsed parsed("ret;");
  EXPECT_FALSE(parsed.first().guarded());
  EXPECT_TRUE(parsed.first().operands.empty());
  EXPECT_EQ(parsed.module.text(parsed.first().text), "ret;");
}

TEST(Body, ParsesIntegerLiterals) {
  const std::pair<const char*, std::int64_t> literals[] = {{"0", 0},
                                                           {"42", 42},
                                                           {"-1", -1},
                                                           {"0x1F", 31},
                                                           {"0X1fU", 31},
                                                           {"0b101", 5},
                                                           {"017", 15},
                                                           {"4294967295U", 4294967295},
                                                           {"0xFFFFFFFFFFFFFFFF", -1},
                                                           {"-9223372036854775808", INT64_MIN},
                                                           {"~0", -1},
                                                           {"!3", 0},
                                                           {"4+8", 12},
                                                           {"4 - -8", 12},
                                                           {"WARP_SZ", 32}};
  for (const auto& [text, value] : literals) {
    const Parsed parsed(std::string("mov.b64 %rd1, ") + text + ";");
    EXPECT_EQ(parsed.operand(1).kind, OperandKind::integer) << text;
    EXPECT_EQ(parsed.operand(1).integer, value) << text;
    EXPECT_EQ(parsed.module.text(parsed.operand(1).text), text);
  }
}

TEST(Body, EvaluatesConstantExpressions) {
  const std::pair<const char*, std::int64_t> expressions[] = {
      {"(4*2)", 8},   {"4*2", 8},       {"1+2*3", 7}, {"(1+2)*3", 9}, {"~5&3", 2},       {"1<<4", 16},
      {"--3", 3},     {"-(3)", -3},     {"((3))", 3}, {"(5|2)", 7},   {"WARP_SZ-1", 31}, {"2*WARP_SZ", 64},
      {"(.s64)3", 3}, {"1 ? 3 : 4", 3}, {"1==1", 1},  {"+3", 3}};
  for (const auto& [text, value] : expressions) {
    const Parsed parsed(std::string("mov.b64 %rd1, ") + text + ";");
    EXPECT_EQ(parsed.operand(1).kind, OperandKind::integer) << text;
    EXPECT_EQ(parsed.operand(1).integer, value) << text;
    EXPECT_EQ(parsed.module.text(parsed.operand(1).text), text);
  }
  const Parsed address(
      "ld.u32 %r1, [%rd1+(4*2)];\nmov.u64 %rd1, symbol+2*4+1;\nld.u32 %r1, [symbol + WARP_SZ];");
  EXPECT_EQ(address.operand(1).offset, 8);
  EXPECT_EQ(address.operand(1).elements[0].name, "%rd1");
  EXPECT_EQ(address.body.instructions[1].operands[1].kind, OperandKind::identifier);
  EXPECT_EQ(address.body.instructions[1].operands[1].name, "symbol");
  EXPECT_EQ(address.body.instructions[1].operands[1].offset, 9);
  EXPECT_EQ(address.body.instructions[2].operands[1].offset, 32);
}

TEST(Body, ParsesArrayElements) {
  const Parsed parsed(
      ".shared .b32 a[8];\n.shared .v2 .f64 pairs[4];\n"
      "ld.shared.u16 %r1, a[3];\nmov.u32 %r2, a[1+1];\nst.shared.f64 pairs[2], %fd1;");
  // Same as [a+12]: ptxas counts in elements of the array, not of the access.
  const Operand& load = parsed.operand(1);
  EXPECT_EQ(load.kind, OperandKind::address);
  EXPECT_EQ(load.offset, 12);
  ASSERT_EQ(load.elements.size(), 1U);
  EXPECT_EQ(load.elements[0].name, "a");
  EXPECT_EQ(parsed.module.text(load.text), "a[3]");
  const Operand& moved = parsed.body.instructions[1].operands[1];
  EXPECT_EQ(moved.kind, OperandKind::identifier);
  EXPECT_EQ(moved.name, "a");
  EXPECT_EQ(moved.offset, 8);
  EXPECT_EQ(parsed.body.instructions[2].operands[0].offset, 32);
}

TEST(Body, ParsesArrayElementsIndexedByARegister) {
  const Parsed parsed(
      ".reg .b32 %r<4>;\n.shared .v2 .f32 a[8];\nld.shared.f32 %f1, a[%r3 + 2];\nmov.u64 %rd1, a[%r3];");
  const Operand& load = parsed.operand(1);
  EXPECT_EQ(load.kind, OperandKind::address);
  const std::optional<ArrayElement> element = array_element(load);
  ASSERT_TRUE(element);
  EXPECT_EQ(element->bytes, 8U);
  EXPECT_EQ(load.offset, 0);
  ASSERT_EQ(load.elements.size(), 2U);
  EXPECT_EQ(load.elements[0].name, "a");
  EXPECT_EQ(load.elements[1].name, "%r3");
  EXPECT_EQ(load.elements[1].offset, 2);
  const Operand& moved = parsed.body.instructions[1].operands[1];
  EXPECT_EQ(moved.kind, OperandKind::address) << "not name + offset, as with a constant index";
  EXPECT_TRUE(array_element(moved));
}

TEST(Body, EvaluatesFloatingPointExpressions) {
  const std::pair<const char*, double> expressions[] = {
      {"1.0*2.0", 2},      {"1.0/4.0", 0.25}, {"(1.0+2.0)*3.0", 9}, {"1.5 - -1.5", 3},
      {"--1.5", 1.5},      {"-(1.5)", -1.5},  {"(((-1.5)))", -1.5}, {"0d3FF0000000000000+1e0", 2},
      {"1.0-2.0-3.0", -4}, {"2e-1*5.", 1}};
  for (const auto& [text, value] : expressions) {
    const Parsed parsed(std::string("mov.f64 %fd1, ") + text + ";");
    EXPECT_EQ(parsed.operand(1).kind, OperandKind::floating) << text;
    EXPECT_EQ(std::bit_cast<double>(parsed.operand(1).bits), value) << text;
    EXPECT_FALSE(parsed.operand(1).is_single) << text;
  }
  const Parsed single("mov.f32 %f1, -(0f3F800000);");
  EXPECT_TRUE(single.operand(1).is_single);
  EXPECT_EQ(single.operand(1).bits, 0xbf800000U);
  for (const auto& [text, value] :
       {std::pair("1.5 < 2.5", 1), {"1.5 >= 2.5", 0}, {"(1.5<2.0)+7", 8}, {"1.5 == 1.5 ? 7 : 8", 7}}) {
    const Parsed parsed(std::string("mov.u32 %r1, ") + text + ";");
    EXPECT_EQ(parsed.operand(1).kind, OperandKind::integer) << text;
    EXPECT_EQ(parsed.operand(1).integer, value) << text;
  }
}

TEST(Body, AcceptsComponentsAfterWhiteSpace) {
  const Parsed parsed("mov.u32 %r1, %tid /* which */ .x;\nmov.b64 %rd2, {%nclusterid\n.z, %ctaid .y};");
  EXPECT_EQ(parsed.operand(1).kind, OperandKind::special_register);
  EXPECT_EQ(parsed.operand(1).name, "%tid.x");
  EXPECT_EQ(parsed.module.text(parsed.operand(1).text), "%tid /* which */ .x");
  const Operand& pair = parsed.body.instructions[1].operands[1];
  EXPECT_EQ(pair.elements[0].name, "%nclusterid.z");
  EXPECT_EQ(pair.elements[1].name, "%ctaid.y");
  EXPECT_EQ(pair.elements[1].kind, OperandKind::special_register);
}

TEST(Body, ParsesConstantBanks) {
  const Parsed parsed("ld.const[2].u32 %r1, [c+4];");
  EXPECT_EQ(parsed.first().opcode, "ld.const[2].u32");
  EXPECT_EQ(parsed.first().traits.space, StateSpace::constant);
  EXPECT_EQ(parsed.operand(1).offset, 4);
  const Module module = module_of(".extern .const[2] .u32 c[];");
  EXPECT_EQ(module.variables.at(0).space, StateSpace::constant);
}

TEST(Body, ParsesFloatLiterals) {
  const std::tuple<const char*, std::uint64_t, bool> literals[] = {
      {"0f3F800000", 0x3f800000, true},
      {"-0F3f800000", 0xbf800000, true},
      {"0d3FF0000000000000", 0x3ff0000000000000, false},
      {"1.5", 0x3ff8000000000000, false},
      {"-1.5", 0xbff8000000000000, false},
      {"2e3", 0x409f400000000000, false},
      {"1.", 0x3ff0000000000000, false},
      {"5.0E-1", 0x3fe0000000000000, false},
      {".5", 0x3fe0000000000000, false},
      {"-.25e1", 0xc004000000000000, false}};
  for (const auto& [text, bits, single] : literals) {
    const Parsed parsed(std::string("mov.f32 %f1, ") + text + ";");
    EXPECT_EQ(parsed.operand(1).kind, OperandKind::floating) << text;
    EXPECT_EQ(parsed.operand(1).bits, bits) << text;
    EXPECT_EQ(parsed.operand(1).is_single, single) << text;
  }
}

TEST(Body, DistinguishesNamesSpecialRegistersAndComponents) {
  const Parsed parsed("mad.lo.s32 %r1, %tid.x, -v.x, symbol+4;");
  EXPECT_EQ(parsed.operand(1).kind, OperandKind::special_register);
  EXPECT_EQ(parsed.operand(1).name, "%tid.x");
  EXPECT_EQ(parsed.operand(2).kind, OperandKind::identifier);
  EXPECT_EQ(parsed.operand(2).name, "v.x");
  EXPECT_TRUE(parsed.operand(2).negated);
  EXPECT_EQ(parsed.operand(3).name, "symbol");
  EXPECT_EQ(parsed.operand(3).offset, 4);
}

TEST(Body, RecognisesEverySpecialRegister) {
  for (const char* name :
       {"%ntid.y", "%laneid", "%ctaid.z", "%gridid", "%clock64", "%lanemask_lt", "%envreg31", "%pm3",
        "%pm7_64", "%globaltimer_lo", "%cluster_ctarank", "%dynamic_smem_size", "%smid"}) {
    EXPECT_EQ(Parsed(std::string("mov.u32 %r1, ") + name + ";").operand(1).kind,
              OperandKind::special_register)
        << name;
  }
  for (const char* name : {"%r1", "%tidy", "%envregs", "%pm", "%pmx", "laneid", "%clock65"}) {
    EXPECT_EQ(Parsed(std::string("mov.u32 %r1, ") + name + ";").operand(1).kind, OperandKind::identifier)
        << name;
  }
}

TEST(Body, ParsesPairsAndNegatedPredicates) {
  const Parsed parsed("setp.lt.and.s32 %p1|%p2, %r1, 3, !%p3;");
  EXPECT_EQ(parsed.operand(0).kind, OperandKind::pair);
  EXPECT_EQ(parsed.operand(0).elements[1].name, "%p2");
  EXPECT_TRUE(parsed.operand(3).negated);
  EXPECT_EQ(parsed.operand(3).name, "%p3");
  EXPECT_EQ(parsed.first().traits.destinations, 1);
}

TEST(Body, VectorsOfOneElementAreThatElement) {
  // The grammar parses the second text: its opcode has embedded white space.
  for (const char* const text : {"st.global.b32 [%rd1], { %r1 };\nld.global.b32 {%r2}, [%rd1];",
                                 "st .global.b32 [%rd1], { %r1 };\nld .global.b32 {%r2}, [%rd1];"}) {
    const Parsed parsed(text);
    const Operand& stored = parsed.body.instructions[0].operands[1];
    EXPECT_EQ(stored.kind, OperandKind::identifier);
    EXPECT_EQ(stored.name, "%r1");
    EXPECT_EQ(parsed.module.text(stored.text), "{ %r1 }");
    EXPECT_EQ(parsed.body.instructions[1].operands[0].name, "%r2");
  }
}

TEST(Body, ParsesAddressesOfEveryShape) {
  const Parsed texture("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}|%p1, [tex_a, smp, {%f5, %f6}];");
  EXPECT_EQ(texture.operand(0).kind, OperandKind::pair);
  EXPECT_EQ(texture.operand(1).kind, OperandKind::address);
  ASSERT_EQ(texture.operand(1).elements.size(), 3U);
  EXPECT_EQ(texture.operand(1).elements[2].kind, OperandKind::vector);
  const Parsed absolute("ld.u32 %r1, [4096];");
  EXPECT_EQ(absolute.operand(1).elements[0].integer, 4096);
  EXPECT_EQ(absolute.operand(1).offset, 0);
  const Parsed symbol("ld.shared.u32 %r1, [ tile + 0x10 ];");
  EXPECT_EQ(symbol.operand(1).elements[0].name, "tile");
  EXPECT_EQ(symbol.operand(1).offset, 16);
}

TEST(Body, ParsesCalls) {
  const Parsed parsed(
      "call.uni (retval0), f, (param0, 3, %r1);\ncall (r), %rd1, (a), prototype_0;\ncall g;\ncall h, ();");
  ASSERT_EQ(parsed.body.instructions.size(), 4U);
  ASSERT_EQ(parsed.first().operands.size(), 3U);
  EXPECT_EQ(parsed.operand(0).kind, OperandKind::list);
  EXPECT_EQ(parsed.operand(1).name, "f");
  ASSERT_EQ(parsed.operand(2).elements.size(), 3U);
  EXPECT_EQ(parsed.operand(2).elements[1].integer, 3);
  EXPECT_EQ(parsed.body.instructions[1].operands[3].name, "prototype_0");
  EXPECT_EQ(parsed.body.instructions[2].operands.size(), 1U);
  EXPECT_TRUE(parsed.body.instructions[3].operands[1].elements.empty());
  EXPECT_EQ(parsed.body.instructions[3].operands[1].kind, OperandKind::list);
}

TEST(Body, ParsesModernOpcodes) {
  const Parsed parsed(
      "mbarrier.try_wait.parity.shared::cta.b64 P1, [%r1], %r2;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, "
      "%r3}], [%r4];\n"
      "ld.global.L1::no_allocate.L2::cache_hint.L2::256B.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1], %rd2;\n"
      "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r3, %r4}, %p1;\n"
      "ld .global .f32 %f1, [%rd1];\n");
  ASSERT_EQ(parsed.body.instructions.size(), 5U);
  for (const Instruction& instruction : parsed.body.instructions)
    EXPECT_TRUE(instruction.traits.is_known()) << instruction.opcode;
  EXPECT_EQ(parsed.body.instructions[1].operands.size(), 3U);
  EXPECT_EQ(parsed.body.instructions[1].operands[1].elements.size(), 2U);
  EXPECT_EQ(parsed.body.instructions[4].opcode, "ld.global.f32");
  EXPECT_EQ(parsed.body.instructions[4].traits.space, StateSpace::global);
}

TEST(Body, AcceptsCommentsAnywhere) {
  const Parsed parsed("add /* a */ .s32 %r1, // b ; {\n %r2 /* ; */ , 3 ; // }\n/* ret; */");
  ASSERT_EQ(parsed.body.instructions.size(), 1U);
  EXPECT_EQ(parsed.first().operands.size(), 3U);
}

TEST(Body, ParsesRegisterDeclarations) {
  const Parsed parsed(".reg .pred %p<3>;\n.reg .b32 %r<10>, x, %r2<4>;\n.reg .v4 .f32 v;\n{ .reg .b64 x; }");
  ASSERT_EQ(parsed.body.registers.size(), 6U);
  const auto type = [&](const char* name, std::uint32_t scope = 0) {
    const RegisterDeclaration* found = parsed.body.find_register(name, scope);
    return found == nullptr ? DataType::none : found->type;
  };
  EXPECT_EQ(type("%p0"), DataType::pred);
  EXPECT_EQ(type("%p2"), DataType::pred);
  EXPECT_EQ(type("%p3"), DataType::none);
  EXPECT_EQ(type("%p01"), DataType::none);
  EXPECT_EQ(type("%r9"), DataType::b32);
  EXPECT_EQ(type("%r23"), DataType::b32) << "declared by %r2<4>";
  EXPECT_EQ(type("%r24"), DataType::none);
  EXPECT_EQ(type("%r"), DataType::none);
  EXPECT_EQ(type("v.x"), DataType::f32);
  EXPECT_EQ(parsed.body.find_register("v", 0)->vector, 4U);
  EXPECT_EQ(type("x"), DataType::b32);
  EXPECT_EQ(type("x", 1), DataType::b64);
  EXPECT_EQ(type("%p1", 1), DataType::pred) << "from the enclosing scope";
  EXPECT_EQ(type("%q1"), DataType::none);
}

TEST(Body, SearchesSurviveAddedDeclarations) {
  Parsed parsed(".reg .b32 %r<10>;\n.shared .b8 tile[4];");
  Body body = parsed.body;
  body.registers.push_back({"%lynx", DataType::b64, 1, 5, 0});
  Variable variable;
  variable.name = "added";
  body.variables.push_back(variable);
  for (const bool indexed : {false, true}) {
    if (indexed) body.index_names();
    ASSERT_NE(body.find_register("%lynx4", 0), nullptr);
    EXPECT_EQ(body.find_register("%lynx5", 0), nullptr);
    ASSERT_NE(body.find_register("%r9", 0), nullptr);
    EXPECT_NE(body.find_variable("added", 0), nullptr);
    EXPECT_NE(body.find_variable("tile", 0), nullptr);
    EXPECT_EQ(body.find_variable("til", 0), nullptr);
  }
}

TEST(Body, ResolvesVariablesInScopes) {
  const Parsed parsed(
      ".local .align 16 .b8 __local_depot0[32];\n"
      ".shared .f32 tile[16][17];\n"
      "{\n.param .b64 param0;\nst.param.b64 [param0], %rd1;\n{ .param .b32 param0; }\n}\n"
      "{ .param .align 8 .b8 param0[24]; }");
  const Body& body = parsed.body;
  ASSERT_EQ(body.variables.size(), 5U);
  EXPECT_EQ(body.find_variable("__local_depot0", 2)->size_bytes(), 32U);
  EXPECT_EQ(body.find_variable("tile", 0)->size_bytes(), 16U * 17U * 4U);
  EXPECT_EQ(body.find_variable("param0", 0), nullptr);
  EXPECT_EQ(body.find_variable("param0", 1)->type, DataType::b64);
  EXPECT_EQ(body.find_variable("param0", 2)->type, DataType::b32);
  EXPECT_EQ(body.find_variable("param0", 3)->size_bytes(), 24U);
  ASSERT_EQ(body.scopes.size(), 4U);
  EXPECT_EQ(body.scopes[1].parent, 0U);
  EXPECT_EQ(body.scopes[2].parent, 1U);
  EXPECT_EQ(body.scopes[3].parent, 0U);
  EXPECT_EQ(body.scopes[0].end, body.statements.size());
  for (std::size_t scope = 1; scope < body.scopes.size(); ++scope) {
    EXPECT_EQ(body.statements[body.scopes[scope].begin].kind, StatementKind::scope_begin);
    EXPECT_EQ(body.statements[body.scopes[scope].end].kind, StatementKind::scope_end);
    EXPECT_EQ(body.statements[body.scopes[scope].begin].scope, body.scopes[scope].parent);
  }
  EXPECT_EQ(body.statements[parsed.first().statement].scope, 1U);
}

TEST(Body, ParsesLabelsAndTargetLists) {
  const Parsed parsed(
      "$L__BB0_1:\nts: .branchtargets $L__BB0_1, $L__BB0_2;\n%r1: brx.idx %r1, ts;\n$L__BB0_2: // end\n"
      "fs: .calltargets f, g;\nproto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _) "
      ".noreturn;\nret;");
  const Body& body = parsed.body;
  std::vector<std::string> labels;
  for (const Statement& statement : body.statements) {
    if (statement.kind == StatementKind::label) labels.emplace_back(statement.name);
  }
  EXPECT_THAT(labels, testing::ElementsAre("$L__BB0_1", "%r1", "$L__BB0_2"));
  ASSERT_EQ(body.branch_targets.size(), 1U);
  EXPECT_EQ(body.branch_targets[0].name, "ts");
  EXPECT_THAT(body.branch_targets[0].targets, testing::ElementsAre("$L__BB0_1", "$L__BB0_2"));
  ASSERT_EQ(body.call_targets.size(), 2U);
  EXPECT_THAT(body.call_targets[0].targets, testing::ElementsAre("f", "g"));
  EXPECT_EQ(body.call_targets[1].name, "proto");
  EXPECT_TRUE(body.call_targets[1].targets.empty());
}

TEST(Body, TracksSourceLines) {
  const Parsed parsed(
      "mov.u32 %r1, 0;\n.loc 1 20 3\nmov.u32 %r1, 1;\n"
      ".loc\t2 30 0, function_name $L__info_string0, inlined_at 1 20 3\nmov.u32 %r1, 2;\n"
      ".loc 2 31 0, function_name $L__info_string0+16, inlined_at 1 20 3\nL: @%p1 bra L;\n.loc 1 21 5\nret;");
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lines;
  for (const Instruction& instruction : parsed.body.instructions) {
    lines.emplace_back(instruction.source_file, instruction.source_line);
  }
  using P = std::pair<std::uint32_t, std::uint32_t>;
  EXPECT_THAT(lines, testing::ElementsAre(P{0, 0}, P{1, 20}, P{2, 30}, P{2, 31}, P{1, 21}));
}

/// The position of each instruction and the calls that inlined it, by file and line: "2:30 < 1:20".
std::vector<std::string> positions(const std::string& files, BodyParsing parsing) {
  Module module =
      module_of(files +
                ".visible .entry k() {\n.reg .b32 %r<9>;\n"
                ".loc 1 20 3\nmov.u32 %r1, 1;\n"
                ".loc 2 30 0, function_name $L__info_string0, inlined_at 1 20 3\nmov.u32 %r1, 2;\n"
                ".loc 3 40 5, function_name $L__info_string1+4, inlined_at 2 30 0\nmov.u32 %r1, 3;\n"
                ".loc 2 31 0, function_name $L__info_string0, inlined_at 1 21 3\nmov.u32 %r1, 4;\nret;\n}\n");
  EXPECT_TRUE(parse_body(module, module.functions[0], "t.ptx", parsing));
  const Body& body = *module.functions[0].body;
  std::vector<std::string> found;
  for (const Instruction& each : body.instructions) {
    std::string text = std::to_string(each.source_file) + ":" + std::to_string(each.source_line);
    for (std::uint32_t call = each.call_site; call != no_call_site; call = body.call_sites[call].outer)
      text += " < " + std::to_string(body.call_sites[call].file) + ":" +
              std::to_string(body.call_sites[call].line);
    found.push_back(text);
  }
  return found;
}

TEST(Body, InlinedCodeHasItsCalls) {
  const std::string own = ".file 1 \"a.cu\"\n.file 2 \"/home/u/util.cuh\"\n.file 3 \"/home/u/more.cuh\"\n";
  for (const BodyParsing parsing : {BodyParsing::fast, BodyParsing::grammar}) {
    EXPECT_THAT(positions(own, parsing), testing::ElementsAre("1:20", "2:30 < 1:20", "3:40 < 2:30 < 1:20",
                                                              "2:31 < 1:21", "2:31 < 1:21"));
  }
}

/// The names of the functions that are inlined at each instruction, innermost first.
std::vector<std::string> inlined_functions(const std::string& section, BodyParsing parsing) {
  Module module = module_of(
      ".file 1 \"a.cu\"\n"
      ".visible .entry k() {\n.reg .b32 %r<9>;\n"
      ".loc 1 20 3\nmov.u32 %r1, 1;\n"
      ".loc 1 10 0, function_name $L__info_string0, inlined_at 1 20 3\nmov.u32 %r1, 2;\n"
      ".loc 1 5 0, function_name $L__info_string1, inlined_at 1 10 0\nmov.u32 %r1, 3;\n"
      ".loc 1 7 0, function_name $L__info_string10, inlined_at 1 20 3\nmov.u32 %r1, 4;\n"
      ".loc 1 8 0, function_name $L__info_string0+2, inlined_at 1 21 3\nmov.u32 %r1, 5;\n"
      ".loc 1 9 0, inlined_at 1 22 3\nret;\n}\n" +
      section);
  EXPECT_TRUE(parse_body(module, module.functions[0], "t.ptx", parsing));
  const Body& body = *module.functions[0].body;
  std::vector<std::string> found;
  for (const Instruction& each : body.instructions) {
    std::string text;
    for (std::uint32_t call = each.call_site; call != no_call_site; call = body.call_sites[call].outer)
      text += debug_string(module, body.call_sites[call].function) + ";";
    found.push_back(text);
  }
  return found;
}

TEST(Body, InlinedCodeNamesItsFunctions) {
  const std::string section =
      ".section .debug_str\n{\n$L__info_string10:\n.b8 99,0\n$L__info_string1:\n.b8 98, 98\n.b8 98,0\n"
      "$L__info_string0:\n.b8 97,0\n}\n";
  for (const BodyParsing parsing : {BodyParsing::fast, BodyParsing::grammar}) {
    EXPECT_THAT(inlined_functions(section, parsing),
                testing::ElementsAre("", "a;", "bbb;a;", "c;", ";", ";"));
    EXPECT_THAT(inlined_functions("", parsing), testing::ElementsAre("", ";", ";;", ";", ";", ";"));
  }
}

TEST(Body, StringsThatAreNotBytesAreUnknown) {
  for (const char* const bytes : {".b8 97", ".b8 97 98,0", ".b8 300,0", ".b32 97,0", "", ".b8 x,0"}) {
    const Module module =
        module_of(".section .debug_str\n{\n$L:\n" + std::string(bytes) + "\n}\n.section .x { $M: .b8 1 }\n");
    EXPECT_EQ(debug_string(module, "$L"), "") << bytes;
    EXPECT_EQ(debug_string(module, "$N"), "");
  }
}

TEST(Body, LibraryCodeIsAttributedToItsCall) {
  const std::string toolkit = "/usr/local/cuda/bin/../targets/x86_64-linux/include/";
  const std::string inner =
      ".file 1 \"a.cu\"\n.file 2 \"/home/u/util.cuh\"\n.file 3 \"" + toolkit + "x.hpp\"\n";
  const std::string both =
      ".file 1 \"a.cu\"\n.file 2 \"" + toolkit + "y.hpp\"\n.file 3 \"" + toolkit + "x.hpp\"\n";
  const std::string all = ".file 1 \"" + toolkit + "k.cuh\"\n.file 2 \"" + toolkit + "y.hpp\"\n.file 3 \"" +
                          toolkit + "x.hpp\"\n";
  EXPECT_THAT(positions(inner, BodyParsing::fast),
              testing::ElementsAre("1:20", "2:30 < 1:20", "2:30 < 1:20", "2:31 < 1:21", "2:31 < 1:21"));
  EXPECT_THAT(positions(both, BodyParsing::fast),
              testing::ElementsAre("1:20", "1:20", "1:20", "1:21", "1:21"));
  EXPECT_EQ(positions(all, BodyParsing::fast)[2], "3:40 < 2:30 < 1:20") << "a kernel of the library's own";
}

TEST(Body, LibraryHeadersAreRecognisedByTheirFolders) {
  for (const char* each : {"/usr/local/cuda/bin/../targets/x86_64-linux/include/device_atomic_functions.hpp",
                           "/opt/conda/targets/sbsa-linux/include/cuda_fp16.hpp",
                           "/usr/local/cuda-13.0/include/crt/sm_70_rt.hpp", "/usr/include/c++/12/cmath",
                           "/v/lib/python3.11/site-packages/nvidia/cu13/include/cuda_bf16.hpp",
                           "/usr/lib/llvm-19/lib/clang/19/include/__clang_cuda_math.h"})
    EXPECT_TRUE(is_library_header(each)) << each;
  for (const char* each : {"a.cu", "/home/u/include/util.cuh", "/home/u/cuda-samples/Common/helper_cuda.h",
                           "/src/cutlass/include/cute/tensor.hpp", "/home/u/triton/kernel.py"})
    EXPECT_FALSE(is_library_header(each)) << each;
}

TEST(Body, DirectivesKeepTheirText) {
  const Parsed parsed(
      ".pragma \"nounroll\", \"x;\";\n.file 3 \"a.cu\"\n.section .debug_x { .b8 1 }\n.someday 1, a "
      "b;\n;\nret;");
  std::vector<std::string> names;
  std::vector<std::string> texts;
  for (const Statement& statement : parsed.body.statements) {
    if (statement.kind != StatementKind::directive) continue;
    names.emplace_back(statement.name);
    texts.emplace_back(parsed.module.text(statement.text));
  }
  EXPECT_THAT(names, testing::ElementsAre(".pragma", ".file", ".section", ".someday", ""));
  EXPECT_THAT(texts, testing::ElementsAre(".pragma \"nounroll\", \"x;\";", ".file 3 \"a.cu\"",
                                          ".section .debug_x { .b8 1 }", ".someday 1, a b;", ";"));
}

TEST(Body, StatementsAndInstructionsReferToEachOther) {
  const Parsed parsed("L: add.s32 %r1, %r1, 1;\n.loc 1 1 1\n@%p1 bra L;\nret;");
  for (std::uint32_t index = 0; index < parsed.body.instructions.size(); ++index) {
    const Statement& statement = parsed.body.statements[parsed.body.instructions[index].statement];
    EXPECT_EQ(statement.kind, StatementKind::instruction);
    EXPECT_EQ(statement.index, index);
    EXPECT_EQ(statement.line, parsed.body.instructions[index].line);
  }
}

TEST(Body, IsParsedOnce) {
  Module module = module_of_body("ret;");
  const Body* const first = &*module.functions[0].body;
  ASSERT_TRUE(parse_body(module, module.functions[0]));
  EXPECT_EQ(&*module.functions[0].body, first);
  EXPECT_EQ(first->instructions.size(), 1U);
}

TEST(Body, AcceptsNonAsciiTextInCommentsAndStrings) {
  const Parsed parsed(
      "// gr\xc3\xbc\xc3\x9f \xff\n.pragma \"\xe2\x82\xac\";\nadd.s32 %r1, %r2, 3; // \x80\nret;");
  ASSERT_EQ(parsed.body.instructions.size(), 2U);
  EXPECT_EQ(parsed.module.text(parsed.first().text), "add.s32 %r1, %r2, 3;");
}

TEST(Body, ParsesConcurrently) {
  std::string text;
  for (int index = 0; index < 300; ++index) {
    text += "L" + std::to_string(index) + ": @%p1 ld.global.v2.f32 {%f1, %f2}, [%rd" + std::to_string(index) +
            "+8];\n";
    text += "{ .reg .b32 t; add.s32 t, %r1, " + std::to_string(index) + "; }\n.loc 1 2 3\n";
  }
  const std::string source = header + ".entry k() {\n" + text + "\n}";
  std::vector<std::size_t> counts(4);
  std::vector<std::thread> threads;
  for (std::size_t& count : counts) {
    threads.emplace_back([&source, &count] {
      for (int round = 0; round < 5; ++round) {
        auto module = parse_module(source);
        if (module && parse_all_bodies(*module)) count += module->functions[0].body->instructions.size();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(counts, testing::Each(5U * 600U));
}

}  // namespace
}  // namespace lynxpp::ptx
