#include <gtest/gtest.h>

#include "parse.h"
#include "ptx/emitter/code_printer.h"
#include "ptx/emitter/emitter.h"

namespace lynxpp::ptx {
namespace {

TEST(Code, PrintsOperands) {
  NameSource names;
  const VirtualRegister first = names.fresh(RegisterType::b64);
  const VirtualRegister second = names.fresh(RegisterType::b64);
  const VirtualRegister word = names.fresh(RegisterType::b32);
  const VirtualRegister holds = names.fresh(RegisterType::pred);
  EXPECT_EQ(print(first), "%lynxpp_rd0");
  EXPECT_EQ(print(second), "%lynxpp_rd1");
  EXPECT_EQ(print(word), "%lynxpp_r0");
  EXPECT_EQ(print(names.fresh(RegisterType::b16)), "%lynxpp_rs0");
  EXPECT_EQ(print(names.fresh(RegisterType::b128)), "%lynxpp_rq0");
  EXPECT_EQ(print(Name{"%p1"}), "%p1");
  EXPECT_EQ(print(SpecialRegister{"%tid.x"}), "%tid.x");
  EXPECT_EQ(print(-7), "-7");
  EXPECT_EQ(print(4294967295u), "4294967295");
  EXPECT_EQ(print(std::uint64_t{1} << 63), "-9223372036854775808");
  EXPECT_EQ(print(names.fresh_label()), "$lynxpp_0");
  EXPECT_EQ(print(names.fresh_label()), "$lynxpp_1");
  EXPECT_EQ(print(!CodePredicate(holds)), "!%lynxpp_p0");
  EXPECT_EQ(print(!!CodePredicate(Name{"%p1"})), "%p1");
  EXPECT_EQ(print(CodeAddress{first}), "[%lynxpp_rd0]");
  EXPECT_EQ(print(CodeAddress{Name{"__lynxpp_probe"}, 8}), "[__lynxpp_probe+8]");
  EXPECT_EQ(print(CodeAddress{second, -8}), "[%lynxpp_rd1+-8]");
  EXPECT_EQ(print(CodeList{CodeList::Kind::vector, {word, 3}}), "{%lynxpp_r0, 3}");
  EXPECT_EQ(print(CodeList{CodeList::Kind::arguments, {}}), "()");
  EXPECT_EQ(print(CodeList{CodeList::Kind::pair, {word, holds}}), "%lynxpp_r0|%lynxpp_p0");
}

TEST(Code, PrintsStatements) {
  NameSource names;
  CodeBuilder code(names);
  const VirtualRegister lane = code.fresh(RegisterType::b32);
  const Label done = code.fresh_label();
  code.mov(lane, SpecialRegister{"%laneid"});
  code.mov_if(CodePredicate(Name{"%p1"}), lane, 5);
  code.branch_if(!CodePredicate(Name{"%p1"}), done);
  code.open_scope();
  code.add_text(".param .b32 value;");
  code.emit("st.param.b32", {CodeAddress{Name{"value"}}, lane});
  code.emit("call", {Name{"f"}, CodeList{CodeList::Kind::arguments, {Name{"value"}}}});
  code.close_scope();
  code.place(done);
  code.branch(done);
  EXPECT_EQ(print(code.code()),
            "\tmov.u32 %lynxpp_r0, %laneid;\n\t@%p1 mov.b32 %lynxpp_r0, 5;\n\t@!%p1 bra $lynxpp_0;\n\t{\n"
            "\t.param .b32 value;\n\tst.param.b32 [value], %lynxpp_r0;\n\tcall f, (value);\n\t}\n"
            "$lynxpp_0:\n\tbra $lynxpp_0;\n");
  EXPECT_EQ(code.code().size(), 6u);
  EXPECT_EQ(print_declarations(names), "\t.reg .b32 %lynxpp_r<1>;\n");
}

TEST(Code, IsAValue) {
  NameSource names;
  CodeBuilder builder(names);
  builder.mov(builder.fresh(RegisterType::b32), 1);
  const Code once = builder.code();
  Code twice = once;
  EXPECT_EQ(twice, once);
  twice.append(once);
  EXPECT_NE(twice, once);
  EXPECT_EQ(twice.size(), 2u);
  EXPECT_EQ(builder.take(), once);
  EXPECT_TRUE(builder.empty());
  EXPECT_EQ(CodeOperand(CodePredicate(Name{"%p1"})), CodeOperand(Name{"%p1"}));
  EXPECT_NE(CodeOperand(!CodePredicate(Name{"%p1"})), CodeOperand(Name{"%p1"}));
  EXPECT_EQ(predicate_of({"%p1", true}), !CodePredicate(Name{"%p1"}));
  EXPECT_EQ(predicate_of({}), std::nullopt);
}

TEST(Code, ElectsOneLane) {
  NameSource names;
  CodeBuilder code(names);
  const VirtualRegister leads = code.elect_leader(code.active_mask());
  const VirtualRegister also = code.elect_leader(255, !CodePredicate(leads));
  EXPECT_EQ(print(also), "%lynxpp_p1");
  EXPECT_EQ(print(code.code()),
            "\tactivemask.b32 %lynxpp_r0;\n\tmov.u32 %lynxpp_r1, %lanemask_lt;\n"
            "\tand.b32 %lynxpp_r2, %lynxpp_r1, %lynxpp_r0;\n\tsetp.eq.u32 %lynxpp_p0, %lynxpp_r2, 0;\n"
            "\tmov.u32 %lynxpp_r3, %lanemask_lt;\n\tand.b32 %lynxpp_r4, %lynxpp_r3, 255;\n"
            "\tsetp.eq.and.u32 %lynxpp_p1, %lynxpp_r4, 0, !%lynxpp_p0;\n");
}

class CodeInText : public testing::Test {
 protected:
  const Module module = module_of(".entry k()\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, 1;\n\tret;\n}\n");
  const Function& function = module.functions.at(0);
  EditList edits;

  std::uint32_t place(std::string_view text) const {
    return static_cast<std::uint32_t>(module.source().find(text));
  }
  Code counting(int amount) {
    CodeBuilder code(edits.names(function));
    code.compute(RegisterType::b32, "add.u32", {Name{"%r1"}, amount});
    return code.take();
  }
  std::string body() const { return emit(module, edits).substr(function.body_text.begin); }
};

TEST_F(CodeInText, IsOnLinesOfItsOwnAroundAnInstruction) {
  edits.insert_before(place("ret;"), counting(1));
  edits.insert_before(place("ret;"), counting(2));
  edits.insert_before(place("1;") + 2, counting(3));
  edits.insert_before(place("1;") + 2, counting(4));
  EXPECT_EQ(body(),
            "{\n\t.reg .b32 %lynxpp_r<4>;\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, 1;\n"
            "\tadd.u32 %lynxpp_r2, %r1, 3;\n\tadd.u32 %lynxpp_r3, %r1, 4;\n"
            "\tadd.u32 %lynxpp_r0, %r1, 1;\n\tadd.u32 %lynxpp_r1, %r1, 2;\n\tret;\n}\n");
}

TEST_F(CodeInText, ReplacesInstructionsAndOperands) {
  edits.replace({place("1;"), place("1;") + 1}, CodeOperand(SpecialRegister{"%laneid"}));
  edits.replace({place("ret;"), place("ret;") + 4}, counting(5));
  EXPECT_EQ(body(),
            "{\n\t.reg .b32 %lynxpp_r<1>;\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, %laneid;\n"
            "\tadd.u32 %lynxpp_r0, %r1, 5;\n}\n");
}

TEST_F(CodeInText, IsSeparatedFromTheRestOfItsLine) {
  const Module dense = module_of(".entry k() { a; b; }");
  EditList list;
  CodeBuilder code(list.names(dense.functions.at(0)));
  code.place(code.fresh_label());
  code.mov(code.fresh(RegisterType::b64), 0);
  list.insert_before(static_cast<std::uint32_t>(dense.source().find("b;")), code.take());
  EXPECT_EQ(emit(dense, list).substr(header.size()),
            ".entry k() {\n\t.reg .b64 %lynxpp_rd<1>; a;\n$lynxpp_0:\n\tmov.b64 %lynxpp_rd0, 0;\n\tb; }");
}

TEST_F(CodeInText, EmptyCodeIsNotAnEdit) {
  edits.insert_before(place("ret;"), Code{});
  EXPECT_TRUE(edits.empty());
  EXPECT_EQ(emit(module, edits), module.source());
}

TEST_F(CodeInText, RegistersAreDroppedWithTheirFunction) {
  edits.insert_before(place("ret;"), counting(1));
  edits.erase(function.text);
  EXPECT_EQ(emit(module, edits).find("lynxpp"), std::string::npos);
}

TEST_F(CodeInText, IsParsedWithItsRegisters) {
  CodeBuilder code(edits.names(function));
  const VirtualRegister leads = code.elect_leader(code.active_mask());
  code.emit_if(
      CodePredicate(leads), "shfl.sync.down.b32",
      {CodeList{CodeList::Kind::pair, {code.fresh(RegisterType::b32), leads}}, Name{"%r1"}, 1, 31, -1});
  edits.insert_before(place("ret;"), code.take());
  Module emitted = module_of(emit(module, edits).substr(header.size()));
  ASSERT_TRUE(parse_all_bodies(emitted));
  const Body& parsed = *emitted.functions.at(0).body;
  ASSERT_EQ(parsed.instructions.size(), 7u);
  EXPECT_NE(parsed.find_register("%lynxpp_r2", 0), nullptr);
  EXPECT_EQ(parsed.find_register("%lynxpp_r4", 0), nullptr);
  EXPECT_EQ(parsed.instructions[5].guard.predicate, "%lynxpp_p0");
  EXPECT_EQ(parsed.instructions[5].operands[0].kind, OperandKind::pair);
}

}  // namespace
}  // namespace lynxpp::ptx
