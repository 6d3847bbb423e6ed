// ON_REPORT on made-up launches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/text.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

using testing::ElementsAre;

LaunchView small_launch() {
  LaunchView launch;
  launch.grid[0] = 2;
  launch.grid[1] = 3;
  launch.block[0] = 40;
  launch.basic_blocks = 5;
  launch.instructions = 50;
  launch.sms = 4;
  launch.clock_khz = 1980000;
  return launch;
}

template <typename T>
std::vector<T> values_of(const ReportRun& run, const std::string& name) {
  const Emitted* found = run.find(name);
  if (found == nullptr || !std::holds_alternative<std::vector<T>>(found->values)) return {};
  return std::get<std::vector<T>>(found->values);
}

TEST(Report, ExtentsAndDimensionsOfTheLaunch) {
  const ReportRun run = run_report(
      "ON_REPORT: { emit(\"threads\", THREADS); emit(\"blocks\", BLOCKS); emit(\"warps\", WARPS); "
      "emit(\"bb\", BASIC_BLOCKS);"
      "emit(\"instructions\", INSTRUCTIONS); emit(\"sms\", SMS); emit(\"lanes\", LANES); emit(\"gx\", "
      "gridDimX()); emit(\"gy\", gridDimY());"
      "emit(\"g\", gridDim()); emit(\"b\", blockDim()); emit(\"w\", warpCount()); emit(\"khz\", "
      "clockRate()); }",
      small_launch());
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.number("threads"), 240);
  EXPECT_EQ(run.number("blocks"), 6);
  EXPECT_EQ(run.number("warps"), 12);
  EXPECT_EQ(run.number("bb"), 5);
  EXPECT_EQ(run.number("instructions"), 50);
  EXPECT_EQ(run.number("sms"), 4);
  EXPECT_EQ(run.number("lanes"), 32);
  EXPECT_EQ(run.number("gx"), 2);
  EXPECT_EQ(run.number("gy"), 3);
  EXPECT_EQ(run.number("g"), 6);
  EXPECT_EQ(run.number("b"), 40);
  EXPECT_EQ(run.number("w"), 12);
  EXPECT_EQ(run.number("khz"), 1980000);
}

TEST(Report, ReductionsAndWholeArrays) {
  std::vector<std::uint64_t> counts{4, 1, 0, 7, 8};
  std::vector<std::int32_t> temperatures{-3, -9};
  std::vector<float> ratios{0.5f, 2.5f, 3.0f};
  LaunchView launch = small_launch();
  launch.arrays = {bytes_of_vector(counts), bytes_of_vector(temperatures), bytes_of_vector(ratios)};
  const ReportRun run = run_report(
      "global unsigned long counts[BASIC_BLOCKS]; global int temperatures[2]; global float ratios[3];\n"
      "ON_REPORT: { emit(\"sum\", sum(counts), \"items\"); emit(\"max\", max(counts)); emit(\"min\", "
      "min(counts)); emit(\"mean\", mean(counts));"
      "emit(\"coldest\", min(temperatures)); emit(\"cold\", sum(temperatures)); emit(\"ratio\", "
      "sum(ratios)); emit(\"all\", counts, \"items\");"
      "emit(\"t\", temperatures); emit(\"r\", ratios); }",
      launch);
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.number("sum"), 20);
  EXPECT_EQ(run.find("sum")->unit, "items");
  EXPECT_TRUE(run.find("sum")->dimensions.empty());
  EXPECT_EQ(run.number("max"), 8);
  EXPECT_EQ(run.number("min"), 0);
  EXPECT_EQ(run.number("mean"), 4);
  EXPECT_EQ(run.number("coldest"), -9);
  EXPECT_EQ(run.number("cold"), -12);
  EXPECT_EQ(run.number("ratio"), 6);
  EXPECT_THAT(values_of<std::uint64_t>(run, "all"), ElementsAre(4u, 1u, 0u, 7u, 8u));
  EXPECT_THAT(run.find("all")->dimensions, ElementsAre(5u));
  EXPECT_THAT(values_of<std::int64_t>(run, "t"), ElementsAre(-3, -9));
  EXPECT_THAT(values_of<double>(run, "r"), ElementsAre(0.5, 2.5, 3.0));
}

TEST(Report, WithoutOnReportEveryArrayIsEmitted) {
  std::vector<std::uint16_t> a{1, 2, 3, 4, 5, 6};
  std::vector<std::uint32_t> b{9};
  LaunchView launch = small_launch();
  launch.arrays = {bytes_of_vector(a), bytes_of_vector(b)};
  const ReportRun run =
      run_report("global unsigned short a[2][3]; global unsigned b; ON_KERNEL_EXIT: { b = 9; }", launch);
  EXPECT_THAT(values_of<std::uint64_t>(run, "a"), ElementsAre(1u, 2u, 3u, 4u, 5u, 6u));
  EXPECT_THAT(run.find("a")->dimensions, ElementsAre(2u, 3u));
  EXPECT_EQ(run.number("b"), 9);
}

TEST(Report, ArraysOfSeveralDimensionsAreRowMajor) {
  std::vector<std::int64_t> a{1, 2, 3, 4, 5, 6};
  LaunchView launch = small_launch();
  launch.arrays = {bytes_of_vector(a)};
  const ReportRun run = run_report(
      "global long a[2][3]; ON_REPORT: { emit(\"x\", a[1][0]); a[0][2] = 30; emit(\"s\", sum(a)); }", launch);
  EXPECT_EQ(run.number("x"), 4);
  EXPECT_EQ(run.number("s"), 48);
}

TEST(Report, OutOfRangeReadsYieldZeroAndAreReported) {
  std::vector<std::int64_t> a{5, 6};
  LaunchView launch = small_launch();
  launch.arrays = {bytes_of_vector(a)};
  const ReportRun run = run_report(
      "global long a[2];\nON_REPORT: {\n  long s = 0;\n  for (int i = -1; i < 4; i++) s += a[i];\n  "
      "emit(\"s\", s);\n}",
      launch);
  EXPECT_EQ(run.number("s"), 11);
  EXPECT_EQ(run.failure,
            "t.cod:4:37: error: this index is out of range; the access did not happen (3 times)\n"
            "    for (int i = -1; i < 4; i++) s += a[i];\n"
            "                                      ^~~~\n");
}

TEST(Report, DivisionByZeroIsReportedAndYieldsZero) {
  const ReportRun run = run_report(
      "ON_REPORT: { int z = 0; long q = 7 / z; emit(\"q\", q); emit(\"r\", 7u % z); emit(\"f\", 1.0 / z); }",
      {});
  EXPECT_EQ(run.number("q"), 0);
  EXPECT_EQ(run.number("r"), 0);
  EXPECT_EQ(run.number("f"), std::numeric_limits<double>::infinity());
  EXPECT_THAT(run.failure,
              testing::HasSubstr("t.cod:1:34: error: division by zero; the result was taken as 0"));
  EXPECT_THAT(run.failure,
              testing::HasSubstr("t.cod:1:65: error: division by zero; the result was taken as 0"));
}

TEST(Report, PrintsLikePrintf) {
  const ReportRun run = run_report(
      "ON_REPORT: { print(\"%d|%5u|%-4x|%.2f|%+ld|100%%\\n\", -3, 42, 255u, 2.0 / 3, 7l); print(\"plain\"); "
      "print(\"%lu\", 18446744073709551615ul); }",
      {});
  EXPECT_EQ(run.printed, "-3|   42|ff  |0.67|+7|100%\nplain18446744073709551615");
}

TEST(Report, HelpersAndReturn) {
  const ReportRun run = run_report(
      "static double ratio(unsigned long a, unsigned long b) { if (b == 0) return 0; return a / (double)b; "
      "}\n"
      "static int count(int n) { int c = 0; for (int i = 0; i < n; i++) { if (i % 2) continue; c++; } return "
      "c; }\n"
      "ON_REPORT: { emit(\"a\", ratio(1, 4)); emit(\"b\", ratio(1, 0)); emit(\"c\", count(count(10))); if "
      "(THREADS) return; emit(\"never\", 1); }\n",
      small_launch());
  EXPECT_EQ(run.number("a"), 0.25);
  EXPECT_EQ(run.number("b"), 0);
  EXPECT_EQ(run.number("c"), 3);
  EXPECT_EQ(run.find("never"), nullptr);
}

TEST(Report, IncompleteContentsAreRefused) {
  std::vector<std::uint64_t> counts(4);
  LaunchView launch = small_launch();
  launch.arrays = {bytes_of_vector(counts)};
  const ReportRun run = run_report(
      "global unsigned long counts[BASIC_BLOCKS]; ON_REPORT: { emit(\"s\", sum(counts)); }", launch);
  EXPECT_EQ(run.failure, "error: the contents of 'counts' are incomplete: 32 bytes for 5 elements\n");
  EXPECT_TRUE(run.emitted.empty());
}

TEST(Report, IsCompiledOnceAndRunsInSeveralThreads) {
  const auto specification =
      compiled("ON_REPORT: { long s = 0; for (int i = 0; i < 1000; i++) s += i * BLOCKS; emit(\"s\", s); }");
  ASSERT_NE(specification, nullptr);
  const auto first = specification->compile_host();
  const auto second = specification->compile_host();
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first->get(), second->get());
  std::vector<std::int64_t> results(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      LaunchView launch;
      launch.grid[0] = static_cast<std::uint32_t>(i + 1);
      launch.emit = [&](Emitted emitted) {
        results[i] = std::get<std::vector<std::int64_t>>(emitted.values).at(0);
      };
      static_cast<void>((*first)->run(launch));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, ElementsAre(499500, 999000, 1498500, 1998000));
}

std::string example(const std::string& name) {
  std::string source;
  EXPECT_TRUE(read_file(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs/" + name + ".cod", source));
  return source;
}

TEST(Report, InstructionCountPerThread) {
  std::vector<std::vector<std::uint64_t>> counts{{480}, {35}, {40}, {30}, {20}, {10}, {5}, {4}, {3}};
  LaunchView launch = small_launch();
  for (std::vector<std::uint64_t>& count : counts) launch.arrays.push_back(bytes_of_vector(count));
  const ReportRun run = run_report(example("instruction_count"), launch);
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.number("thread_instructions"), 480);
  EXPECT_EQ(run.number("warp_instructions"), 35);
  EXPECT_EQ(run.number("average_per_thread"), 2);
  EXPECT_EQ(run.number("memory"), 40);
  EXPECT_EQ(run.number("calls"), 3);
}

TEST(Report, KernelRuntimeFromClocks) {
  std::vector<std::uint64_t> blocks{1500, 1000, 0, 0, 1300, 1100, 0, 0, 1900, 1000, 2, 0};
  std::vector<std::uint64_t> cycles(3);
  std::vector<std::uint32_t> sm(3);
  std::vector<std::uint64_t> load(4);
  LaunchView launch = small_launch();
  launch.grid[0] = 3;
  launch.grid[1] = 1;
  launch.arrays = {bytes_of_vector(blocks), bytes_of_vector(cycles), bytes_of_vector(sm),
                   bytes_of_vector(load)};
  const ReportRun run = run_report(example("kernel_runtime"), launch);
  EXPECT_EQ(run.failure, "");
  EXPECT_THAT(values_of<std::uint64_t>(run, "cycles"), ElementsAre(500u, 200u, 900u));
  EXPECT_THAT(values_of<std::uint64_t>(run, "sm"), ElementsAre(0u, 0u, 2u));
  EXPECT_DOUBLE_EQ(run.number("mean_cycles"), 1600 / 3.0);
  EXPECT_EQ(run.number("max_cycles"), 900);
  EXPECT_DOUBLE_EQ(run.number("load_imbalance"), 900 * 2.0 / 1600);
}

}  // namespace
}  // namespace lynxpp::cod
