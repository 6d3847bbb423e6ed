// ON_REPORT on synthetic launches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <thread>

#include "cod/word_statistics.h"
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

TEST(Report, KnowsExtentsAndDimensionsOfTheLaunch) {
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

TEST(Report, ReducesAndEmitsWholeArrays) {
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
            "t.cod:4:37: error: this index is out of range; the access was skipped (3 times)\n"
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

TEST(Report, PrintsIntegersLikeC) {
  const ReportRun run = run_report(
      "ON_REPORT: { int minus = -1; long wide = -1; char small = -1; unsigned int great = 4294967295u;\n"
      "  print(\"%x %X %o %u\\n\", minus, small, minus, minus);\n"
      "  print(\"%hhd %hhu %hhx %hd %hx\\n\", 300, 300, minus, 65535, 65537);\n"
      "  print(\"%lx %llu %x %d\\n\", wide, wide, wide, great);\n"
      "  print(\"%ld %zu %jd %5hhd|%-6x|\", wide, 7ul, wide, 511, minus); }",
      {});
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.printed,
            "ffffffff FFFFFFFF 37777777777 4294967295\n"
            "44 44 ff -1 1\n"
            "ffffffffffffffff 18446744073709551615 ffffffffffffffff -1\n"
            "-1 7 -1    -1|ffffffff|");
  EXPECT_THAT(errors_of("ON_REPORT: { print(\"%hhhd\", 1); }"), testing::HasSubstr("is not a conversion"));
  EXPECT_THAT(errors_of("ON_REPORT: { print(\"%lhd\", 1); }"), testing::HasSubstr("is not a conversion"));
}

TEST(Report, RatiosKeepNumeratorAndDenominator) {
  const ReportRun run = run_report(
      "ON_REPORT: { emitRatio(\"per_block\", THREADS, BLOCKS, \"threads\"); emitRatio(\"none\", 1.5, 0);\n"
      "  emitRatio(\"negative\", -3, 2.0f); }",
      small_launch());
  EXPECT_EQ(run.failure, "");
  ASSERT_NE(run.find("per_block"), nullptr);
  EXPECT_EQ(run.find("per_block")->unit, "threads");
  EXPECT_THAT(values_of<std::uint64_t>(run, "per_block"), ElementsAre(240));
  EXPECT_THAT(std::get<std::vector<std::uint64_t>>(*run.find("per_block")->denominators), ElementsAre(6));
  EXPECT_EQ(run.number("per_block"), 40);
  EXPECT_THAT(values_of<double>(run, "none"), ElementsAre(1.5));
  EXPECT_EQ(run.number("negative"), -1.5);
  const std::pair<const char*, const char*> mistakes[] = {
      {"emitRatio(\"x\", 1);", "emitRatio() takes 3 to 4 arguments, not 2"},
      {"emitRatio(5, 1, 2);", "the name of a result must be a non-empty string"},
      {"emitRatio(\"x\", 1, 2, 3);", "the unit of a result must be a non-empty string"},
      {"emitRatio(\"x\", \"y\", 2);", "a string is not allowed here"},
  };
  for (const auto& [code, message] : mistakes)
    EXPECT_THAT(errors_of("ON_REPORT: { " + std::string(code) + " }"), testing::HasSubstr(message)) << code;
}

TEST(Report, ResultThatIsCertainlyEmittedTwiceIsRejected) {
  const auto complaint = [](const std::string& code) { return errors_of("global long a[4];\n" + code); };
  EXPECT_EQ(complaint("ON_REPORT: {\n  emit(\"x\", 1);\n  emit(\"x\", 2);\n}"),
            "t.cod:4:8: error: a result 'x' already exists\n"
            "    emit(\"x\", 2);\n"
            "         ^~~\n"
            "  hint: line 3 emits it; choose a unique name\n");
  const char* const refused[] = {
      "ON_REPORT: { emit(\"x\", 1); if (THREADS > 1) emit(\"x\", 2); }",
      "ON_REPORT: emit(\"x\", 1);\nON_REPORT: emit(\"x\", a);",
      "ON_REPORT: { for (int i = 0; i < 2; ++i) { emit(\"x\", 1); emitRatio(\"x\", 2, 3); } }",
      "ON_REPORT: { emitTable(\"x\", \"c\", a); emit(\"x\", a); }",
      "ON_END: { emit(\"x\", 1); emit(\"x\", 1); }",
      "ON_REPORT: { switch (a[0]) { case 1: emit(\"x\", 1); if (a[1]) emit(\"x\", 2); } }"};
  for (const char* code : refused)
    EXPECT_THAT(complaint(code), testing::HasSubstr("a result 'x' already exists")) << code;
  const char* const accepted[] = {
      "ON_REPORT: { if (THREADS > 1) emit(\"x\", 1); else emit(\"x\", 2); }",
      "ON_REPORT: { if (THREADS == 0) { emit(\"x\", 1); return; } emit(\"x\", 2); }",
      "ON_REPORT: { switch (a[0]) { case 1: emit(\"x\", 1); break; case 2: emit(\"x\", 2); break; default: "
      "emit(\"x\", 3); } }",
      "ON_REPORT: emit(\"x\", 1);\nON_END: emit(\"x\", 2);",
      "ON_REPORT: { for (int i = 0; i < 2; ++i) emit(\"x\", i); }",
      "void f() { emit(\"x\", 1); }\nON_REPORT: { f(); f(); }"};
  for (const char* code : accepted) EXPECT_EQ(complaint(code), "") << code;
}

TEST(Report, RepeatedNamesGetANumber) {
  std::vector<std::int64_t> a{5, 6};
  LaunchView launch = small_launch();
  launch.arrays = {bytes_of_vector(a)};
  const ReportRun run = run_report(
      "global long a[2];\nvoid table() { emitTable(\"t\", \"c\", a); }\nvoid number(int n) { emit(\"x\", n); "
      "}\n"
      "ON_REPORT: { for (int i = 0; i < 3; ++i) number(10 * i); emit(\"x#2\", 7); table(); table(); "
      "emit(\"t.c\", "
      "1); }",
      launch);
  std::vector<std::string> names;
  for (const Emitted& each : run.emitted) names.push_back(each.name);
  EXPECT_THAT(names, ElementsAre("x", "x#2", "x#3", "x#2#2", "t.c", "t#2.c", "t.c#2"));
  EXPECT_EQ(run.number("x#3"), 20);
  EXPECT_EQ(run.find("t#2.c")->table, "t#2");
}

TEST(Report, ArraysOfWordsDefineHowLaunchesAreCombined) {
  std::vector<std::uint64_t> words{0, 3, 1, 9};
  LaunchView launch = small_launch();
  launch.shared_words = 4;
  launch.shared_arrays = {{"tile", 0, 3}, {"row", 3, 1}};
  launch.arrays = {bytes_of_vector(words)};
  const ReportRun run = run_report(
      "global unsigned long words[SHARED_WORDS];\nON_INSTRUCTION: MEM_READ: SHARED: countWords(words);\n"
      "ON_REPORT: emitWords(\"arrays\", words);",
      launch);
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.find("arrays.words")->folding, Folding::mean);
  EXPECT_EQ(run.find("arrays.accesses")->folding, Folding::sum);
  EXPECT_EQ(run.find("arrays.least")->folding, Folding::least);
  EXPECT_EQ(run.find("arrays.greatest")->folding, Folding::greatest);
  EXPECT_EQ(run.find("arrays.never")->folding, Folding::mean);
  EXPECT_THAT(values_of<std::uint64_t>(run, "arrays.mean"), ElementsAre(4u, 9u));
  EXPECT_THAT(std::get<std::vector<std::uint64_t>>(*run.find("arrays.mean")->denominators),
              ElementsAre(3u, 1u));
}

/// Statistics of `counts` word by word.
struct NaiveWords {
  std::uint64_t accesses = 0, least = ~std::uint64_t{0}, greatest = 0, never = 0, once = 0, beyond = 0;
  std::vector<std::uint64_t> heat = std::vector<std::uint64_t>(64), bins = std::vector<std::uint64_t>(32);
  std::uint64_t sectors = 0, aligned = 0, stride = 0, first = 0;

  NaiveWords(std::span<const std::uint64_t> counts, std::uint64_t begin) {
    std::set<std::uint64_t> touched;
    std::optional<std::uint64_t> found;
    for (std::uint64_t i = 0, run = 0; i <= counts.size(); ++i) {
      if (i == counts.size() || counts[i] == 0) {
        aligned += (run + 7) / 8;
        run = 0;
      }
      if (i == counts.size()) break;
      accesses += counts[i];
      least = std::min(least, counts[i]);
      greatest = std::max(greatest, counts[i]);
      never += counts[i] == 0;
      once += counts[i] == 1;
      heat[i * 64 / counts.size()] += counts[i];
      if (counts[i] == 0) continue;
      const auto bin = static_cast<std::uint64_t>(std::bit_width(counts[i]));
      bin > 32 ? ++beyond : ++bins[bin - 1];
      ++run;
      if (!found) found = i;
      stride = std::gcd(stride, i - *found);
      touched.insert((begin + i) / 8);
    }
    first = found.value_or(0);
    sectors = touched.size();
    stride = std::max<std::uint64_t>(stride, 1);
  }
};

/// The elements that are not zero, as runs; some are split.
std::vector<ElementRun> runs_of(const std::vector<std::uint64_t>& elements) {
  std::vector<ElementRun> runs;
  for (std::uint64_t i = 0; i < elements.size(); ++i) {
    if (elements[i] == 0) continue;
    const bool continues = !runs.empty() && runs.back().value == elements[i] &&
                           runs.back().first + runs.back().elements == i && i % 64 != 0;
    continues ? ++runs.back().elements : (runs.push_back({i, 1, elements[i]}), 0);
  }
  return runs;
}

TEST(Report, StatisticsOfWordsMatchThoseOfEveryWord) {
  struct Form {
    const char* type;
    bool has_runs;
    const char* before = "";  ///< in ON_REPORT
  };
  const Form forms[] = {{"long", false},
                        {"int", false},
                        {"long", true},
                        {"int", true, "emit(\"sum\", sum(words)); words[1] += 0; "}};
  std::mt19937_64 random(7);
  std::vector<ElementRun> runs;
  for (const Form& form : forms) {
    for (int round = 0; round < 60; ++round) {
      // Runs of equal counts, some longer than what is compared at once, and single words.
      std::vector<std::uint64_t> counts;
      while (counts.size() < 700) {
        const std::uint64_t value = random() % 3 != 0 ? random() % 3 : random() >> (32 + random() % 30);
        counts.insert(counts.end(), random() % 2 != 0 ? 1 : random() % 200, value);
      }
      if (round % 4 == 0) {  // every third word
        for (std::uint64_t i = 0; i < counts.size(); ++i) counts[i] = i % 3 == 1 ? 5 : 0;
      }
      const std::uint64_t begin = random() % 40, words = 1 + random() % (counts.size() - begin);
      LaunchView launch = small_launch();
      launch.device_words = counts.size();
      launch.device_arrays = {{"a", begin, words}};
      std::vector<std::uint32_t> narrow(counts.begin(), counts.end());
      const bool is_wide = std::string_view(form.type) == "long";
      launch.arrays = {is_wide ? bytes_of_vector(counts) : bytes_of_vector(narrow)};
      if (form.has_runs) {
        launch.arrays = {{}};
        runs = runs_of(counts);
        launch.sources[0] = std::make_shared<WordRuns>(runs);
      }
      const ReportRun run = run_report(std::string("global unsigned ") + form.type +
                                           " words[DEVICE_WORDS];\nON_INSTRUCTION: MEM_READ: GLOBAL: "
                                           "countWords(words);\nON_REPORT: { " +
                                           form.before + "emitWords(\"a\", words); }",
                                       launch);
      ASSERT_EQ(run.failure, "");
      if (*form.before != 0) {
        EXPECT_EQ(run.number("sum"),
                  static_cast<double>(std::accumulate(narrow.begin(), narrow.end(), 0ull)));
      }
      const std::span<const std::uint64_t> whole = counts;
      const NaiveWords naive(whole.subspan(begin, words), begin);
      EXPECT_EQ(run.number("a.accesses"), static_cast<double>(naive.accesses));
      EXPECT_EQ(run.number("a.least"), static_cast<double>(naive.least));
      EXPECT_EQ(run.number("a.greatest"), static_cast<double>(naive.greatest));
      EXPECT_EQ(run.number("a.never"), static_cast<double>(naive.never));
      EXPECT_EQ(run.number("a.once"), static_cast<double>(naive.once));
      EXPECT_EQ(values_of<std::uint64_t>(run, "a_heat"), naive.heat);
      EXPECT_EQ(values_of<std::uint64_t>(run, "a_distribution"), naive.bins);
      EXPECT_THAT(values_of<std::uint64_t>(run, "a_layout"),
                  ElementsAre(naive.sectors, naive.aligned, naive.stride, naive.first));
    }
  }
}

TEST(Report, ListsTheProgramsArrays) {
  LaunchView launch = small_launch();
  launch.located_arrays = {{"tile", 1024, 64, true}, {"#0 parameter 0", 0x7000, 4096, false}};
  const ReportRun run = run_report("ON_REPORT: emitArrays(\"arrays\");", launch);
  EXPECT_EQ(run.failure, "");
  EXPECT_THAT(values_of<std::uint64_t>(run, "arrays.address"), ElementsAre(1024u, 0x7000u));
  EXPECT_THAT(values_of<std::uint64_t>(run, "arrays.bytes"), ElementsAre(64u, 4096u));
  EXPECT_THAT(values_of<std::uint64_t>(run, "arrays.shared"), ElementsAre(1u, 0u));
  EXPECT_THAT(run.find("arrays.address")->labels, ElementsAre("tile", "#0 parameter 0"));
  EXPECT_EQ(run.find("arrays.address")->folding, Folding::same);
  EXPECT_TRUE(compiled("ON_REPORT: emitArrays(\"arrays\");")->lists_arrays());
  EXPECT_FALSE(compiled("ON_REPORT: emit(\"n\", 1);")->lists_arrays());
}

TEST(Report, DescribesHandlersWithDifferentSampling) {
  const auto text_of = [](const std::string& source, const std::string& kernel = "") {
    const SpecificationPtr specification = compiled(source);
    return specification == nullptr ? "" : describe(specification->samplings(kernel));
  };
  const std::string counts = "global unsigned long n; global unsigned long m; unsigned int mine = 3;\n";
  EXPECT_EQ(text_of(counts + "ON_KERNEL_EXIT: { n += mine; }"), "");
  EXPECT_EQ(text_of(counts + "ON_KERNEL_ENTRY: EVERY(4): { n += 1; }\nON_KERNEL_EXIT: EVERY(4): m += 1;"),
            "1 of 4 thread blocks")
      << "the initialiser of 'mine' is not a handler";
  const std::string differ = counts +
                             "ON_KERNEL_ENTRY: EVERY(4): SAMPLE_LAUNCHES(2): { n += 1; }\n"
                             "ON_KERNEL_EXIT: KERNEL(\"gemm\"): { m += 1; }";
  EXPECT_EQ(text_of(differ),
            "1 of 2 launches; handler of line 2: 1 of 4 thread blocks; handler of line 3: all");
  EXPECT_EQ(text_of(differ, "scan"), "1 of 2 launches, 1 of 4 thread blocks");
}

TEST(Report, SupportsHelpersAndReturn) {
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

TEST(Report, IncompleteContentsAreRejected) {
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

TEST(Report, CountsInstructionsPerThread) {
  std::vector<std::vector<std::uint64_t>> counts{{480}, {35}, {40}, {30}, {20}, {10}, {5}, {4}, {3}};
  LaunchView launch = small_launch();
  SiteTable sites;
  sites.opcodes = {"ret", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                   "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",
                   "tcgen05.mma.cta_group::1.kind::f16"};
  sites.instructions.resize(launch.instructions);
  counts.emplace_back(launch.instructions);
  for (std::uint32_t i = 1; i < sites.opcodes.size(); ++i) {
    sites.instructions[i].opcode = i;
    counts.back()[i] = 10;
  }
  launch.sites = &sites;
  for (std::vector<std::uint64_t>& count : counts) launch.arrays.push_back(bytes_of_vector(count));
  const ReportRun run = run_report(example("instruction_count"), launch);
  EXPECT_EQ(run.failure, "");
  EXPECT_EQ(run.number("thread_instructions"), 480);
  EXPECT_EQ(run.number("warp_instructions"), 35);
  EXPECT_EQ(run.number("average_per_thread"), 2);
  EXPECT_EQ(run.number("memory"), 40);
  EXPECT_EQ(run.number("calls"), 3);
  EXPECT_EQ(run.number("tensor_operations_bf16"), 2 * 10 * 4096);
  EXPECT_EQ(run.number("tensor_instructions_without_operations"), 10);
  EXPECT_EQ(run.find("tensor_operations_f16"), nullptr);
}

LaunchView launch_of_three_blocks() {
  LaunchView launch = small_launch();
  launch.grid[0] = 3;
  launch.grid[1] = 1;
  return launch;
}

/// `blocks`: last clock, first clock, SM and a gap for each of three blocks.
ReportRun run_kernel_runtime(std::vector<std::uint64_t> blocks) {
  std::vector<std::uint64_t> load(4);
  std::vector<std::uint32_t> distribution(64);
  LaunchView launch = launch_of_three_blocks();
  launch.arrays = {bytes_of_vector(blocks), bytes_of_vector(load), bytes_of_vector(distribution)};
  return run_report(example("kernel_runtime"), launch);
}

TEST(Report, ComputesKernelRuntimeFromClocks) {
  const ReportRun run = run_kernel_runtime({1500, 1000, 0, 0, 1300, 1100, 0, 0, 1900, 1000, 2, 0});
  EXPECT_EQ(run.failure, "");
  EXPECT_THAT(values_of<std::uint64_t>(run, "load"), ElementsAre(700u, 0u, 900u, 0u));
  std::vector<std::uint64_t> expected(64);
  expected[7] = expected[8] = expected[9] = 1;  // 200, 500, 900
  EXPECT_EQ(values_of<std::uint64_t>(run, "distribution"), expected);
  EXPECT_DOUBLE_EQ(run.number("mean_cycles"), 1600 / 3.0);
  EXPECT_EQ(run.number("max_cycles"), 900);
  EXPECT_DOUBLE_EQ(run.number("block_imbalance"), 900 * 3.0 / 1600);
  EXPECT_DOUBLE_EQ(run.number("load_imbalance"), 900 * 2.0 / 1600);
}

TEST(Report, DistributesBlocksAtTheLimitsOfBins) {
  const ReportRun run = run_kernel_runtime({1, 1, 0, 0, 1024, 0, 0, 0, 1023, 0, 0, 0});
  std::vector<std::uint64_t> expected(64);
  expected[0] = expected[9] = expected[10] = 1;
  EXPECT_EQ(values_of<std::uint64_t>(run, "distribution"), expected);
}

TEST(Report, ListsTheRuntimeOfEveryBlock) {
  std::vector<std::uint64_t> blocks{1500, 1000, 0, 0, 1300, 1100, 0, 0, 1900, 1000, 2, 0};
  std::vector<std::uint64_t> cycles(3);
  std::vector<std::uint32_t> sm(3);
  LaunchView launch = launch_of_three_blocks();
  launch.arrays = {bytes_of_vector(blocks), bytes_of_vector(cycles), bytes_of_vector(sm)};
  const ReportRun run = run_report(example("block_runtime"), launch);
  EXPECT_THAT(values_of<std::uint64_t>(run, "cycles"), ElementsAre(500u, 200u, 900u));
  EXPECT_THAT(values_of<std::uint64_t>(run, "sm"), ElementsAre(0u, 0u, 2u));
}

}  // namespace
}  // namespace lynxpp::cod
