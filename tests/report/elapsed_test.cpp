#include "report/overhead/elapsed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lynxpp::report {
namespace {

using testing::HasSubstr;

/// Runs of the given wall times in seconds, with twice the processor time.
ElapsedSetting setting_of(std::string name, std::vector<double> seconds) {
  ElapsedSetting setting;
  setting.name = std::move(name);
  for (const double each : seconds) setting.runs.push_back({1000 * each, 2000 * each, true});
  setting.first = {1000, 1000, true};
  setting.launches = 12;
  setting.instrumented_launches = 11;
  return setting;
}

TEST(Elapsed, RatiosArePairedByRound) {
  // The machine grows slower from round to round; the ratios of a round do not.
  const ElapsedSetting native = setting_of("", {1, 2, 4});
  const ElapsedRatio ratio = ratio_of(setting_of("s", {1.5, 2.5, 6}), native);
  EXPECT_DOUBLE_EQ(ratio.elapsed, 1.5);
  EXPECT_DOUBLE_EQ(ratio.least_elapsed, 1.25);
  EXPECT_DOUBLE_EQ(ratio.most_elapsed, 1.5);
  EXPECT_DOUBLE_EQ(ratio.processor, 1.5);
}

TEST(Elapsed, TheTableHasTheNativeRunsAndEverySetting) {
  ElapsedBench bench{{"./app"}, "NVIDIA H200", setting_of("", {2, 2}), {setting_of("opcode_mix", {2, 3})}};
  EXPECT_EQ(to_text(bench),
            "== whole program on NVIDIA H200, 2 rounds ==\n"
            "                elapsed  ratio   least to most  processor  ratio  first run  instrumented\n"
            "                      s                                 s                 s      launches\n"
            "without lynxpp    2.000                             4.000             1.000\n"
            "opcode_mix        2.500  1.250  1.000 to 1.500      5.000  1.250      1.000      11 of 12\n"
            "the program's output is the same in every run\n"
            "\nTrust: measured by the host's clock; whole programs; the spread is that of the rounds; see "
            "docs/trust.md\n");
  bench.device = "cpu";
  EXPECT_THAT(to_text(bench), HasSubstr("times of the cpu device say nothing about a GPU"));
  EXPECT_THAT(to_text(bench), HasSubstr("\nwithout a specification "));
}

TEST(Elapsed, OutputsAreComparedUnlessNativeOnesDiffer) {
  ElapsedBench bench{{"./app"}, "NVIDIA H200", setting_of("", {2, 2}), {setting_of("opcode_mix", {2, 3})}};
  bench.settings[0].first.same_output = false;
  EXPECT_THAT(to_text(bench), HasSubstr("THE PROGRAM'S OUTPUT CHANGED"));
  EXPECT_FALSE(nlohmann::json::parse(to_json(bench))["settings"][0]["same_output"]);
  bench.native.runs[1].same_output = false;
  EXPECT_THAT(to_text(bench), HasSubstr("it was not compared"));
}

TEST(Elapsed, RoundsWithoutNativeTimeHaveNoRatio) {
  const ElapsedRatio ratio = ratio_of(setting_of("s", {3, 3}), setting_of("", {0, 2}));
  EXPECT_DOUBLE_EQ(ratio.elapsed, 1.5);
  EXPECT_DOUBLE_EQ(ratio_of(setting_of("s", {3}), setting_of("", {0})).elapsed, 0);
}

}  // namespace
}  // namespace lynxpp::report
