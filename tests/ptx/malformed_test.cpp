// Invalid text: the exact messages, and that damaged text is accepted or rejected with a location.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "parse.h"
#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/emitter/emitter.h"

namespace lynxpp::ptx {
namespace {

std::string of_body(const std::string& body) {
  return diagnostics_of(header + ".entry k() {\n" + body + "\n}\n");
}
std::string of_module(const std::string& text) { return diagnostics_of(header + text); }

TEST(Malformed, TextIsNotPtx) {
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

TEST(Malformed, HeaderDirectivesAreChecked) {
  EXPECT_EQ(diagnostics_of(".version 8\n"), "test.ptx:1:10: error: expected a version such as 8.0\n");
  EXPECT_EQ(diagnostics_of(".version 8.0\n.target fermi\n"),
            "test.ptx:2:9: error: expected a target such as sm_90 or sm_90a\n");
  EXPECT_EQ(of_module(".address_size 16"), "test.ptx:4:15: error: the address size must be 32 or 64\n");
  EXPECT_EQ(of_module(".version 7.0"),
            "test.ptx:4:10: error: a second .version directive\n"
            "  hint: the text holds several modules; pass them one by one\n");
  EXPECT_EQ(of_module(".file \"a\" 1"),
            "test.ptx:4:11: error: expected a declaration such as .file 1 \"kernel.cu\"\n");
}

TEST(Malformed, BracketsCommentsAndStringsAreChecked) {
  EXPECT_EQ(of_module(".entry k() { ret;"), "test.ptx:4:12: error: '{' is never closed\n");
  EXPECT_EQ(of_module(".entry k() {\n ret; ) }"),
            "test.ptx:5:7: error: ')' does not close the '{' of line 4\n");
  EXPECT_EQ(of_module(".entry k() { ret; }\n}"),
            "test.ptx:5:1: error: expected a directive instead of '}'\n");
  EXPECT_EQ(of_module("/* never"), "test.ptx:4:1: error: unterminated comment\n  hint: close it with '*/'\n");
  EXPECT_EQ(of_module(".pragma \"x\n;"),
            "test.ptx:4:9: error: unterminated string\n  hint: close it with '\"' on the same line\n");
}

// A marker needs a file name, as for ptxas; the hand-written reader and the grammar agree on that.
TEST(Malformed, LineMarkersRequireAName) {
  EXPECT_EQ(of_body(" st.global.u32 [%rd1#4], %r1; ret;"),
            "test.ptx:5:21: error: unexpected '#'\n  hint: expected ']'\n");
  EXPECT_EQ(of_body(" ret; # 4"), "test.ptx:5:7: error: unexpected '#'\n");
  EXPECT_EQ(of_body(" ret; # 4\"a.cu\""), "test.ptx:5:7: error: unexpected '#'\n");
  EXPECT_EQ(of_body(" ret; # 4 a.cu"), "test.ptx:5:7: error: unexpected '#'\n");
  EXPECT_EQ(of_body(" bogus..;\n  # 4 \"a.cu\"\n ret;"), "test.ptx:5:7: error: unexpected '.'\n");
}

TEST(Malformed, FunctionHeadersAreChecked) {
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

TEST(Malformed, VariablesAreChecked) {
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
  EXPECT_EQ(of_module(".global .u64 x[][72057594037927935][3] = {{{1}, {2}}};"),
            "test.ptx:4:42: error: the array 'x' is too large\n");
  EXPECT_EQ(of_module(".global .u32 x[99999999999999999999];"),
            "test.ptx:4:16: error: '99999999999999999999' is not a 64-bit integer\n");
}

/// A quadratic search through a term's signs would take a minute for 100,000 signs.
TEST(Malformed, VeryManySignsAreRejectedAtTheirLocation) {
  EXPECT_EQ(of_body("mov.u32 %r1, " + std::string(100000, '-') + "1;"),
            "test.ptx:5:269: error: the expression is nested too deeply\n");
  EXPECT_EQ(of_body("mov.u32 %r1, --1; mov.u32 %r2, -(.s64)-1; ret;"), "");
}

/// The number of edges of indexed branches is the total number of their targets.
TEST(Malformed, VeryManyTargetsAreRejectedAtTheBranch) {
  const auto branches = [](int targets, int count) {
    std::string body = "ts: .branchtargets L0";
    for (int i = 1; i < targets; ++i) body += ", L" + std::to_string(i);
    body += ";\n";
    for (int i = 0; i < count; ++i) body += "brx.idx %r1, ts;\n";
    for (int i = 0; i < targets; ++i) body += "L" + std::to_string(i) + ":\n";
    return of_body(body + "ret;");
  };
  EXPECT_EQ(branches(500, 500), "");
  EXPECT_EQ(
      branches(500, 501),
      "test.ptx:506:1: error: the function's indexed branches have more than 250000 targets together\n");
}

TEST(Malformed, EachStatementIsReportedAtItsLocation) {
  EXPECT_EQ(
      of_body(" add.s32 %r1, %r2\n mov.u32 %r1, 5;\n @p;\n ld.f32 [a;]\n ;\n bra L"),
      "test.ptx:6:2: error: unexpected 'mov.u32'\n  hint: is a ';' missing before it?\n"
      "test.ptx:7:4: error: unexpected ';'\n  hint: expected a name\n"
      "test.ptx:8:11: error: unexpected ';'\n  hint: expected ']'\n"
      "test.ptx:8:12: error: unexpected ']'\n"
      "test.ptx:11:1: error: unexpected end of the function body\n  hint: is a ';' missing before it?\n");
}

TEST(Malformed, LiteralsAndRegistersAreChecked) {
  EXPECT_EQ(of_body("mov.u64 %rd1, 0x1FFFFFFFFFFFFFFFF;"),
            "test.ptx:5:15: error: '0x1FFFFFFFFFFFFFFFF' is not a 64-bit integer\n");
  EXPECT_EQ(of_body("mov.f32 %f1, 0f12;"),
            "test.ptx:5:14: error: '0f12' is not a floating-point literal\n"
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
  EXPECT_EQ(of_body("mov.f32 %f1, 1?2.0:3.0;"), "test.ptx:5:14: error: operands of '?' must be integers\n");
  EXPECT_EQ(of_body("mov.u32 %r1, !1.5;"), "test.ptx:5:14: error: '!' needs an integer\n");
  EXPECT_EQ(of_body("mov.u32 %r1, (.s64)1.5;"), "test.ptx:5:15: error: a cast needs an integer\n");
  EXPECT_EQ(of_body("mov.f32 %f1, 0f3F800000+1.0;"),
            "test.ptx:5:24: error: a number written as 0f… cannot be part of an expression\n");
  EXPECT_EQ(of_body("ld.u32 %r1, [%rd1+4.0];"),
            "test.ptx:5:18: error: only an integer can be added to a name\n");
  EXPECT_EQ(of_body("mov.u32 %r1, %tid .x.y;"),
            "test.ptx:5:21: error: unexpected '.y'\n  hint: is a ';' missing before it?\n");
  EXPECT_EQ(of_body("mov.u32 %r1, %tid .u32;"),
            "test.ptx:5:19: error: unexpected '.u32'\n  hint: a register's component must directly "
            "follow its name\n");
  EXPECT_EQ(of_body("mov.u64 %rd1, x*2;"), "test.ptx:5:16: error: only a constant can be added to a name\n");
  EXPECT_EQ(of_body("mov.u64 %rd1, x+y;"), "test.ptx:5:17: error: expected a constant instead of 'y'\n");
  for (const char* index : {"y", "-%r2", "%tid.x", "1.5", "%p1"}) {
    EXPECT_EQ(of_body(".shared .u32 x[4]; .reg .b32 %r<4>; .reg .pred %p<2>; ld.u32 %r1, x[" +
                      std::string(index) + "];"),
              "test.ptx:5:69: error: an array index must be an integer constant or a register\n");
  }
  EXPECT_EQ(of_body("ld.u32 %r1, x[2];"),
            "test.ptx:5:13: error: 'x' is not an array with a known element size\n"
            "  hint: write the address as [name+bytes]\n");
  EXPECT_EQ(of_body("mov.u32 %r1, ~%r2;"), "test.ptx:5:14: error: '~' needs an integer\n");
  EXPECT_EQ(of_body(".shared .u32 x[1;"), "test.ptx:6:1: error: '}' does not close the '[' of line 5\n");
  EXPECT_EQ(of_body("#define X;"), "test.ptx:5:1: error: unexpected '#'\n");
}

TEST(Malformed, ColumnsCountFromTheHeadersLine) {
  EXPECT_EQ(of_module(".entry k() { add ,; }"), "test.ptx:4:18: error: unexpected ','\n");
  EXPECT_EQ(of_module(".entry k() // {\n/*\n*/ { add ,; }"), "test.ptx:6:10: error: unexpected ','\n");
}

TEST(Malformed, ManyErrorsAreTruncated) {
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

/// A module with many features, damaged by the following tests.
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

/// Checks that every diagnostic has a message and a location in the text.
void expect_places_in(const std::string& text, const Diagnostics& diagnostics) {
  EXPECT_FALSE(diagnostics.empty());
  std::vector<std::size_t> line_lengths = {0};
  for (const char c : text) c == '\n' ? line_lengths.push_back(0) : void(++line_lengths.back());
  for (const Diagnostic& diagnostic : diagnostics) {
    EXPECT_NE(diagnostic.message, "");
    const SourceLocation& place = diagnostic.location;
    ASSERT_GE(place.line, 1U) << diagnostic.message;
    ASSERT_LE(place.line, line_lengths.size()) << diagnostic.message;
    EXPECT_GE(place.column, 1U) << diagnostic.message;
    // The end of a line is a valid location, too.
    EXPECT_LE(place.column, line_lengths[place.line - 1] + 1) << diagnostic.message;
  }
}

/// Checks that inserting code before each instruction yields text that parses again, with the same
/// instructions.
void expect_instrumentable(const Module& module, const Function& function) {
  EditList edits;
  for (const Instruction& instruction : function.body->instructions)
    edits.insert_before(instruction.text.begin, "/* here */ ");
  Result<Module> again = parse_module(emit(module, edits), "edited.ptx");
  ASSERT_TRUE(again) << render(again.error().diagnostics);
  ASSERT_EQ(again->functions.size(), module.functions.size());
  Function& edited = again->functions[static_cast<std::size_t>(&function - module.functions.data())];
  const Status status = parse_body(*again, edited, "edited.ptx");
  ASSERT_TRUE(status) << render(status.error().diagnostics);
  ASSERT_EQ(edited.body->instructions.size(), function.body->instructions.size());
  for (std::size_t at = 0; at < edited.body->instructions.size(); ++at)
    EXPECT_EQ(edited.body->instructions[at].opcode, function.body->instructions[at].opcode);
}

/// Checks foreign text: it is rejected with a location, or it is emitted unchanged and can be instrumented.
/// Returns true if nothing was rejected.
bool is_accepted(const std::string& text) {
  auto module = parse_module(text, "test.ptx");
  if (!module) {
    expect_places_in(text, module.error().diagnostics);
    return false;
  }
  EXPECT_EQ(emit(*module, {}), module->source());
  expect_both_ways_agree(*module);
  bool accepted = true;
  for (const Variable& variable : module->variables) {
    if (variable.size_bytes() >= 100000) continue;
    const auto value = parse_initial_value(*module, variable);
    accepted &= value.ok();
    if (value) {
      EXPECT_EQ(value->bytes.size(), variable.size_bytes());
    } else {
      expect_places_in(text, value.error().diagnostics);
    }
  }
  for (Function& function : module->functions) {
    if (function.is_declaration()) continue;
    const Status status = parse_body(*module, function, "test.ptx");
    accepted &= status.ok();
    if (!status) {
      expect_places_in(text, status.error().diagnostics);
      continue;
    }
    expect_instrumentable(*module, function);
    const ControlFlowGraph graph = build_control_flow_graph(function);
    EXPECT_EQ(graph.block_of.size(), function.body->instructions.size());
    EXPECT_EQ(immediate_post_dominators(graph).size(), graph.blocks.size());
    static_cast<void>(find_calls(*module, function));
  }
  return accepted;
}

TEST(Malformed, SampleIsWellFormed) { EXPECT_EQ(diagnostics_of(sample), ""); }

/// Functions and variables in textual order.
std::vector<std::pair<std::string, std::uint32_t>> items_of(const Module& module) {
  std::vector<std::pair<std::string, std::uint32_t>> items;  // name, end position
  for (const Variable& variable : module.variables) items.emplace_back(variable.name, variable.text.end);
  for (const Function& function : module.functions) items.emplace_back(function.name, function.text.end);
  std::ranges::sort(items, {}, &std::pair<std::string, std::uint32_t>::second);
  return items;
}

TEST(Malformed, PrefixHasItsCompleteItems) {
  const auto items = items_of(*parse_module(sample));
  ASSERT_EQ(items.size(), 4U);
  for (std::size_t size = 0; size <= sample.size(); ++size) {
    SCOPED_TRACE("the first " + std::to_string(size) + " bytes");
    const std::string prefix = sample.substr(0, size);
    const bool ends_an_item =
        std::ranges::any_of(items, [&](const auto& item) { return item.second == size; });
    const bool accepted = is_accepted(prefix);
    EXPECT_TRUE(accepted || !ends_an_item);
    if (!accepted) continue;
    const auto end = std::ranges::find_if(items, [&](const auto& item) { return item.second > size; });
    EXPECT_EQ(items_of(*parse_module(prefix)), std::vector(items.begin(), end));
  }
}

TEST(Malformed, MissingByteIsAcceptedOrRejectedWithALocation) {
  std::size_t accepted = 0;
  for (std::size_t at = 0; at < sample.size(); ++at) {
    SCOPED_TRACE("without byte " + std::to_string(at));
    accepted += is_accepted(sample.substr(0, at) + sample.substr(at + 1)) ? 1 : 0;
  }
  // A shorter name or number is valid; a missing bracket is not.
  EXPECT_GT(accepted, 0U);
  EXPECT_LT(accepted, sample.size());
}

TEST(Malformed, RandomDamageIsAcceptedOrRejectedWithALocation) {
  std::mt19937 random(4711);  // the same damage in every run
  static constexpr char characters[] = "\0\"/*{}()[];:,.|@!%$_<>=+-~0123456789abcxyz\n \xff";
  static constexpr std::string_view bytes(characters, sizeof characters - 1);
  constexpr std::size_t rounds = 3000;
  std::size_t accepted = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
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
    accepted += is_accepted(text) ? 1 : 0;
  }
  EXPECT_GT(accepted, 0U);
  EXPECT_LT(accepted, rounds);
}

}  // namespace
}  // namespace lynxpp::ptx
