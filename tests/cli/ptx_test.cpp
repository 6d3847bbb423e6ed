// `lynxpp ptx` on a small module; compares the whole output; and its errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/ptx/ptx_diff.h"
#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;

constexpr const char* module_text =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".func helper()\n{\n  ret;\n}\n"
    ".visible .entry _Z5firstPi(.param .u64 data)\n"
    "{\n"
    "  .reg .pred %p<3>;\n"
    "  .reg .b32 %r<9>;\n"
    "  .reg .b64 %rd<5>;\n"
    "  ld.param.u64 %rd1, [data];\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  mul.wide.u32 %rd2, %r1, 4;\n"
    "  add.s64 %rd3, %rd1, %rd2;\n"
    "  mov.u32 %r2, 0;\n"
    "$LOOP:\n"
    "  st.global.u32 [%rd3], %r2;\n"
    "  ld.global.u32 %r3, [%rd1];\n"
    "  add.s32 %r2, %r2, 1;\n"
    "  setp.lt.s32 %p1, %r2, 8;\n"
    "  @%p1 bra $LOOP;\n"
    "  setp.gt.u32 %p2, %r1, 63;\n"
    "  @%p2 bra $OUT;\n"
    "  call helper, ();\n"
    "$OUT:\n"
    "  ret;\n"
    "}\n"
    ".visible .entry second()\n{\n  ret;\n}\n";

class PtxCommand : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string file_ = folder_.write("module.ptx", module_text);
  std::string specification_ =
      folder_.write("count.cod",
                    "// Counts.\nglobal unsigned long counts[BASIC_BLOCKS];\nON_BASIC_BLOCK_ENTRY: {\n"
                    "  atomicMax(&counts[basicBlockId()], 1);\n}\n");
};

TEST_F(PtxCommand, ReportsAFullDisk) {
  const Outcome outcome =
      start({"/bin/sh", "-c", "exec \"$0\" ptx stat \"$1\" > /dev/full", LYNXPP_COMMAND, file_});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "lynxpp: error: cannot write to standard output: No space left on device\n");
}

TEST_F(PtxCommand, RunNeedsOneKernelAndAGrid) {
  const Outcome several = lynxpp({"ptx", "run", file_, "--grid", "1"});
  EXPECT_EQ(several.exit_code, 2);
  EXPECT_EQ(several.err, "lynxpp: error: " + file_ +
                             " has 2 kernels\n  hint: choose one with --kernel: first(int*), second\n");
  const Outcome without = lynxpp({"ptx", "run", file_});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_EQ(
      without.err,
      "lynxpp: error: --grid is required\n  hint: `lynxpp ptx run --help` lists commands and options\n");
}

TEST_F(PtxCommand, RunPassesArgumentsToTheKernel) {
  const Outcome run = lynxpp({"ptx", "run", file_, "-k", "second", "--grid", "1", "--block", "1"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Outcome missing = lynxpp({"ptx", "run", file_, "-k", "first", "--grid", "1", "--block", "32"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("has 1 parameter (.u64), but 0 arguments are given"));
  const Outcome printed = lynxpp({"ptx", "run", file_, "-k", "first", "--grid", "1", "--block", "32", "-a",
                                  "u32[32]=const:9", "--print", "1:2"});
  EXPECT_EQ(printed.out, "argument 1: 7 7 …\n") << printed.err;
}

TEST_F(PtxCommand, StatOfOneKernelAndItsCallees) {
  const Outcome outcome = lynxpp({"ptx", "stat", file_, "-k", "first"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            file_ +
                ": PTX 7.5 for sm_75, 2 kernels, 1 device function, 0 variables\n"
                "\n"
                "function helper (line 4)\n"
                "  blocks        1\n"
                "  instructions  1: 1 exit\n"
                "  registers     named 0 units of 32 bits and 0 predicates; live at once 0 and 0\n"
                "  branches      0 with a choice, 0 of them may diverge in a warp\n"
                "  loops         0\n"
                "  accesses      none\n"
                "\n"
                "kernel first(int*) (line 8)\n"
                "  blocks        5\n"
                "  instructions  14: 5 arithmetic, 2 data, 3 memory, 2 branch, 1 call, 1 exit; 2 guarded\n"
                "  registers     named 9 units of 32 bits and 2 predicates; live at once 7 (line 20) and 1\n"
                "  branches      2 with a choice, 1 of them may diverge in a warp\n"
                "  loops         1\n"
                "                line 19: depth 1, 1 block, trip count 8; %r2 = 0 step 1\n"
                "  accesses      global 2: 1 uniform, 1 affine, 0 irregular (100 % regular)\n"
                "  calls         helper\n");
}

TEST_F(PtxCommand, StatOfEverything) {
  const Outcome outcome = lynxpp({"ptx", "stat", file_});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("\nkernel second (line 30)\n  blocks        1\n"));
}

TEST_F(PtxCommand, ControlFlowAsText) {
  const Outcome outcome = lynxpp({"ptx", "cfg", file_, "-k", "first"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "first(int*)\n"
            "  block 0 (line 13, 5 instructions) -> 1; dominator -, post-dominator 1, loop depth 0\n"
            "  block 1 $LOOP (line 19, 5 instructions) -> 1, 2; dominator 0, post-dominator 2, loop depth 1\n"
            "  block 2 (line 24, 2 instructions) -> 4, 3; dominator 1, post-dominator 4, loop depth 0, may "
            "diverge\n"
            "  block 3 (line 26, 1 instruction) -> 4; dominator 2, post-dominator 4, loop depth 0\n"
            "  block 4 $OUT (line 28, 1 instruction) -> exit; dominator 2, post-dominator -, loop depth 0\n");
}

TEST_F(PtxCommand, ControlFlowOfADeviceFunction) {
  const Outcome outcome = lynxpp({"ptx", "cfg", file_, "-k", "helper"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::MatchesRegex("helper[^\n]*\n  block 0 [^\n]*-> exit;[^\n]*\n"));
  EXPECT_THAT(lynxpp({"ptx", "cfg", file_}).out, HasSubstr("\nfirst(int*)\n"));
}

TEST_F(PtxCommand, ModulesWithoutKernels) {
  const std::string library = folder_.write(
      "library.ptx", ".version 7.5\n.target sm_75\n.address_size 64\n.func f()\n{\n  ret;\n}\n");
  const Outcome outcome = lynxpp({"ptx", "stat", library});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("0 kernels, 1 device function, "));
  EXPECT_THAT(outcome.out, HasSubstr("\nfunction f (line 4)\n"));
  EXPECT_THAT(lynxpp({"ptx", "annotate", "-s", specification_, library}).err, HasSubstr("defines no kernel"));
}

TEST_F(PtxCommand, ControlFlowForGraphviz) {
  const Outcome outcome = lynxpp({"ptx", "cfg", "--dot", file_, "-k", "first"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("digraph \"_Z5firstPi\" {\n  label=\"first(int*)\";\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  b4 [label=\"block 4 $OUT\\lret;\\l\"];\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\\l@%p2 bra $OUT;\\l\", color=red];\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  b1 -> b1 [style=bold, constraint=false];\n  b1 -> b2;\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  b2 -> b4 [label=\"taken\"];\n"));
  EXPECT_THAT(outcome.out, testing::EndsWith("  b4 -> exit;\n  exit [shape=ellipse];\n}\n"));
}

TEST_F(PtxCommand, AnnotateShowsOriginalAndAddedLines) {
  const Outcome outcome = lynxpp({"ptx", "annotate", "-s", specification_, file_, "-k", "second"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::MatchesRegex("// second: [0-9]+ lines added, 1 removed\n(.|\n)*"));
  EXPECT_THAT(outcome.out, HasSubstr("\n- .visible .entry second()\n")) << "it gets a parameter";
  EXPECT_THAT(outcome.out, HasSubstr("\n    ret;\n"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\n\\+ .*red\\.global\\.max\\.u64"));
}

TEST_F(PtxCommand, AnnotateSideBySide) {
  const Outcome outcome = lynxpp({"ptx", "annotate", "-y", "-s", specification_, file_, "-k", "second"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\n  ret; +  ret;\n"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\n +> .*red\\.global\\.max\\.u64"));
}

TEST_F(PtxCommand, ReportsErrors) {
  EXPECT_EQ(lynxpp({"ptx", "stat", "/usr"}).err, "lynxpp: error: cannot read /usr: Is a directory\n");
  EXPECT_EQ(lynxpp({"ptx", "stat", "/no/such.ptx"}).err,
            "lynxpp: error: cannot read /no/such.ptx: No such file or directory\n");
  const Outcome misspelt = lynxpp({"ptx", "cfg", file_, "-k", "secnd"});
  EXPECT_EQ(misspelt.exit_code, 1);
  EXPECT_EQ(misspelt.err,
            "lynxpp: error: " + file_ + " defines no function 'secnd'\n  hint: did you mean 'second'?\n");
  const std::string bad = folder_.write(
      "bad.ptx", ".version 7.5\n.target sm_75\n.address_size 64\n.entry k()\n{\n  mov.u32 %r1, ;\n}\n");
  const Outcome damaged = lynxpp({"ptx", "stat", bad});
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.err, HasSubstr(bad + ":6:"));
  EXPECT_EQ(lynxpp({"ptx", "annotate", "-s", "no_such_spec", file_}).exit_code, 2);
  EXPECT_EQ(lynxpp({"ptx", "sat", file_}).err,
            "lynxpp: error: no command 'ptx sat'; did you mean 'stat'?\n  hint: `lynxpp ptx --help` lists "
            "commands and options\n");
  EXPECT_EQ(lynxpp({"ptx"}).exit_code, 2);
  EXPECT_EQ(lynxpp({"ptx", "stat"}).exit_code, 2);
}

TEST(DiffLines, MatchesUniqueLinesFirst) {
  const auto rows = diff_lines("a\nx\nb\n", "x\na\nx\ny\n  b\nx\n");
  std::string text;
  for (const DiffRow& row : rows)
    text += std::string(row.in_first ? row.in_second ? "=" : "-" : "+") + std::string(row.text) + " ";
  EXPECT_EQ(text, "+x =a =x +y =b +x ");
}

TEST(DiffLines, IsEmptyForEmptyTexts) {
  EXPECT_THAT(diff_lines("", ""), testing::IsEmpty());
  EXPECT_EQ(diff_lines("a\n", "").size(), 1U);
  EXPECT_TRUE(diff_lines("", "a\nb").back().in_second);
}

}  // namespace
}  // namespace lynxpp::cli
