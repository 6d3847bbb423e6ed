// Text that is wrong: the exact words a user reads, and that nothing crashes or hangs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "parse.h"
#include "ptx/analysis/control_flow_graph.h"

namespace lynxpp::ptx {
namespace {

std::string of_body(const std::string& body) {
  return diagnostics_of(header + ".entry k() {\n" + body + "\n}\n");
}
std::string of_module(const std::string& text) { return diagnostics_of(header + text); }

TEST(Malformed, NoPtxAtAll) {
  EXPECT_EQ(diagnostics_of(""),
            "test.ptx:1:1: error: the text has no .version directive\n"
            "  hint: PTX begins with '.version 8.0', '.target sm_80'\n");
  EXPECT_EQ(diagnostics_of("\x7f"
                           "ELF"),
            "test.ptx:1:1: error: expected a directive instead of byte 127\n");
  EXPECT_EQ(diagnostics_of(".version 8.0\n"),
            "test.ptx:1:1: error: the text has no .target directive\n"
            "  hint: write '.target sm_75' after .version\n");
}

TEST(Malformed, HeaderDirectives) {
  EXPECT_EQ(diagnostics_of(".version 8\n"), "test.ptx:1:10: error: a version looks like 8.0\n");
  EXPECT_EQ(diagnostics_of(".version 8.0\n.target fermi\n"),
            "test.ptx:2:9: error: a target looks like sm_90 or sm_90a\n");
  EXPECT_EQ(of_module(".address_size 16"), "test.ptx:4:15: error: an address size is 32 or 64\n");
  EXPECT_EQ(of_module(".version 7.0"),
            "test.ptx:4:10: error: a second .version directive\n"
            "  hint: the text holds several modules; pass them one by one\n");
  EXPECT_EQ(of_module(".file \"a\" 1"),
            "test.ptx:4:11: error: a file is declared like .file 1 \"kernel.cu\"\n");
}

TEST(Malformed, BracketsCommentsAndStrings) {
  EXPECT_EQ(of_module(".entry k() { ret;"), "test.ptx:4:12: error: '{' is never closed\n");
  EXPECT_EQ(of_module(".entry k() {\n ret; ) }"),
            "test.ptx:5:7: error: ')' does not close the '{' of line 4\n");
  EXPECT_EQ(of_module(".entry k() { ret; }\n}"),
            "test.ptx:5:1: error: expected a directive instead of '}'\n");
  EXPECT_EQ(of_module("/* never"), "test.ptx:4:1: error: unterminated comment\n  hint: close it with '*/'\n");
  EXPECT_EQ(of_module(".pragma \"x\n;"),
            "test.ptx:4:9: error: unterminated string\n  hint: close it with '\"' on the same line\n");
}

// A marker has a name, as for ptxas; the reader and the grammar agree on that.
TEST(Malformed, LineMarkersWithoutAName) {
  EXPECT_EQ(of_body(" st.global.u32 [%rd1#4], %r1; ret;"),
            "test.ptx:5:21: error: unexpected '#'\n  hint: expected ']'\n");
  EXPECT_EQ(of_body(" ret; # 4"), "test.ptx:5:7: error: unexpected '#'\n");
  EXPECT_EQ(of_body(" ret; # 4\"a.cu\""), "test.ptx:5:7: error: unexpected '#'\n");
  EXPECT_EQ(of_body(" ret; # 4 a.cu"), "test.ptx:5:7: error: unexpected '#'\n");
  EXPECT_EQ(of_body(" bogus..;\n  # 4 \"a.cu\"\n ret;"), "test.ptx:5:7: error: unexpected '.'\n");
}

TEST(Malformed, FunctionHeaders) {
  EXPECT_EQ(of_module(".entry (.param .u64 a) { }"),
            "test.ptx:4:24: error: expected a function name instead of '{'\n");
  EXPECT_EQ(of_module(".entry k( .param .u64 ) { }"),
            "test.ptx:4:23: error: expected a name instead of ')'\n");
  EXPECT_EQ(of_module(".entry k( .u64 a ) { }"),
            "test.ptx:4:11: error: a parameter needs a state space and a type\n"
            "  hint: for example '.param .u64 name'\n");
  EXPECT_EQ(of_module(".entry k( .param .u64 a .param .u64 b) { }"),
            "test.ptx:4:25: error: expected ')' after parameters instead of '.param'\n");
  EXPECT_EQ(of_module(".entry k() = { }"), "test.ptx:4:12: error: unexpected '=' in the header of 'k'\n");
  EXPECT_EQ(of_module(".entry k()"),
            "test.ptx:4:11: error: the header of 'k' is followed by neither a body nor ';'\n");
  EXPECT_EQ(of_module(".visible .file 1 \"a\""),
            "test.ptx:4:10: error: expected .entry, .func or a state space after the linkage\n");
}

TEST(Malformed, Variables) {
  EXPECT_EQ(of_module(".global .u32 x\n"),
            "test.ptx:5:1: error: expected ';' after a declaration instead of the end of the text\n");
  EXPECT_EQ(of_module(".global x;"), "test.ptx:4:9: error: expected a type instead of 'x'\n");
  EXPECT_EQ(of_module(".global .align 3 .u32 x;"),
            "test.ptx:4:16: error: an alignment must be a power of two\n");
  EXPECT_EQ(of_module(".global .u32 x[-1];"), "test.ptx:4:16: error: an array extent is negative\n");
  EXPECT_EQ(of_module(".global .u32 x[1/0];"),
            "test.ptx:4:17: error: division by zero in a constant expression\n");
  EXPECT_EQ(of_module(".global .u32 x[4294967296][4294967296];"),
            "test.ptx:4:15: error: the array 'x' is too large\n");
  EXPECT_EQ(of_module(".global .u32 x[99999999999999999999];"),
            "test.ptx:4:16: error: '99999999999999999999' is no 64-bit integer\n");
}

TEST(Malformed, StatementsAreReportedEachAtTheirPlace) {
  EXPECT_EQ(
      of_body(" add.s32 %r1, %r2\n mov.u32 %r1, 5;\n @p;\n ld.f32 [a;]\n ;\n bra L"),
      "test.ptx:6:2: error: unexpected 'mov.u32'\n  hint: is a ';' missing before it?\n"
      "test.ptx:7:4: error: unexpected ';'\n  hint: expected a name\n"
      "test.ptx:8:11: error: unexpected ';'\n  hint: expected ']'\n"
      "test.ptx:8:12: error: unexpected ']'\n"
      "test.ptx:11:1: error: unexpected end of the function body\n  hint: is a ';' missing before it?\n");
}

TEST(Malformed, LiteralsAndRegisters) {
  EXPECT_EQ(of_body("mov.u64 %rd1, 0x1FFFFFFFFFFFFFFFF;"),
            "test.ptx:5:15: error: '0x1FFFFFFFFFFFFFFFF' is no 64-bit integer\n");
  EXPECT_EQ(of_body("mov.f32 %f1, 0f12;"),
            "test.ptx:5:14: error: '0f12' is no floating-point literal\n"
            "  hint: 0f takes 8 hexadecimal digits, 0d takes 16\n");
  EXPECT_EQ(of_body(".reg .b32 %r<0>;"),
            "test.ptx:5:14: error: a register range needs a count between 1 and 4294967295\n");
  EXPECT_EQ(of_body("mov.u32 %r1, 1/0;"),
            "test.ptx:5:15: error: division by zero in a constant expression\n");
  EXPECT_EQ(of_body("mov.f32 %f1, 1.0+2;"),
            "test.ptx:5:17: error: '+' of an integer and a floating-point number\n");
  EXPECT_EQ(of_body("mov.f32 %f1, 1.0/0.0;"),
            "test.ptx:5:17: error: division by zero in a constant expression\n");
  EXPECT_EQ(of_body("mov.f32 %f1, 5.0<<2.0;"), "test.ptx:5:17: error: '<<' needs integers\n");
  EXPECT_EQ(of_body("mov.f32 %f1, 1?2.0:3.0;"), "test.ptx:5:14: error: '?' takes integers only\n");
  EXPECT_EQ(of_body("mov.u32 %r1, !1.5;"), "test.ptx:5:14: error: '!' needs an integer\n");
  EXPECT_EQ(of_body("mov.u32 %r1, (.s64)1.5;"), "test.ptx:5:15: error: a cast needs an integer\n");
  EXPECT_EQ(of_body("mov.f32 %f1, 0f3F800000+1.0;"),
            "test.ptx:5:24: error: a number written as 0f… cannot be part of an expression\n");
  EXPECT_EQ(of_body("ld.u32 %r1, [%rd1+4.0];"),
            "test.ptx:5:18: error: only an integer can be added to a name\n");
  EXPECT_EQ(of_body("mov.u32 %r1, %tid .x.y;"),
            "test.ptx:5:21: error: unexpected '.y'\n  hint: is a ';' missing before it?\n");
  EXPECT_EQ(of_body("mov.u32 %r1, %tid .u32;"),
            "test.ptx:5:19: error: unexpected '.u32'\n  hint: a component of a register stands right behind "
            "its name\n");
  EXPECT_EQ(of_body("mov.u64 %rd1, x*2;"), "test.ptx:5:16: error: only a constant can be added to a name\n");
  EXPECT_EQ(of_body("mov.u64 %rd1, x+y;"), "test.ptx:5:17: error: expected a constant instead of 'y'\n");
  for (const char* index : {"y", "-%r2", "%tid.x", "1.5", "%p1"}) {
    EXPECT_EQ(of_body(".shared .u32 x[4]; .reg .b32 %r<4>; .reg .pred %p<2>; ld.u32 %r1, x[" +
                      std::string(index) + "];"),
              "test.ptx:5:69: error: the index of an array is an integer constant or a register\n");
  }
  EXPECT_EQ(of_body("ld.u32 %r1, x[2];"),
            "test.ptx:5:13: error: 'x' is no array of known element size\n"
            "  hint: write the address as [name+bytes]\n");
  EXPECT_EQ(of_body("mov.u32 %r1, ~%r2;"), "test.ptx:5:14: error: '~' needs an integer\n");
  EXPECT_EQ(of_body(".shared .u32 x[1;"), "test.ptx:6:1: error: '}' does not close the '[' of line 5\n");
  EXPECT_EQ(of_body("#define X;"), "test.ptx:5:1: error: unexpected '#'\n");
}

TEST(Malformed, ColumnsOfABodyOnTheHeadersLine) {
  EXPECT_EQ(of_module(".entry k() { add ,; }"), "test.ptx:4:18: error: unexpected ','\n");
  EXPECT_EQ(of_module(".entry k() // {\n/*\n*/ { add ,; }"), "test.ptx:6:10: error: unexpected ','\n");
}

TEST(Malformed, ManyErrorsAreCutOff) {
  std::string body;
  for (int index = 0; index < 1000; ++index) body += "add ,;\n";
  const std::string text = of_body(body);
  EXPECT_EQ(std::ranges::count(text, '\n'), 20);
}

TEST(Malformed, NestingIsLimited) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '{') + std::string(depth, '}'); };
  EXPECT_EQ(of_body(nested(250)), "");
  EXPECT_THAT(of_body(nested(300)), testing::HasSubstr("brackets are nested more than 256 deep"));
  EXPECT_THAT(of_body(nested(1000000)), testing::HasSubstr("brackets are nested more than 256 deep"));
  EXPECT_THAT(of_module(".global .u32 x[" + std::string(100000, '(') + "1"),
              testing::HasSubstr("the expression is nested too deeply"));
  EXPECT_THAT(of_module(".global .u32 x[" + std::string(100000, '-') + "1]; "),
              testing::HasSubstr("the expression is nested too deeply"));
  EXPECT_THAT(of_body("mov.u32 %r1, " + std::string(100, '(') + std::string(100, ')') + ";"),
              testing::HasSubstr("unexpected ')'"));
}

/// A module with a bit of everything, for the tests that damage it.
const std::string sample =
    header +
    ".file 1 \"a.cu\"\n.global .align 8 .u64 t[2] = {generic(x)+4, 0xff00(x)};\n.global .f32 x = 1.5;\n"
    ".func (.param .b32 r) f (.param .b64 a) .noreturn { ret; }\n"
    ".visible .entry k(.param .u64 p, .param .align 8 .b8 q[24])\n.maxntid 256, 1, 1\n{\n"
    ".reg .pred %p<3>;\n.reg .b32 %r<9>;\n.shared .align 4 .b8 s[64];\n.loc 1 2 3, function_name $L, "
    "inlined_at 1 2 3\n"
    "@!%p1 bra $L1;\n{ .param .b64 param0; st.param.b64 [param0+0], %rd1; call.uni (r), f, (param0); }\n"
    "ts: .branchtargets $L1, $L2;\nbrx.idx %r1, ts;\n$L1: setp.lt.s32 %p1|%p2, %r1, -0x5;\n"
    "tex.2d.v4.f32.s32 {%f1,%f2,_,%f4}, [t, {%r1, %r2}];\n$L2: mov.f32 %f1, 0f3F800000; ret; /* c */ }\n"
    ".section .debug { .b8 1 }\n";

/// Everything a caller may do with foreign text.
void use(std::string text) {
  auto module = parse_module(std::move(text));
  if (!module) {
    EXPECT_FALSE(module.error().diagnostics.empty());
    return;
  }
  expect_both_ways_agree(*module);
  for (const Variable& variable : module->variables) {
    if (variable.size_bytes() < 100000) static_cast<void>(parse_initial_value(*module, variable));
  }
  for (Function& function : module->functions) {
    if (function.is_declaration() || !parse_body(*module, function)) continue;
    const ControlFlowGraph graph = build_control_flow_graph(function);
    EXPECT_EQ(graph.block_of.size(), function.body->instructions.size());
    EXPECT_EQ(immediate_post_dominators(graph).size(), graph.blocks.size());
    static_cast<void>(find_calls(*module, function));
  }
}

TEST(Malformed, TheSampleIsWellFormed) { EXPECT_EQ(diagnostics_of(sample), ""); }

TEST(Malformed, EveryPrefixIsSurvived) {
  for (std::size_t size = 0; size <= sample.size(); ++size) use(sample.substr(0, size));
}

TEST(Malformed, EveryLostByteIsSurvived) {
  for (std::size_t at = 0; at < sample.size(); ++at) use(sample.substr(0, at) + sample.substr(at + 1));
}

TEST(Malformed, RandomDamageIsSurvived) {
  std::mt19937 random(4711);  // the same damage in every run
  static constexpr char characters[] = "\0\"/*{}()[];:,.|@!%$_<>=+-~0123456789abcxyz\n \xff";
  static constexpr std::string_view bytes(characters, sizeof characters - 1);
  for (int round = 0; round < 3000; ++round) {
    std::string text = sample;
    for (int change = 0; change < 4; ++change) {
      const std::size_t at = random() % text.size();
      const std::size_t from = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = bytes[random() % bytes.size()]; break;
        case 1: text.insert(at, 1, bytes[random() % bytes.size()]); break;
        case 2: text.insert(at, sample.substr(from % sample.size(), random() % 40)); break;
        default: text.erase(at, random() % 20); break;
      }
    }
    use(std::move(text));
  }
}

}  // namespace
}  // namespace lynxpp::ptx
