#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <set>

#include "ptx/parser/parser.h"
#include "support/text.h"
#include "tests/cli/process.h"
#include "tests/support/machine_code.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;

constexpr const char* header = ".version 7.5\n.target sm_75\n.address_size 64\n\n";

constexpr const char* first_kernel =
    ".visible .entry _Z5firstPi(.param .u64 _Z5firstPi_param_0)\n"
    "{\n"
    "  .reg .pred %p<2>;\n"
    "  .reg .b32 %r<4>;\n"
    "  .reg .b64 %rd<4>;\n"
    "  ld.param.u64 %rd1, [_Z5firstPi_param_0];\n"
    "  mov.u32 %r1, %tid.x;\n"
    "  setp.gt.u32 %p1, %r1, 63;\n"
    "  @%p1 bra $L__BB0_2;\n"
    "  mul.wide.u32 %rd2, %r1, 4;\n"
    "  add.s64 %rd3, %rd1, %rd2;\n"
    "  st.u32 [%rd3], %r1;\n"
    "$L__BB0_2:\n"
    "  ret;\n"
    "}\n";

constexpr const char* second_kernel = "\n.visible .entry second()\n{\n  ret;\n}\n";

constexpr const char* specification =
    "// Counts block executions.\n"
    "global unsigned long counts[BASIC_BLOCKS];\n"
    "ON_BASIC_BLOCK_ENTRY: {\n"
    "  atomicMax(&counts[basicBlockId()], 1);\n"
    "}\n";

class Instrument : public testing::Test {
 protected:
  std::string text_of(const std::string& name) const {
    std::string text;
    EXPECT_TRUE(read_file(folder_.path(name), text)) << name;
    return text;
  }

  TemporaryFolder folder_;
  std::string spec_ = folder_.write("count.cod", specification);
  std::string one_ = folder_.write("one.ptx", std::string(header) + first_kernel);
  std::string two_ = folder_.write("two.ptx", std::string(header) + first_kernel + second_kernel);
};

/// Returns the entries of an instrumented module; parses every body.
std::vector<std::string> entries_of(const std::string& ptx) {
  Result<ptx::Module> module = ptx::parse_module(ptx);
  EXPECT_TRUE(module) << render(module.error().diagnostics, ptx);
  if (!module) return {};
  const Status bodies = ptx::parse_all_bodies(*module);
  EXPECT_TRUE(bodies) << render(bodies.error().diagnostics, ptx);
  std::vector<std::string> names;
  for (const ptx::Function& function : module->functions) {
    if (function.is_entry) names.push_back(function.name);
  }
  return names;
}

TEST_F(Instrument, WritesOneKernelToStandardOutput) {
  const Outcome outcome = lynxpp({"ptx", "instrument", one_, "-s", spec_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(entries_of(outcome.out), testing::ElementsAre("_Z5firstPi"));
  EXPECT_THAT(outcome.out, HasSubstr("st.u32 [%rd3], %r1;"));
  EXPECT_THAT(outcome.err,
              testing::MatchesRegex(
                  "first\\(int\\*\\): 8 instructions, 3 basic blocks, 3 sites, live registers 5 to [0-9]+ "
                  "\\(estimate\\), [0-9.]+ ms\n"));
}

TEST_F(Instrument, PassesAreTimedAndPrinted) {
  const Outcome timed = lynxpp({"ptx", "instrument", one_, "-s", spec_, "--time-passes"});
  EXPECT_EQ(timed.exit_code, 0) << timed.err;
  EXPECT_THAT(timed.err, HasSubstr("passes of first(int*):\n"));
  EXPECT_THAT(timed.err, testing::ContainsRegex("\n  splice +[0-9.]+ ms +[0-9.]+ %  [0-9]+ edits\n"));

  const Outcome printed =
      lynxpp({"ptx", "instrument", one_, "-s", spec_, "--print-before", "splice", "--print-after", "splice"});
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  const std::size_t before = printed.err.find("// ---- before pass 'splice'\n");
  const std::size_t after = printed.err.find("// ---- after pass 'splice'\n");
  ASSERT_TRUE(before != std::string::npos && after != std::string::npos && before < after) << printed.err;
  EXPECT_EQ(printed.err.substr(before, after - before).find("%lynxpp_"), std::string::npos);
  EXPECT_THAT(printed.err.substr(after), HasSubstr("%lynxpp_"));
  EXPECT_THAT(entries_of(printed.out), testing::ElementsAre("_Z5firstPi")) << "the result stays apart";

  const Outcome all = lynxpp({"ptx", "instrument", one_, "-s", spec_, "--print-after", "all"});
  EXPECT_THAT(all.err, HasSubstr("// ---- after pass 'extract'\n"));
}

TEST_F(Instrument, UnknownPassesAreRefused) {
  const Outcome outcome = lynxpp({"ptx", "instrument", one_, "-s", spec_, "--print-after", "splcie"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("unknown pass 'splcie'; did you mean 'splice'?"));
  EXPECT_THAT(outcome.err, HasSubstr("hidden-parameter"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(Instrument, WritesAModulePerKernel) {
  const Outcome outcome = lynxpp({"ptx", "instrument", two_, "-s", spec_, "-o", folder_.path("out.ptx")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(entries_of(text_of("out-_Z5firstPi.ptx")), testing::ElementsAre("_Z5firstPi"));
  EXPECT_THAT(entries_of(text_of("out-second.ptx")), testing::ElementsAre("second"));
  EXPECT_FALSE(std::filesystem::exists(folder_.path("out.ptx")));
  EXPECT_THAT(outcome.err,
              HasSubstr(folder_.path("out-second.ptx") + ": second: 1 instruction, 1 basic block, 1 site, "));
}

TEST_F(Instrument, SeveralKernelsNeedFiles) {
  const Outcome outcome = lynxpp({"ptx", "instrument", two_, "-s", spec_});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(outcome.err, "lynxpp: error: " + two_ +
                             " defines 2 kernels, and each becomes a separate module\n  hint: choose one "
                             "with -k, or use -o out.ptx to write out-KERNEL.ptx for each\n");
}

TEST_F(Instrument, AcceptsEverySpellingOfAKernelName) {
  for (const char* name : {"_Z5firstPi", "first(int*)", "first"}) {
    const Outcome outcome =
        lynxpp({"ptx", "instrument", two_, "-s", spec_, "-k", name, "-o", folder_.path("out.ptx")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(entries_of(text_of("out.ptx")), testing::ElementsAre("_Z5firstPi"));
  }
  EXPECT_EQ(lynxpp({"ptx", "instrument", two_, "-s", spec_, "-k", "secnd"}).err,
            "lynxpp: error: " + two_ + " defines no kernel 'secnd'\n  hint: did you mean 'second'?\n");
  const Outcome outcome = lynxpp({"ptx", "instrument", two_, "-s", spec_, "-k", "banana"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err,
            "lynxpp: error: " + two_ + " defines no kernel 'banana'\n  hint: it defines first, second\n");
}

TEST_F(Instrument, ShortensLongFileNames) {
  const std::string name(5000, 'k');
  const std::string module = std::string(header) + ".visible .entry " + name +
                             "1() { ret; }\n.visible .entry " + name + "2() { ret; }\n";
  const Outcome outcome = lynxpp(
      {"ptx", "instrument", folder_.write("long.ptx", module), "-s", spec_, "-o", folder_.path("out.ptx")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    files += entry.path().filename().string().starts_with("out-kkkk") ? 1 : 0;
  }
  EXPECT_EQ(files, 2);
}

TEST_F(Instrument, TargetWithoutASiteIsAWarningAtTheTarget) {
  const std::string path = folder_.write(
      "atomics.cod", "// Never.\nlong seen;\nON_INSTRUCTION: ATOMIC: {\n  seen = seen + 1;\n}\n");
  const Outcome outcome = lynxpp({"ptx", "instrument", one_, "-s", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.err,
      HasSubstr(
          path +
          ":3:1: warning: nothing in first(int*) matches this target\n  ON_INSTRUCTION: ATOMIC: {\n  ^"));
  // With several kernels: one warning, and only if no kernel matches.
  const Outcome both = lynxpp({"ptx", "instrument", two_, "-s", path, "-o", folder_.path("out.ptx")});
  EXPECT_THAT(both.err, HasSubstr(":3:1: warning: nothing in the 2 kernels matches this target\n"));
  EXPECT_EQ(both.err.find("matches this target"), both.err.rfind("matches this target")) << both.err;
}

TEST_F(Instrument, ReadyMadeTargetsWithoutASiteGiveNoWarning) {
  const Outcome outcome =
      lynxpp({"ptx", "instrument", one_, "-s", "opcode_mix,quality,value_check,call_counts,loop_trips"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, testing::Not(HasSubstr("warning")));
}

TEST_F(Instrument, ErrorsHaveALocation) {
  const std::string bad =
      folder_.write("bad.ptx", std::string(header) + ".visible .entry k()\n{\n  mov.u32 %r1, ;\n}\n");
  const Outcome outcome = lynxpp({"ptx", "instrument", bad, "-s", spec_});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(bad + ":7:"));
  EXPECT_THAT(outcome.err, HasSubstr("\n    mov.u32 %r1, ;\n"));

  EXPECT_EQ(lynxpp({"ptx", "instrument", folder_.write("empty.ptx", header), "-s", spec_}).err,
            "lynxpp: error: " + folder_.path("empty.ptx") + " defines no kernel\n");
  EXPECT_EQ(lynxpp({"ptx", "instrument", "/no/such.ptx", "-s", spec_}).err,
            "lynxpp: error: cannot read /no/such.ptx: No such file or directory\n");
  EXPECT_THAT(lynxpp({"ptx", "instrument", "/bin/sh", "-s", spec_}).err,
              HasSubstr("lynxpp: error: /bin/sh holds no PTX\n"));
  EXPECT_EQ(lynxpp({"ptx", "instrument", one_, "-s", "banana"}).exit_code, 2);

  const Outcome wrong_spec = lynxpp(
      {"ptx", "instrument", one_, "-s", folder_.write("wrong.cod", "ON_KERNEL_ENTRY: { return 1 +; }\n")});
  EXPECT_EQ(wrong_spec.exit_code, 1);
  EXPECT_THAT(wrong_spec.err, testing::StartsWith(folder_.path("wrong.cod") + ":1:"));
}

TEST_F(Instrument, PtxasAcceptsTheResult) {
  if (start({"/bin/sh", "-c", "command -v ptxas || command -v /usr/local/cuda/bin/ptxas"}).exit_code != 0) {
    GTEST_SKIP() << "no ptxas here";
  }
  const std::string out = folder_.path("out.ptx");
  ASSERT_EQ(lynxpp({"ptx", "instrument", one_, "-s", spec_, "-o", out}).exit_code, 0);
  const Outcome assembled =
      start({"/bin/sh", "-c",
             "PATH=$PATH:/usr/local/cuda/bin ptxas -arch=sm_75 -o " + folder_.path("out.cubin") + " " + out});
  EXPECT_EQ(assembled.exit_code, 0) << assembled.out << assembled.err << text_of("out.ptx");
}

// After a YIELD a GPU does not wait at the end of a branch, and the warp's lanes stay diverged.
TEST_F(Instrument, MapsAndTracesHaveNoLaneYield) {
  if (start({"/bin/sh", "-c", "command -v ptxas || command -v /usr/local/cuda/bin/ptxas"}).exit_code != 0)
    GTEST_SKIP() << "no ptxas here";
  const auto yields_of = [&](const std::string& ptx) {
    const std::string cubin = folder_.path("out.cubin");
    EXPECT_EQ(
        start({"/bin/sh", "-c", "PATH=$PATH:/usr/local/cuda/bin ptxas -arch=sm_90 -o " + cubin + " " + ptx})
            .exit_code,
        0);
    return machine_instructions(text_of("out.cubin"), lane_yield);
  };
  const std::string spins = folder_.write(
      "spins.ptx", std::string(header) +
                       ".visible .entry spins(.param .u64 lock)\n{\n  .reg .pred %p<2>;\n  .reg .b32 %r<2>;\n"
                       "  .reg .b64 %rd<2>;\n  ld.param.u64 %rd1, [lock];\nagain:\n"
                       "  atom.cas.b32 %r1, [%rd1], 0, 1;\n  setp.ne.u32 %p1, %r1, 0;\n  @%p1 bra again;\n"
                       "  ret;\n}\n");
  EXPECT_EQ(yields_of(spins), 1u) << "the test must find a YIELD";
  const std::string map =
      folder_.write("map.cod",
                    "struct location { unsigned int instruction; unsigned long where; };\n"
                    "global map unsigned long visits[4096] by struct location;\n"
                    "ON_INSTRUCTION: MEM_WRITE: GENERIC: {\n"
                    "  struct location here = {instructionId(), memoryAddress() / 256};\n"
                    "  if (leastActiveThreadInWarp()) visits[here] += 1;\n"
                    "}\n");
  const std::string out = folder_.path("out.ptx");
  ASSERT_EQ(lynxpp({"ptx", "instrument", one_, "-s", map, "--sm", "90", "-o", out}).exit_code, 0);
  ASSERT_THAT(text_of("out.ptx"), HasSubstr("atom.global.cas.b64"));
  EXPECT_EQ(yields_of(out), 0u);
  const std::string loop = folder_.write(
      "loop.ptx", std::string(header) +
                      ".visible .entry loop(.param .u64 out)\n{\n  .reg .pred %p<2>;\n  .reg .b32 %r<4>;\n"
                      "  .reg .b64 %rd<3>;\n  ld.param.u64 %rd1, [out];\n  mov.u32 %r1, %tid.x;\n"
                      "  mul.wide.u32 %rd2, %r1, 4;\n  add.u64 %rd1, %rd1, %rd2;\n  mov.u32 %r2, 0;\nagain:\n"
                      "  ld.global.u32 %r3, [%rd1];\n  add.u32 %r2, %r2, 1;\n  setp.lt.u32 %p1, %r2, %r3;\n"
                      "  @%p1 bra again;\n  st.global.u32 [%rd1], %r2;\n  ret;\n}\n");
  ASSERT_EQ(lynxpp({"ptx", "instrument", loop, "-s", "memory_trace", "--sm", "90", "-o", out}).exit_code, 0);
  ASSERT_THAT(text_of("out.ptx"), HasSubstr("atom.global.add.u64"));
  EXPECT_EQ(yields_of(out), 0u);
}

// Lanes of two groups may join at a label. If the mask of one group were used for both, lanes that only the
// other mask names would wait forever.
TEST_F(Instrument, DoesNotKeepMasksAcrossALabel) {
  const std::string cod = folder_.write(
      "kept.cod",
      "global unsigned long leaders, odd;\n"
      "ON_INSTRUCTION: MEM_WRITE: GENERIC: {\n"
      "  if (leastActiveThreadInWarp()) { atomicAdd(&leaders, 1); atomicMax(&leaders, clockCounter()); }\n"
      "  unsigned int votes = ballot(memoryAddress() & 4);\n"
      "  if (leastActiveThreadInWarp()) atomicMax(&odd, votes + (unsigned int)clockCounter());\n"
      "}\n");
  const std::string out = folder_.path("out.ptx");
  const Outcome outcome = lynxpp({"ptx", "instrument", one_, "-s", cod, "--sm", "80", "-o", out});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::set<std::string> masks;  // computed since the last label
  std::size_t operations = 0;
  const std::string ptx = text_of("out.ptx");
  for (const auto& line : split(ptx, '\n')) {
    const std::string text(line.substr(std::min(line.find_first_not_of(" \t"), line.size())));
    const std::size_t last = text.find_last_of(' ');
    if (text.ends_with(":")) masks.clear();
    if (text.starts_with("activemask.")) masks.insert(text.substr(last + 1));
    for (const char* each : {"shfl.sync", "vote.sync", "match.any.sync"}) {
      if (!text.starts_with(each)) continue;
      ++operations;
      EXPECT_TRUE(masks.contains(text.substr(last + 1))) << text;
    }
  }
  EXPECT_GE(operations, 1u);
}

TEST_F(Instrument, ReportsAFullDisk) {
  const Outcome outcome = lynxpp({"ptx", "instrument", one_, "-s", spec_, "-o", "/no/such/folder/out.ptx"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "lynxpp: error: cannot write /no/such/folder/out.ptx\n");
}

}  // namespace
}  // namespace lynxpp::cli
