#include "ptx/analysis/values/affine.h"

#include <cstdlib>

#include "support/text.h"
#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

/// The form of the value that the last instruction of `body` defines.
std::string form(const std::string& body) {
  Analysed analysed(body);
  const auto last = static_cast<std::uint32_t>(analysed.body().instructions.size() - 1);
  const auto found = analysed->affine().of_value(analysed->ssa().writes(last)[0]);
  return found ? analysed->affine().text(*found) : "none";
}
std::string address(const std::string& body, const std::string& text) {
  Analysed analysed(body);
  const auto found = analysed->affine().of_address(analysed.at(text));
  return found ? analysed->affine().text(*found) : "none";
}

const std::string global_index =
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r1, %r2, %r3;\n";

TEST(Affine, FollowsInstructionSequencesOfNvcc) {
  EXPECT_EQ(form(global_index), "ctaid.x*ntid.x + tid.x");
  EXPECT_EQ(
      address(global_index +
                  "ld.param.u64 %rd1, [A];\ncvta.to.global.u64 %rd2, %rd1;\n"
                  "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd2, %rd3;\nld.global.f32 %f1, [%rd4+16];",
              "ld.global"),
      "4*ctaid.x*ntid.x + 4*tid.x + [A] + 16")
      << "provably fits: exact";
  EXPECT_EQ(form("mov.u32 %r1, %tid.y;\nshl.b32 %r2, %r1, 5;\nmov.u32 %r3, %tid.x;\nor.b32 %r4, %r3, 32;"),
            "value(3)")
      << "bits may overlap";
  EXPECT_EQ(form("mov.u32 %r1, %tid.y;\nshl.b32 %r2, %r1, 10;\nmov.u32 %r3, %tid.x;\nor.b32 %r4, %r2, %r3;"),
            "1024*tid.y + tid.x");
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\nnot.b32 %r2, %r1;\nadd.s32 %r3, %r2, 8;"), "-tid.x + 7");
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\nneg.s32 %r2, %r1;\nsub.s32 %r3, %r2, 8;"), "-tid.x - 8");
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\nsub.s32 %r2, %r1, %r1;"), "0");
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\ncvt.u64.u32 %rd1, %r1;\nshl.b64 %rd2, %rd1, 3;"), "8*tid.x");
  EXPECT_EQ(
      address(".shared .b8 tile[256];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, tile;\nmad.lo.s32 %r3, %r1, 4, "
              "%r2;\nst.shared.u32 [%r3+4], %r1;",
              "st.shared"),
      "4*tid.x + tile + 4");
}

TEST(Affine, WideningIsExactOnlyIfTheValueFits) {
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, -1;\nmul.wide.s32 %rd1, %r2, 4;"), "4*tid.x - 4");
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, -1;\nmul.wide.u32 %rd1, %r2, 4;"), "4*tid.x - 4 ?")
      << "thread 0 has 2^32 - 1";
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 28;\ncvt.u64.u32 %rd1, %r2;"), "268435456*tid.x ?");
  EXPECT_EQ(form("ld.param.u32 %r1, [n];\nmul.wide.s32 %rd1, %r1, 4;"), "4*[n] ?");
  EXPECT_EQ(form("ld.param.u32 %r1, [n];\nadd.s32 %r2, %r1, 4;"), "[n] + 4") << "no widening, no doubt";
  EXPECT_EQ(form("mov.u64 %rd1, -1;\ncvt.u32.u64 %r1, %rd1;"), "-1");
  EXPECT_EQ(form("mov.u32 %r1, -1;\ncvt.u64.u32 %rd1, %r1;"), "4294967295");
  EXPECT_EQ(form("mov.u32 %r1, -1;\ncvt.s64.s32 %rd1, %r1;"), "-1");
  EXPECT_EQ(form("mov.u32 %r1, 2147483647;\nadd.s32 %r2, %r1, 1;"), "-2147483648")
      << "wraps around like the machine";
  const auto blocks_times = [](const std::string& threads) {
    return form("mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, " + threads +
                ";\nmul.lo.s32 %r3, %r1, %r2;\nmul.wide.s32 %rd1, %r3, 4;");
  };
  EXPECT_EQ(blocks_times("%ntid.x"), "4*ctaid.x*ntid.x") << "the threads of a grid's first dimension";
  EXPECT_EQ(blocks_times("%ntid.y"), "4*ctaid.x*ntid.y ?") << "blocks of one dimension, threads of another";
  EXPECT_EQ(blocks_times("%nctaid.x"), "4*ctaid.x*nctaid.x ?");
}

TEST(Affine, UnknownValuesBecomeSymbols) {
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;"), "value(1)");
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nmad.lo.s32 %r3, %r2, 128, %r1;"),
            "tid.x + 128*value(1)");
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\nadd.sat.s32 %r2, %r1, 5;"), "value(1)");
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\n@%p1 mov.u32 %r1, 5;"), "value(2)") << "one of two";
  EXPECT_EQ(form("mov.f32 %f1, 0f3f800000;"), "none");
  EXPECT_EQ(form("mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 31;\nmul.wide.u32 %rd1, %r2, 4;"), "4*value(1)")
      << "bounded, so the widening is exact";
  EXPECT_EQ(form("ld.global.u16 %r1, [%rd9];\nmul.wide.u32 %rd1, %r1, 4;"), "4*value(1)");
  EXPECT_EQ(form("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r9];\nmul.wide.u32 %rd1, %r1, 4;"),
            "value(2)")
      << "two halves of 16 bits";
}

TEST(Affine, LongProductsBecomeSymbols) {
  EXPECT_EQ(form(global_index + "mul.lo.s32 %r5, %r4, %r4;\nmul.lo.s32 %r6, %r5, %r4;"), "value(5)");
}

const std::string summing =
    global_index +
    "ld.param.u64 %rd1, [A];\nmov.u32 %r5, 0;\nL: mad.lo.s32 %r6, %r5, 32, %r4;\nmul.wide.s32 %rd2, %r6, 4;\n"
    "add.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r7, [%rd3];\nadd.s64 %rd1, %rd1, 8;\nadd.s32 %r5, %r5, 1;\n";

TEST(Affine, LoopVariablesDependOnIterations) {
  EXPECT_EQ(address(summing + "setp.lt.s32 %p1, %r5, 16;\n@%p1 bra L;\nret;", "ld.global"),
            "4*ctaid.x*ntid.x + 4*tid.x + [A] + 136*iteration(0) ?")
      << "the sum of a large grid's index and the loop's could overflow";
  const std::string rows =
      "mov.u32 %r4, %tid.x;\nmov.u32 %r5, 0;\nL: mad.lo.s32 %r6, %r5, 32, %r4;\nmul.wide.s32 %rd2, %r6, 4;\n"
      "ld.global.u32 %r7, [%rd2];\nadd.s32 %r5, %r5, 1;\n";
  EXPECT_EQ(address(rows + "setp.lt.s32 %p1, %r5, 16;\n@%p1 bra L;\nret;", "ld.global"),
            "4*tid.x + 128*iteration(0)")
      << "the trip count bounds it";
  EXPECT_EQ(address(rows + "setp.lt.s32 %p1, %r5, %r9;\n@%p1 bra L;\nret;", "ld.global"),
            "4*tid.x + 128*iteration(0) ?");
}

TEST(Affine, FindsGridStrides) {
  EXPECT_EQ(address(global_index +
                        "mov.u32 %r8, %nctaid.x;\nmul.lo.s32 %r9, %r8, %r2;\nL: mul.wide.s32 %rd2, %r4, 4;\n"
                        "st.global.u32 [%rd2], %r1;\nadd.s32 %r4, %r4, %r9;\nsetp.lt.s32 %p1, %r4, "
                        "%r20;\n@%p1 bra L;\nret;",
                    "st.global"),
            "4*ctaid.x*ntid.x + 4*ntid.x*nctaid.x*iteration(0) + 4*tid.x ?");
}

TEST(Affine, FollowsNestedLoops) {
  const std::string body =
      "mov.u32 %r1, 0;\nO: mov.u32 %r2, %r1;\nI: mul.wide.u32 %rd1, %r2, 4;\nst.global.u32 [%rd1], "
      "%r1;\nadd.u32 %r2, "
      "%r2, 2;\nsetp.lt.u32 %p1, %r2, %r9;\n@%p1 bra I;\nadd.u32 %r1, %r1, 100;\nsetp.lt.u32 %p2, %r1, "
      "1000;\n@%p2 bra "
      "O;\nret;";
  EXPECT_EQ(address(body, "st.global"), "400*iteration(0) + 8*iteration(1) ?");
}

/// The forms of every global and shared access of a module from nvcc, one per line.
std::string forms_of_module(const std::string& name) {
  std::string text;
  EXPECT_TRUE(read_file(std::string(LYNXPP_SOURCE_DIR) + "/tests/analysis/data/" + name + ".ptx", text))
      << name;
  Result<Module> module = parse_module(text, name);
  if (!module || !parse_all_bodies(*module)) return "cannot parse " + name;
  std::string result;
  for (const Function& function : module->functions) {
    if (function.is_declaration()) continue;
    FunctionAnalyses analyses(function);
    result += demangle(function.name) + "\n";
    for (std::uint32_t loop = 0; loop < analyses.loops().loops().size(); ++loop) {
      const auto trips = analyses.affine().trip_count(loop);
      result += "  loop " + std::to_string(loop) + " of depth " +
                std::to_string(analyses.loops().loops()[loop].depth) + ", trips " +
                (trips ? std::to_string(*trips) : "unknown") + "\n";
    }
    for (std::uint32_t at = 0; at < function.body->instructions.size(); ++at) {
      const Instruction& instruction = function.body->instructions[at];
      if (instruction.traits.space != StateSpace::global && instruction.traits.space != StateSpace::shared)
        continue;
      const auto found = analyses.affine().of_address(at);
      result += "  " + std::to_string(instruction.line) + " " + std::string(instruction.opcode) + "  " +
                (found ? analyses.affine().text(*found) : "none") + "\n";
    }
  }
  return result;
}

TEST(Affine, MatchesGoldenFormsOfNvccKernels) {
  for (const char* name : {"vecadd", "matmul", "transpose", "histogram", "reduction"}) {
    const std::string path = std::string(LYNXPP_SOURCE_DIR) + "/tests/analysis/golden/" + name + ".txt";
    const std::string text = forms_of_module(name);
    if (std::getenv("LYNXPP_UPDATE_GOLDEN") != nullptr) {
      ASSERT_TRUE(write_file(path, text));
    }
    std::string expected;
    ASSERT_TRUE(read_file(path, expected)) << path;
    EXPECT_EQ(text, expected) << name;
  }
}

}  // namespace
}  // namespace lynxpp::ptx
