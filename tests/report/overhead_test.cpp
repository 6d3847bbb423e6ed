#include "report/overhead/overhead.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lynxpp::report {
namespace {

BenchRun run_of(std::vector<std::pair<std::string, double>> kernels, double program_ms = 100,
                std::uint64_t launches = 2) {
  BenchRun run;
  run.program_ms = program_ms;
  for (const auto& [name, milliseconds] : kernels) {
    TimingRecord timing;
    timing.kernel = name;
    timing.execute = milliseconds;
    timing.launches = launches;
    timing.device = "NVIDIA H200";
    timing.original = KernelResources{20, 0, 0, 16, 64, 64};
    run.timings.push_back(timing);
    run.coverage.push_back({name, true, "", launches, launches, 1, {}});
  }
  return run;
}

BenchRun instrumented_run_of(std::vector<std::pair<std::string, double>> kernels, double program_ms = 150,
                             std::uint64_t launches = 2) {
  BenchRun run = run_of(std::move(kernels), program_ms, launches);
  for (TimingRecord& timing : run.timings) timing.variant = KernelResources{28, 0, 0, 12, 48, 64};
  return run;
}

TEST(Overhead, RatiosArePairedByRoundAndTheMedianIsTaken) {
  // The machine becomes slower from round to round; the ratio stays the same.
  Bench bench{{"./app"}, {run_of({{"k", 2}}), run_of({{"k", 4}}), run_of({{"k", 8}})}, {}};
  bench.settings.push_back(
      {"instruction_count",
       {instrumented_run_of({{"k", 3}}), instrumented_run_of({{"k", 5}}), instrumented_run_of({{"k", 12}})}});
  const Overhead overhead = overhead_of(bench);
  EXPECT_EQ(overhead.device, "NVIDIA H200");
  EXPECT_EQ(overhead.rounds, 3u);
  const KernelOverhead& kernel = overhead.settings.at(0).kernels.at(0);
  EXPECT_DOUBLE_EQ(kernel.ratio, 1.5);
  EXPECT_DOUBLE_EQ(kernel.least_ratio, 1.25);
  EXPECT_DOUBLE_EQ(kernel.most_ratio, 1.5);
  EXPECT_DOUBLE_EQ(kernel.native_ms, 2);
  EXPECT_DOUBLE_EQ(kernel.instrumented_ms, 2.5);
}

TEST(Overhead, MedianOfAnEvenNumberOfRoundsIsBetweenTheMiddleOnes) {
  Bench bench{
      {"./app"}, {run_of({{"k", 2}}), run_of({{"k", 2}}), run_of({{"k", 2}}), run_of({{"k", 2}})}, {}};
  bench.settings.push_back({"s",
                            {instrumented_run_of({{"k", 10}}), instrumented_run_of({{"k", 4}}),
                             instrumented_run_of({{"k", 2}}), instrumented_run_of({{"k", 8}})}});
  EXPECT_DOUBLE_EQ(overhead_of(bench).settings.at(0).kernels.at(0).ratio, 3);
}

TEST(Overhead, MeanAndWorstAreOverTheKernelsThatRanBothWays) {
  Bench bench{{"./app"}, {run_of({{"short", 1}, {"long", 100}, {"native_only", 5}})}, {}};
  bench.settings.push_back({"s", {instrumented_run_of({{"short", 4}, {"long", 100}})}});
  bench.settings[0].runs[0].coverage.push_back({"native_only", false, "no PTX", 2, 0, 0, {}});
  const SettingOverhead overhead = overhead_of(bench).settings.at(0);
  ASSERT_EQ(overhead.kernels.size(), 2u);
  EXPECT_EQ(overhead.kernels[0].kernel, "long") << "the longest-running first";
  EXPECT_DOUBLE_EQ(overhead.geometric_mean, 2);
  EXPECT_EQ(overhead.kernels[overhead.worst].kernel, "short");
  ASSERT_EQ(overhead.not_instrumented.size(), 1u);
  EXPECT_EQ(overhead.not_instrumented[0].kernel, "native_only");
}

TEST(Overhead, TimesArePerLaunchIfNotAllWereInstrumented) {
  Bench bench{{"./app"}, {run_of({{"k", 10}}, 100, 10)}, {}};
  bench.settings.push_back({"s", {instrumented_run_of({{"k", 4}}, 100, 2)}});
  EXPECT_DOUBLE_EQ(overhead_of(bench).settings.at(0).kernels.at(0).ratio, 2);
}

TEST(Overhead, TheTableShowsTimesRegistersAndOccupancy) {
  Bench bench{{"./app"}, {run_of({{"_Z6vecaddPKfS0_Pfi", 0.25}, {"f", 5000}})}, {}};
  bench.settings.push_back(
      {"instruction_count", {instrumented_run_of({{"_Z6vecaddPKfS0_Pfi", 0.5}, {"f", 5100}})}});
  bench.settings[0].runs[0].coverage.push_back({"g", false, "no PTX", 2, 0, 0, {}});
  EXPECT_EQ("\n" + to_text(overhead_of(bench), 80), R"table(
== instruction_count on NVIDIA H200, 1 round ==
kernel  launches  native  instrumented  ratio   least to most  registers     warps
                      ms            ms                                      per SM
f              2  2500.0        2550.0  1.020  1.020 to 1.020   20 -> 28  64 -> 48
vecadd         2  0.1250        0.2500  2.000  2.000 to 2.000   20 -> 28  64 -> 48
geometric mean 1.428, worst 2.000 (vecadd)
whole program 100.0 ms native, 150.0 ms instrumented
not instrumented: g: no PTX
the program's output is the same in every run

Trust: measured; median noise 1.7 % below 20 µs, 0.2 % from 100 µs (H200); see
docs/trust.md
)table");
}

TEST(Overhead, ChangedOutputIsReportedUnlessItAlwaysChanges) {
  Bench bench{{"./app"}, {run_of({{"k", 2}}), run_of({{"k", 2}})}, {}};
  bench.settings.push_back({"s", {instrumented_run_of({{"k", 3}}), instrumented_run_of({{"k", 3}})}});
  bench.settings[0].runs[1].same_output = false;
  EXPECT_NE(to_text(overhead_of(bench), 100).find("THE PROGRAM'S OUTPUT CHANGED"), std::string::npos);
  bench.native[1].same_output = false;
  const std::string text = to_text(overhead_of(bench), 100);
  EXPECT_EQ(text.find("THE PROGRAM'S OUTPUT CHANGED"), std::string::npos) << text;
  EXPECT_NE(text.find("it was not compared"), std::string::npos) << text;
}

TEST(Overhead, ProgramsWithoutKernelsHaveNoRatios) {
  Bench bench{{"./app"}, {run_of({})}, {{"s", {instrumented_run_of({})}}}};
  const Overhead overhead = overhead_of(bench);
  EXPECT_NE(to_text(overhead, 100).find("no kernel launch was seen"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(overhead));
  EXPECT_FALSE(json["settings"][0].contains("geometric_mean"));
  EXPECT_EQ(json["settings"][0]["kernels"].size(), 0u);
}

TEST(Overhead, BuffersHaveASeparateTime) {
  Bench bench{{"./app"}, {run_of({{"k", 2}}), run_of({{"k", 2}}), run_of({{"k", 2}})}, {{"s", {}}}};
  for (const double milliseconds : {0.5, 0.25, 4.0}) {
    bench.settings[0].runs.push_back(instrumented_run_of({{"k", 3}}));
    bench.settings[0].runs.back().timings[0].buffers = milliseconds;
  }
  const Overhead overhead = overhead_of(bench);
  EXPECT_DOUBLE_EQ(overhead.settings[0].kernels[0].buffers_ms.value(), 0.25) << "of one launch of two";
  EXPECT_DOUBLE_EQ(overhead.settings[0].kernels[0].ratio, 1.5);
  EXPECT_NE(to_text(overhead, 100).find("buffers"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(to_json(overhead))["settings"][0]["kernels"][0]["buffers_ms"], 0.25);
}

TEST(Overhead, JsonHoldsEveryFigure) {
  Bench bench{{"./app", "1"}, {run_of({{"k", 2}})}, {{"a,b", {instrumented_run_of({{"k", 3}})}}}};
  const auto json = nlohmann::json::parse(to_json(overhead_of(bench)));
  EXPECT_EQ(json["record"], "bench");
  EXPECT_EQ(json["command"], nlohmann::json({"./app", "1"}));
  const auto& setting = json["settings"][0];
  EXPECT_EQ(setting["spec"], "a,b");
  EXPECT_EQ(setting["geometric_mean"], 1.5);
  EXPECT_EQ(setting["worst"], 1.5);
  EXPECT_EQ(setting["kernels"][0]["ratio"], 1.5);
  EXPECT_FALSE(setting["kernels"][0].contains("buffers_ms"));
  EXPECT_EQ(setting["kernels"][0]["original"]["registers"], 20);
  EXPECT_EQ(setting["kernels"][0]["variant"]["warps_per_sm"], 48);
}

}  // namespace
}  // namespace lynxpp::report
