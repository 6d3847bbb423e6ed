// `lynxpp record` around programs that write records themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* launch =
    R"json({"record":"launch","kernel":"_Z1kPf","demangled":"k(float*)","launch":0,"device":"cpu",)json"
    R"json("grid":[2,1,1],"block":[48,1,1],"spec":"instruction_count","results":)json"
    R"json({"thread_instructions":2400,"warp_instructions":100}})json"
    "\n";

class Record : public testing::Test {
 protected:
  void SetUp() override {
    install_with(LYNXPP_TEST_PRELOAD, folder_);
    folder_.write("launch.jsonl", launch);
  }

  Outcome record(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {folder_.path("bin/lynxpp"), "record"});
    return start(arguments, {{"COLUMNS", "100"}}, folder_.path());
  }

  TemporaryFolder folder_;
};

TEST_F(Record, EndsWithASummaryAndFindings) {
  const Outcome outcome = record({"sh", "-c", "echo out; cat launch.jsonl >> $LYNXPP_OUTPUT; exit 7"});
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(outcome.out, "out\n");
  EXPECT_EQ(outcome.err, R"(== lynxpp: summary ==
1 kernel, 1 launch on cpu; 100 warp instructions.
kernel           share of  launches          warp   lanes
           estimated work            instructions  active
k(float*)           100 %         1           100    75 %

== lynxpp: findings ==
Ordered by the share of the run's estimated work that a repair may save.
1.  partial warps, may save about 25 % (estimated): k(float*)
    A block has 48 threads, which is not a multiple of 32: 25 % of the lanes of its warps have no
    thread.
    Why: a warp has 32 lanes, however many threads it has.
    Try: choose a block size that is a multiple of 32.

Trust: counted: instruction_count (exact for PTX); findings: estimated unless they say otherwise
(the gain was in the given range for 26 of 30 findings); see docs/trust.md
The records are in lynxpp-sh.jsonl; `lynxpp report lynxpp-sh.jsonl --format html -o report.html` shows all of them.
)");
}

TEST_F(Record, ReportRepeatsTheSummary) {
  const Outcome outcome = record({"-o", "mine.jsonl", "sh", "-c", "cat launch.jsonl >> $LYNXPP_OUTPUT"});
  const Outcome again = lynxpp({"report", folder_.path("mine.jsonl"), "--format", "summary"});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.out, HasSubstr("1.  partial warps"));
  EXPECT_THAT(outcome.err, StartsWith(again.out));
  EXPECT_THAT(lynxpp({"report", folder_.path("mine.jsonl")}).out, HasSubstr("== lynxpp: findings ==\n"));
}

TEST_F(Record, UsesTheDefaultSpecifications) {
  const std::string variables = record({"-d", "cpu", "-k", "mat.*", "env"}).out;
  EXPECT_THAT(variables,
              HasSubstr("LYNXPP_SPEC=instruction_count,memory_efficiency,branch_divergence,"
                        "basic_block_count,shared_bank_conflicts,atomic_contention,kernel_runtime\n"));
  EXPECT_THAT(variables, HasSubstr("LYNXPP_OUTPUT=" + folder_.path("lynxpp-env.jsonl") + "\n"));
  EXPECT_THAT(variables, HasSubstr("LYNXPP_KERNELS=mat.*\n"));
  for (const char* each : {"LYNXPP_TABLE=0\n", "LYNXPP_TIMING=1\n", "LYNXPP_TIMELINE=1\n"})
    EXPECT_THAT(variables, HasSubstr(each));
  EXPECT_THAT(variables, Not(HasSubstr("LYNXPP_COMPILE_BUDGET"))) << "all selected kernels are measured";
  EXPECT_THAT(record({"-s", "quality", "env"}).out,
              AllOf(HasSubstr("LYNXPP_SPEC=quality\n"), HasSubstr("LYNXPP_COMPILE_BUDGET=5\n")));
}

TEST_F(Record, IsSilentWithoutRecords) {
  const Outcome outcome = record({"true"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Record, ReportsTheErrorsOfRun) {
  EXPECT_EQ(record({"no-such-program"}).exit_code, 127);
  EXPECT_EQ(record({"-s", "no_such_spec", "true"}).exit_code, 2);
  EXPECT_THAT(record({}).err, HasSubstr("no program to run"));
  EXPECT_EQ(record({"sh", "-c", "kill -9 $$"}).exit_code, 137);
}

TEST_F(Record, ForwardsTerminationToTheProgram) {
  const Outcome outcome = record(
      {"sh", "-c", "trap 'echo terminated; exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.01; done"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "terminated\n");
}

}  // namespace
}  // namespace lynxpp::cli
