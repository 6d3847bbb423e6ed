// Traces, histograms and maps whose contents are known in closed form, on the cpu device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "tests/cod/conformance_fixture.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t block_sizes[] = {1, 31, 32, 33, 96, 1024};
constexpr std::uint32_t blocks = 3;

/// Number of times that the thread executes the load of a kernel (conformance_fixture.h).
std::uint64_t loads_of(const std::string& kernel, std::uint64_t thread) {
  if (kernel == "straight") return 1;
  if (kernel == "early") return thread % 2 == 0 ? 1 : 0;
  return thread % 2 == 0 ? 0 : thread % 4;
}

class Collections : public testing::TestWithParam<std::tuple<std::uint32_t, std::string>> {
 protected:
  std::uint32_t size() const { return std::get<0>(GetParam()); }
  std::string kernel() const { return std::get<1>(GetParam()); }
  Shape shape() const { return {{blocks, 1, 1}, {size(), 1, 1}}; }
  Measured run(const std::string& source) const {
    Measured measured = measure(source, shape(), kernel());
    EXPECT_EQ(measured.failure, "");
    EXPECT_EQ(measured.dropped, 0u);
    return measured;
  }
  /// Calls `visit` with the block and the thread in the block, for every load.
  template <typename Visit>
  void each_load(Visit visit) const {
    for (std::uint64_t block = 0; block < blocks; ++block) {
      for (std::uint64_t thread = 0; thread < size(); ++thread) {
        for (std::uint64_t i = 0; i < loads_of(kernel(), thread); ++i) visit(block, thread);
      }
    }
  }
  std::uint64_t loads() const {
    std::uint64_t count = 0;
    each_load([&](auto, auto) { ++count; });
    return count;
  }
};

TEST_P(Collections, TraceHoldsEveryEntryOnce) {
  const Measured measured =
      run("struct access { unsigned long address; unsigned int thread; short negative; };\n"
          "global trace struct access accesses[16384];\n"
          "ON_INSTRUCTION: MEM_READ: GLOBAL: { append(&accesses, memoryAddress(), globalThreadId(), -5); }\n"
          "ON_REPORT: { emit(\"accesses\", accesses); emit(\"n\", length(accesses)); emit(\"lost\", "
          "dropped(accesses));\n"
          "  unsigned long sum = 0; for (unsigned long i = 0; i < length(accesses); ++i) sum += "
          "accesses[i].thread;\n"
          "  emit(\"sum\", sum); emit(\"mean\", mean(accesses.thread)); emit(\"most\", "
          "max(accesses.negative)); }");
  std::multiset<double> expected;
  double sum = 0;
  each_load([&](std::uint64_t block, std::uint64_t thread) {
    expected.insert(static_cast<double>(block * size() + thread));
    sum += static_cast<double>(block * size() + thread);
  });
  const std::vector<double>& threads = measured.results.at("accesses.thread");
  EXPECT_EQ(std::multiset<double>(threads.begin(), threads.end()), expected);
  EXPECT_EQ(measured["n"], loads());
  EXPECT_EQ(measured["lost"], 0);
  EXPECT_EQ(measured["sum"], sum);
  if (loads() != 0) {
    EXPECT_EQ(measured["mean"], sum / static_cast<double>(loads())) << "only of valid entries";
    EXPECT_EQ(measured["most"], -5) << "not the zeros after the entries";
  }
  EXPECT_THAT(measured.notes, IsEmpty());
  // Every thread reads its own four bytes; the addresses are in the trace's order.
  const std::vector<double>& addresses = measured.results.at("accesses.address");
  for (std::size_t i = 0; i < threads.size(); ++i)
    EXPECT_EQ(addresses[i] - addresses[0], 4 * (threads[i] - threads[0]));
}

TEST_P(Collections, TraceCountsDroppedEntries) {
  const Measured measured =
      run("global trace unsigned int threads[10];\n"
          "ON_INSTRUCTION: MEM_READ: GLOBAL: { append(&threads, 1 + globalThreadId()); }\n"
          "ON_REPORT: { emit(\"threads\", threads); emit(\"n\", length(threads)); emit(\"lost\", "
          "dropped(threads)); }");
  const std::uint64_t kept = std::min<std::uint64_t>(loads(), 10);
  EXPECT_EQ(measured["n"], kept);
  EXPECT_EQ(measured["lost"], loads() - kept);
  EXPECT_EQ(measured.results.at("threads.value").size(), kept);
  for (const double thread : measured.results.at("threads.value")) EXPECT_GT(thread, 0);
  if (loads() > kept) {
    ASSERT_EQ(measured.notes.size(), 1u);
    EXPECT_EQ(measured.notes[0], "'threads': " + std::to_string(loads() - kept) +
                                     " entries were dropped because the trace was full");
  } else {
    EXPECT_THAT(measured.notes, IsEmpty());
  }
}

TEST_P(Collections, TracesOfBlocksAreSeparate) {
  const Measured measured =
      run("global trace unsigned int mine[BLOCKS][50];\nglobal unsigned long after;\n"
          "ON_INSTRUCTION: MEM_READ: GLOBAL: {\n"
          "  unsigned long i = append(&mine[blockId()], blockThreadId()); if (i >= 50) after += 1; }\n"
          "ON_REPORT: { emit(\"mine\", mine); emit(\"n\", length(mine[1])); emit(\"all\", length(mine));\n"
          "  emit(\"lost\", dropped(mine[2])); emit(\"lost_all\", dropped(mine)); emit(\"after\", after);\n"
          "  emit(\"sum\", sum(mine)); }");
  const std::uint64_t of_block = loads() / blocks;
  const std::uint64_t kept = std::min<std::uint64_t>(of_block, 50);
  EXPECT_EQ(measured["n"], kept);
  EXPECT_EQ(measured["all"], blocks * kept);
  EXPECT_EQ(measured["lost"], of_block - kept);
  EXPECT_EQ(measured["lost_all"], blocks * (of_block - kept));
  EXPECT_EQ(measured["after"], measured["lost_all"]);
  const std::vector<double>& block = measured.results.at("mine.BLOCKS");
  const std::vector<double>& thread = measured.results.at("mine.value");
  ASSERT_EQ(block.size(), blocks * kept);
  double sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    EXPECT_EQ(block[i], static_cast<double>(i / kept));
    EXPECT_GT(loads_of(kernel(), static_cast<std::uint64_t>(thread[i])), 0u);
    sum += thread[i];
  }
  EXPECT_EQ(measured["sum"], sum);
}

TEST_P(Collections, HistogramHasBinsOfEqualWidth) {
  const Measured measured =
      run("global histogram threads[10] = linear(-30, 70);\n"
          "ON_INSTRUCTION: MEM_READ: GLOBAL: { record(&threads, (int)blockThreadId() - 40); }\n"
          "ON_REPORT: { emit(\"threads\", threads, \"loads\"); emit(\"below\", underflow(threads));\n"
          "  emit(\"above\", overflow(threads)); emit(\"from\", binFrom(threads, 2)); emit(\"to\", "
          "binTo(threads, 9));\n"
          "  emit(\"third\", threads[2]); emit(\"inside\", sum(threads)); }");
  std::vector<double> bins(10);
  double below = 0;
  double above = 0;
  each_load([&](auto, std::uint64_t thread) {
    const auto value = static_cast<std::int64_t>(thread) - 40;
    if (value < -30) {
      ++below;
    } else if (value >= 70) {
      ++above;
    } else {
      ++bins[static_cast<std::size_t>((value + 30) / 10)];
    }
  });
  EXPECT_EQ(measured.results.at("threads"), bins);
  EXPECT_EQ(measured["below"], below);
  EXPECT_EQ(measured["above"], above);
  EXPECT_EQ(measured["third"], bins[2]);
  EXPECT_EQ(measured["inside"], static_cast<double>(loads()) - below - above);
  EXPECT_EQ(measured["from"], -10);
  EXPECT_EQ(measured["to"], 70);
  const Emitted& emitted = measured.emitted.at("threads");
  EXPECT_THAT(emitted.bounds, ElementsAre(-30, -20, -10, 0, 10, 20, 30, 40, 50, 60, 70));
  EXPECT_THAT(emitted.underflow, ElementsAre(below));
  EXPECT_THAT(emitted.overflow, ElementsAre(above));
  EXPECT_EQ(emitted.unit, "loads");
}

TEST_P(Collections, HistogramHasBinsOfDoublingWidth) {
  const Measured measured =
      run("global histogram whole[5]; global histogram later[BLOCKS][4] = log2(3);\n"
          "ON_INSTRUCTION: MEM_READ: GLOBAL: { record(&whole, blockThreadId()); record(&later[blockId()], "
          "(unsigned "
          "char)blockThreadId(), 7); }\n"
          "ON_REPORT: { emit(\"whole\", whole); emit(\"later\", later); }");
  std::vector<double> whole(7);  // the last two: below and above
  std::vector<double> later(6);
  each_load([&](auto, std::uint64_t thread) {
    const int bin = static_cast<int>(std::bit_width(thread)) - 1;
    whole[bin < 0 ? 5 : bin >= 5 ? 6 : static_cast<std::size_t>(bin)] += 1;
    const std::uint64_t cut = thread % 256;
    const int third = static_cast<int>(std::bit_width(cut / 3)) - 1;
    later[third < 0 ? 4 : third >= 4 ? 5 : static_cast<std::size_t>(third)] += 7.0 / blocks;
  });
  const Emitted& first = measured.emitted.at("whole");
  EXPECT_EQ(measured.results.at("whole"), std::vector<double>(whole.begin(), whole.begin() + 5));
  EXPECT_THAT(first.bounds, ElementsAre(1, 2, 4, 8, 16, 32));
  EXPECT_THAT(first.underflow, ElementsAre(whole[5]));
  EXPECT_THAT(first.overflow, ElementsAre(whole[6]));
  const Emitted& second = measured.emitted.at("later");
  EXPECT_THAT(second.dimensions, ElementsAre(blocks, 4));
  EXPECT_THAT(second.bounds, ElementsAre(3, 6, 12, 24, 48));
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(measured.results.at("later")[block * 4 + i], later[i], 1e-6);
    EXPECT_NEAR(static_cast<double>(second.underflow[block]), later[4], 1e-6);
    EXPECT_NEAR(static_cast<double>(second.overflow[block]), later[5], 1e-6);
  }
}

TEST_P(Collections, MapCountsByKey) {
  const Measured measured =
      run("global map unsigned long lines[64] by unsigned long; global map int low[8] by short;\n"
          "ON_INSTRUCTION: MEM_READ: GLOBAL: { atomicAdd(&lines[blockThreadId() / 32], 1);\n"
          "  low[-(int)(blockThreadId() % 3)] += 2; atomicMin(&low[100], -(int)blockThreadId()); }\n"
          "ON_REPORT: { emit(\"lines\", lines); emit(\"n\", length(lines)); emit(\"low\", low); "
          "emit(\"one\", lines[1]);\n"
          "  emit(\"none\", lines[12345]); emit(\"zero\", lines[0]); emit(\"lost\", dropped(lines) + "
          "dropped(low));\n"
          "  emit(\"least\", low[100]); emit(\"two\", low[-2]); emitTop(\"top\", lines, 2, \"loads\");\n"
          "  unsigned long all = 0; for (unsigned long i = 0; i < length(lines); ++i) all += "
          "entryValue(lines, i) * "
          "(entryKey(lines, i) + 1); emit(\"all\", all); }");
  std::map<double, double> lines;
  std::map<double, double> low;
  double least = 0;
  double all = 0;
  each_load([&](auto, std::uint64_t thread) {
    lines[static_cast<double>(thread / 32)] += 1;
    low[-static_cast<double>(thread % 3)] += 2;
    least = std::min(least, -static_cast<double>(thread));
    all += static_cast<double>(thread / 32 + 1);
  });
  EXPECT_EQ(measured["n"], lines.size());
  EXPECT_EQ(measured["zero"], lines[0]);
  EXPECT_EQ(measured["one"], lines[1]);
  EXPECT_EQ(measured["none"], 0);
  EXPECT_EQ(measured["two"], low[-2]);
  EXPECT_EQ(measured["least"], least);
  EXPECT_EQ(measured["lost"], 0);
  EXPECT_EQ(measured["all"], all);
  const std::vector<double>& keys = measured.results.at("lines.key");
  const std::vector<double>& values = measured.results.at("lines.value");
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(values[i], lines[keys[i]]);
  EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
  const std::vector<double>& top = measured.results.at("top.value");
  EXPECT_EQ(top, std::vector<double>(
                     values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, values.size()))));
  EXPECT_EQ(measured.emitted.at("top.value").unit, "loads");
  EXPECT_EQ(measured.emitted.at("top.key").table, "top");
}

/// All lanes update the element of one key, which is a compile-time constant.
TEST_P(Collections, MapsSupportConstantKeys) {
  const Measured measured =
      run("struct point { int block; unsigned char kind; };\n"
          "global map unsigned long by_number[16] by unsigned long; global map int by_place[16] by struct "
          "point;\n"
          "global map unsigned int by_sign[16] by signed char; global unsigned long tickets;\n"
          "ON_INSTRUCTION: MEM_READ: GLOBAL: { by_number[0] += 1; by_number[0xffffffffffffffffUL] += "
          "laneId();\n"
          "  const struct point where = {-3, 200}; by_place[where] -= 2; by_sign[-1]++; by_sign[127] |= 1 << "
          "laneId();\n"
          "  tickets += by_number[7]++ >= 0; }\n"
          "ON_REPORT: { emit(\"zero\", by_number[0]); emit(\"lanes\", by_number[0xffffffffffffffffUL]); "
          "emit(\"seven\", by_number[7]);\n"
          "  struct point where = {-3, 200}; emit(\"point\", by_place[where]); emit(\"less\", by_sign[-1]); "
          "emit(\"mask\", by_sign[127]);\n"
          "  emit(\"keys\", length(by_number) + length(by_place) + length(by_sign)); emit(\"tickets\", "
          "tickets);\n"
          "  emit(\"lost\", dropped(by_number) + dropped(by_place) + dropped(by_sign)); }");
  double lanes = 0;
  std::uint32_t mask = 0;
  each_load([&](auto, std::uint64_t thread) {
    lanes += static_cast<double>(thread % 32);
    mask |= 1u << thread % 32;
  });
  const auto all = static_cast<double>(loads());
  EXPECT_EQ(measured["zero"], all);
  EXPECT_EQ(measured["lanes"], lanes);
  EXPECT_EQ(measured["seven"], all);
  EXPECT_EQ(measured["tickets"], all);
  EXPECT_EQ(measured["point"], -2 * all);
  EXPECT_EQ(measured["less"], all);
  EXPECT_EQ(measured["mask"], mask);
  EXPECT_EQ(measured["keys"], loads() == 0 ? 0 : 6);
  EXPECT_EQ(measured["lost"], 0);
}

TEST_P(Collections, MapsSupportStructuresAsKeysAndValues) {
  const Measured measured = run(
      "struct point { unsigned char tag; long wide; unsigned int block; short odd; };\n"
      "struct sums { unsigned int visits; long threads; };\n"
      "global map struct sums points[2048] by struct point;\n"
      "ON_INSTRUCTION: MEM_READ: GLOBAL: { struct point p = {200, -1L - blockThreadId() % 5, blockId(), "
      "-7};\n"
      "  atomicAdd(&points[p].visits, 1); atomicAdd(&points[p].threads, globalThreadId()); p.tag = 0; p.wide "
      "= 0; "
      "p.odd = 0; p.block = 0; points[p].visits += 1; }\n"
      "ON_REPORT: { emit(\"points\", points); emit(\"n\", length(points)); emit(\"lost\", dropped(points));\n"
      "  struct point p = {200, -2, 1, -7}; emit(\"visits\", points[p].visits); emit(\"sum\", "
      "points[p].threads);\n"
      "  if (length(points) > 0) { emit(\"top\", entryValue(points, 0).visits); emit(\"tag\", "
      "entryKey(points, "
      "0).tag); } }");
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<double, double>> places;
  each_load([&](std::uint64_t block, std::uint64_t thread) {
    places[{block, thread % 5}].first += 1;
    places[{block, thread % 5}].second += static_cast<double>(block * size() + thread);
  });
  const std::uint64_t zero_key = loads() > 0 ? 1 : 0;
  EXPECT_EQ(measured["n"], places.size() + zero_key);
  EXPECT_EQ(measured["lost"], 0);
  EXPECT_EQ(measured["visits"], (places[{1, 1}].first));
  EXPECT_EQ(measured["sum"], (places[{1, 1}].second));
  if (loads() == 0) return;
  EXPECT_EQ(measured["top"], loads()) << "the key of nothing but zeros, which all loads share";
  EXPECT_EQ(measured["tag"], loads() == 1 ? 0 : 0);
  const auto column = [&](const std::string& name) { return measured.results.at("points." + name); };
  for (std::size_t i = 1; i < column("tag").size(); ++i) {
    if (column("tag")[i] == 0) continue;
    const std::pair key{static_cast<std::uint64_t>(column("block")[i]),
                        static_cast<std::uint64_t>(-1 - column("wide")[i])};
    EXPECT_EQ(column("visits")[i], places[key].first);
    EXPECT_EQ(column("threads")[i], places[key].second);
    EXPECT_EQ(column("odd")[i], -7);
    EXPECT_EQ(column("tag")[i], 200);
  }
}

TEST_P(Collections, MapCountsDroppedUpdates) {
  const Measured measured =
      run("global map unsigned long few[4] by unsigned long;\n"
          "ON_INSTRUCTION: MEM_READ: GLOBAL: { atomicAdd(&few[globalThreadId()], 1); }\n"
          "ON_REPORT: { emit(\"few\", few); emit(\"kept\", sum(few)); emit(\"lost\", dropped(few)); }");
  EXPECT_EQ(measured["kept"] + measured["lost"], loads());
  std::set<double> keys(measured.results.at("few.key").begin(), measured.results.at("few.key").end());
  EXPECT_EQ(keys.size(), measured.results.at("few.key").size());
  std::uint64_t distinct = 0;
  std::set<std::pair<std::uint64_t, std::uint64_t>> threads;
  each_load([&](std::uint64_t block, std::uint64_t thread) { threads.insert({block, thread}); });
  distinct = threads.size();
  EXPECT_GE(keys.size(), std::min<std::uint64_t>(distinct, 8)) << "a table this small is searched completely";
  for (std::size_t i = 0; i < measured.results.at("few.key").size(); ++i) {
    const auto thread = static_cast<std::uint64_t>(measured.results.at("few.key")[i]) % size();
    EXPECT_EQ(measured.results.at("few.value")[i], loads_of(kernel(), thread))
        << "all of its updates or none";
  }
  EXPECT_EQ(measured.notes.empty(), measured["lost"] == 0);
}

TEST_P(Collections, MapsOfBlocksAreSeparate) {
  const Measured measured =
      run("global map double mine[BLOCKS][16] by unsigned int;\n"
          "ON_INSTRUCTION: MEM_READ: GLOBAL: { atomicAdd(&mine[blockId()][blockThreadId() % 4], 0.5);\n"
          "  if (mine[blockId()][99] != 0) mine[blockId()][98] = 1; }\n"
          "ON_REPORT: { emit(\"mine\", mine); emit(\"n\", length(mine[2])); emit(\"third\", mine[1][3]);\n"
          "  emit(\"never\", mine[0][98]); }");
  std::map<std::uint64_t, double> mine;
  each_load([&](std::uint64_t block, std::uint64_t thread) {
    if (block == 1) mine[thread % 4] += 0.5;
  });
  EXPECT_EQ(measured["n"], mine.size()) << "asking for a key does not make one";
  EXPECT_EQ(measured["third"], mine[3]);
  EXPECT_EQ(measured["never"], 0);
  const auto& block_column = measured.results.at("mine.BLOCKS");
  EXPECT_TRUE(std::is_sorted(block_column.begin(), block_column.end()));
}

TEST(CollectionTables, DefineHowLaunchesAreCombined) {
  const Measured measured = measure(
      "struct use { unsigned long count; unsigned int last; unsigned int first; unsigned int flag; };\n"
      "global map struct use uses[2][64] by unsigned int; global trace unsigned int seen[4];\n"
      "ON_KERNEL_EXIT: { unsigned int key = blockThreadId() & 7; atomicAdd(&uses[1][key].count, 2);\n"
      "  uses[1][key].count++; atomicMax(&uses[1][key].last, laneId()); atomicMin(&uses[1][key].first, 0u);\n"
      "  uses[1][key].flag |= 1; append(&seen, key); }\n"
      "ON_REPORT: { emit(\"uses\", uses); emitTop(\"top\", uses, 3); emit(\"seen\", seen); }",
      {{1, 1, 1}, {32, 1, 1}});
  ASSERT_EQ(measured.failure, "");
  const auto folding = [&](const std::string& name) { return measured.emitted.at(name).folding; };
  EXPECT_EQ(folding("uses.key"), Folding::key);
  EXPECT_EQ(folding("uses.count"), Folding::sum);
  EXPECT_EQ(folding("uses.last"), Folding::greatest);
  EXPECT_EQ(folding("uses.first"), Folding::least);
  EXPECT_EQ(folding("uses.flag"), Folding::same);
  EXPECT_EQ(measured.emitted.at("uses.key").left_out, 0u);
  EXPECT_EQ(measured.emitted.at("top.key").left_out, 5u) << "8 keys";
  EXPECT_EQ(folding("seen.value"), Folding::by_name);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Collections,
                         testing::Combine(testing::ValuesIn(block_sizes),
                                          testing::Values("straight", "divergent", "early")));

TEST(CollectionDeclarations, AreRejectedWithAHint) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"global tracer int a[4];", "did you mean 'trace'"},
      {"global trace a[4];", "a trace needs a type"},
      {"global trace int a;", "must be a constant"},
      {"global trace int a[THREADS];", "must be a constant"},
      {"global trace int a[4] by int;", "only a map has keys"},
      {"global trace int a[4] = log2();", "only a histogram has bins"},
      {"global histogram int a[4];", "its bins are unsigned long"},
      {"global histogram a[64];", "exceeds 2^62"},
      {"global histogram a[10] = linear(0, 64);", "write 'linear(0, 70)'"},
      {"global histogram a[10] = linear(5, 5);", "the lower bound of the first bin"},
      {"global histogram a[10] = linear(x, 5);", "unknown name 'x'"},
      {"global histogram a[10] = cubic(5);", "'cubic' is not a binning function"},
      {"global histogram a[10] = log2(0);", "at least 1"},
      {"global map int a[4];", "needs a key type"},
      {"global map int a[4] by double;", "must consist of integers"},
      {"struct s { double d; }; global map int a[4] by struct s;", "must consist of integers"},
      {"global map int a[4] of int;", "expected ';', '[', '=' or 'by'"},
      {"global a[4];", "has no type"},
      {"global int a[4] by int;", "only a map has keys"},
      {"shared trace int a[4];", "only an array can be 'shared'"},
      {"struct s { int x[3]; }; global trace struct s a[4];", "contain numbers, not arrays"},
  };
  for (const auto& [declaration, message] : mistakes)
    EXPECT_THAT(errors_of(std::string(declaration) + "\nON_KERNEL_EXIT: { }"), HasSubstr(message))
        << declaration;
}

TEST(CollectionUses, AreRejectedWithAHint) {
  const std::string declarations =
      "struct two { int a; long b; }; global trace struct two t[8]; global trace int u[BLOCKS][8];\n"
      "global histogram h[8]; global map long m[8] by struct two; global map long n[8] by int; global int "
      "g[8];\n";
  const std::pair<const char*, const char*> mistakes[] = {
      {"ON_KERNEL_EXIT: { append(&t, 1); }", "expected 2, have 1"},
      {"ON_KERNEL_EXIT: { struct { int a[2]; long b; } wrong; append(&t, wrong); }",
       "is an array, but a number is needed"},
      {"ON_KERNEL_EXIT: { struct { int a[2]; long b; } wrong; m[wrong] += 1; }", "has a different key type"},
      {"ON_KERNEL_EXIT: { append(t, 1, 2); }", "needs the address of a trace"},
      {"ON_KERNEL_EXIT: { append(&g, 1); }", "append() needs the address of a trace"},
      {"ON_KERNEL_EXIT: { append(&nothing, 1); }", "unknown name 'nothing'"},
      {"ON_KERNEL_EXIT: { append(&u, 1); }", "write 'u[index]'"},
      {"ON_KERNEL_EXIT: { record(&t, 1); }", "needs the address of a histogram"},
      {"ON_KERNEL_EXIT: { record(&h, 1.5); }", "requires an integer value"},
      {"ON_KERNEL_EXIT: { h[1] += 1; }", "write 'record(&h, value)'"},
      {"ON_KERNEL_EXIT: { atomicAdd(&m[3], 1); }", "has a different key type"},
      {"ON_KERNEL_EXIT: { n[1.5] += 1; }", "the key requires an integer value"},
      {"ON_KERNEL_EXIT: { g[0] = length(t); }", "is not available in ON_KERNEL_EXIT"},
      {"ON_REPORT: { append(&t, 1, 2); }", "is not available in ON_REPORT"},
      {"ON_REPORT: { n[3] = 1; }", "are read-only in a report"},
      {"ON_REPORT: { emit(\"x\", length(h)); }", "needs a trace or a map"},
      {"ON_REPORT: { emit(\"x\", underflow(t)); }", "needs a histogram"},
      {"ON_REPORT: { emit(\"x\", binFrom(t, 0)); }", "needs a histogram"},
      {"ON_REPORT: { emit(\"x\", entryKey(m, 0)); }", "append '.field' to access a field"},
      {"ON_REPORT: { emit(\"x\", entryKey(m, 0).c); }", "has no field 'c'"},
      {"ON_REPORT: { emit(\"x\", entryKey(t, 0)); }", "needs a map"},
      {"ON_REPORT: { emitTop(\"x\", t, 3); }", "emitTop() needs a map"},
      {"ON_REPORT: { emitTop(\"x\", m, 3, 4); }", "unit of a result must be a non-empty string"},
  };
  for (const auto& [code, message] : mistakes)
    EXPECT_THAT(errors_of(declarations + code), HasSubstr(message)) << code;
}

TEST(CollectionUses, WordsOfTheirDeclarationsAreNotReserved) {
  EXPECT_EQ(
      errors_of(
          "global unsigned int histogram[8]; global int trace; global long map[4]; int by; int linear;\n"
          "ON_KERNEL_EXIT: { trace = by + linear; histogram[0] += 1; map[1] = 2; }"),
      "");
}

TEST(CollectionReport, WithoutAReportEverythingIsAResult) {
  const Measured measured = measure(
      "global trace int t[4]; global histogram h[3] = linear(0, 3); global map int m[4] by int; global int "
      "g;\n"
      "ON_KERNEL_EXIT: { append(&t, 5); record(&h, 1); m[7] += 3; g = 1; }",
      {{1, 1, 1}, {1, 1, 1}});
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured.results.size(), 5u);
  EXPECT_EQ(measured["t.value"], 5);
  EXPECT_THAT(measured.results.at("h"), ElementsAre(0, 1, 0));
  EXPECT_EQ(measured["m.key"], 7);
  EXPECT_EQ(measured["m.value"], 3);
  EXPECT_EQ(measured["g"], 1);
}

TEST(CollectionReport, InvalidIndicesAreReported) {
  const Measured measured = measure(
      "global map int m[4] by int; global histogram h[3];\nON_KERNEL_EXIT: { m[7] += 3; }\n"
      "ON_REPORT: { emit(\"x\", entryValue(m, 5)); emit(\"y\", binFrom(h, 3)); }",
      {{1, 1, 1}, {1, 1, 1}});
  EXPECT_THAT(measured.failure, HasSubstr("index is out of range"));
  EXPECT_EQ(measured["x"], 0);
}

}  // namespace
}  // namespace lynxpp::cod
