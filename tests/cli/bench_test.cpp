// `lynxpp bench` on programs that write the records themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;

class Bench : public testing::Test {
 protected:
  void SetUp() override { install_with(LYNXPP_TEST_PRELOAD, folder_); }
  /// Runs the shell's `script` under bench; $1 is a file that all runs share.
  Outcome bench(std::vector<std::string> options, const std::string& script) const {
    std::vector<std::string> words{folder_.path("bin/lynxpp"), "bench"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "/bin/sh", "-c", script, "sh", folder_.path("shared")});
    return start(words, {{"TMPDIR", folder_.path()}, {"LYNXPP_KERNELS", "of_the_caller"}}, folder_.path());
  }
  std::string shared() const {
    std::string text;
    read_file(folder_.path("shared"), text);
    return text;
  }

  TemporaryFolder folder_;
};

TEST_F(Bench, RunsNativeAndEverySettingInTurn) {
  const Outcome outcome =
      bench({"-r", "2", "-s", "instruction_count", "-s", "kernel_runtime,basic_block_count"},
            "echo $LYNXPP_TIMING $LYNXPP_SPEC ${LYNXPP_KERNELS-unset} >> $1");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  const std::string round =
      "original instruction_count unset\nvariant instruction_count unset\n"
      "variant kernel_runtime,basic_block_count unset\n";
  EXPECT_EQ(shared(), round + round);
  EXPECT_THAT(outcome.out, HasSubstr("no kernel launch was seen"));
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with("lynxpp-bench")) << entry;
}

TEST_F(Bench, ComparesTheTimesThatTheRunsWrote) {
  const std::string script =
      "case $LYNXPP_TIMING in original) t=2.0;; *) t=3.0;; esac; echo same; "
      R"(echo '{"record":"timing","kernel":"k","parse_ms":0.0,"instrument_ms":0.0,"emit_ms":0.0,"load_ms":0.0,)"
      R"("execute_ms":'$t',"launches":2,"device":"cpu"}' >> $LYNXPP_OUTPUT)";
  const Outcome outcome =
      bench({"-r", "3", "-s", "instruction_count", "-k", "k", "-o", folder_.path("bench.json")}, script);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("== instruction_count on cpu, 3 rounds =="));
  EXPECT_THAT(outcome.out, HasSubstr("k              2   1.000         1.500  1.500  1.500 to 1.500"));
  EXPECT_THAT(outcome.out, HasSubstr("the program's output is the same in every run"));
  std::string json;
  ASSERT_TRUE(read_file(folder_.path("bench.json"), json));
  EXPECT_THAT(json, HasSubstr(R"("geometric_mean":1.5)"));
}

TEST_F(Bench, ReportsChangesSinceASavedRun) {
  const auto script = [](const std::string& first, const std::string& second) {
    const std::string record =
        R"({"record":"timing","kernel":"%s","parse_ms":0.0,"instrument_ms":0.0,"emit_ms":0.0,"load_ms":0.0,)"
        R"("execute_ms":%s,"launches":1,"device":"cpu"}\n)";
    return "case $LYNXPP_TIMING in original) a=1.0; b=1.0;; *) a=" + first + "; b=" + second +
           ";; esac; printf '" + record + "' k $a j $b ${K-new} 1.0 >> $LYNXPP_OUTPUT";
  };
  ASSERT_EQ(bench({"-r", "1", "-s", "instruction_count", "-o", folder_.path("then.json")},
                  "K=old; " + script("1.5", "2.0"))
                .exit_code,
            0);
  const Outcome outcome = bench(
      {"-r", "1", "-s", "instruction_count", "--compare", folder_.path("then.json")}, script("1.8", "1.0"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              HasSubstr("/then.json ==\n"
                        "kernel  specifications      ratio  ratio   change\n"
                        "                           before    now\n"
                        "j       instruction_count   2.000  1.000  -50.0 %\n"
                        "k       instruction_count   1.500  1.800  +20.0 %\n"
                        "geometric mean with instruction_count: 1.442 before, 1.216 now (-15.7 %)\n"
                        "only before: old with instruction_count\n"
                        "only now: new with instruction_count\n"));
}

TEST_F(Bench, ElapsedRunsTheProgramWithoutAndWithEverySettingInTurn) {
  const Outcome outcome = bench({"--elapsed", "-r", "2", "-d", "cpu", "-s", "instruction_count", "-s",
                                 "kernel_runtime,basic_block_count"},
                                "echo ${LYNXPP_TIMING-untimed} ${LYNXPP_SPEC-native} "
                                "${LYNXPP_OUTPUT+records} >> $1");
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  const std::string first =
      "untimed native\nuntimed instruction_count records\nuntimed kernel_runtime,basic_block_count "
      "records\n";
  const std::string round =
      "untimed native\nuntimed instruction_count\nuntimed kernel_runtime,basic_block_count\n";
  EXPECT_EQ(shared(), first + round + round);
  EXPECT_THAT(outcome.out, HasSubstr("== whole program on no device, 2 rounds =="));
}

TEST_F(Bench, ElapsedCountsInstrumentedLaunchesAndComparesOutputs) {
  const std::string record =
      R"({"record":"coverage","kernel":"k","demangled":"k","instrumented":true,"reason":"","launches":7,)"
      R"("instrumented_launches":5,"sites":1,"notes":[],"specs":["instruction_count"]})";
  const std::string script =
      "echo ${LYNXPP_SPEC-native}; test -z $LYNXPP_OUTPUT || echo '" + record + "' >> $LYNXPP_OUTPUT";
  const Outcome outcome =
      bench({"--elapsed", "-r", "1", "-s", "instruction_count", "-o", folder_.path("elapsed.json")}, script);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr(" 5 of 7\n"));
  EXPECT_THAT(outcome.out, HasSubstr("THE PROGRAM'S OUTPUT CHANGED"));
  std::string json;
  ASSERT_TRUE(read_file(folder_.path("elapsed.json"), json));
  EXPECT_THAT(json, HasSubstr(R"("instrumented_launches":5)"));
}

TEST_F(Bench, RejectsAnInvalidSavedFileBeforeRunning) {
  const std::string file = folder_.write("other.json", R"({"record":"summary"})");
  const Outcome outcome = bench({"-s", "instruction_count", "-c", file}, "echo ran >> $1");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("other.json was not written by `lynxpp bench --output`"));
  EXPECT_EQ(shared(), "");
}

TEST_F(Bench, WarnsIfInstrumentationChangesTheOutput) {
  const Outcome outcome = bench({"-r", "2", "-s", "instruction_count"}, "echo $LYNXPP_TIMING");
  EXPECT_THAT(outcome.out, HasSubstr("THE PROGRAM'S OUTPUT CHANGED"));
}

TEST_F(Bench, StopsIfTheProgramFails) {
  const Outcome outcome =
      bench({"-s", "instruction_count"}, "echo no device >&2; test $LYNXPP_TIMING = original");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err,
            "lynxpp: error: the program failed with exit code 1, with instruction_count\n  hint: its "
            "messages: no device\n");
}

TEST_F(Bench, ReportsErrors) {
  EXPECT_EQ(bench({"-s", "instruction_cuont"}, "true").exit_code, 2);
  EXPECT_EQ(bench({}, "true").exit_code, 2);
  EXPECT_EQ(bench({"-r", "0", "-s", "instruction_count"}, "true").exit_code, 2);
  EXPECT_EQ(bench({"--elapsed", "-c", "then.json", "-s", "instruction_count"}, "true").exit_code, 2);
  EXPECT_EQ(lynxpp({"bench", "-s", "instruction_count"}).exit_code, 2);
  EXPECT_EQ(lynxpp({"bench", "-s", "instruction_count", "/no/such/program"}).exit_code, 127);
}

}  // namespace
}  // namespace lynxpp::cli
