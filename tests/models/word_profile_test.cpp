// Rule-based findings, the knapsack compared with every subset, and advice on staging in shared memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "models/word_profile/findings.h"
#include "models/word_profile/knapsack.h"
#include "models/word_profile/staging.h"

namespace lynxpp::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Space = ArrayProfile::Space;

/// An array as described by emitWords() if its words have these counts.
ArrayProfile array_of(std::string name, Space space, const std::vector<std::uint64_t>& counts) {
  ArrayProfile array;
  array.name = std::move(name);
  array.space = space;
  array.words = counts.size();
  array.distribution.resize(32);
  array.least = counts.empty() ? 0 : std::ranges::min(counts);
  for (const std::uint64_t count : counts) {
    array.accesses += count;
    array.greatest = std::max(array.greatest, count);
    array.never += count == 0 ? 1 : 0;
    array.once += count == 1 ? 1 : 0;
    if (count != 0) ++array.distribution[std::bit_width(count) - 1];
  }
  return array;
}

ArrayProfile even(std::string name, Space space, std::size_t words, std::uint64_t count) {
  return array_of(std::move(name), space, std::vector<std::uint64_t>(words, count));
}

// ---------------------------------------------------------------- knapsack

struct Filled {
  std::uint64_t value = 0, weight = 0;
};

Filled sum_of(const std::vector<KnapsackItem>& items, std::uint32_t subset) {
  Filled sum;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if ((subset >> i & 1) == 0) continue;
    sum.value += items[i].value;
    sum.weight += items[i].weight;
  }
  return sum;
}

/// Returns the most valuable subset that fits; among equals the lightest.
Filled best_of_all(const std::vector<KnapsackItem>& items, std::uint64_t capacity) {
  Filled best;
  for (std::uint32_t subset = 0; subset < 1u << items.size(); ++subset) {
    const Filled sum = sum_of(items, subset);
    if (sum.weight > capacity) continue;
    if (sum.value > best.value || (sum.value == best.value && sum.weight < best.weight)) best = sum;
  }
  return best;
}

TEST(Knapsack, MatchesTheBestOfAllSubsets) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t unit = round % 3 == 0 ? 4 : 1;
    std::vector<KnapsackItem> items(random() % 11);
    for (KnapsackItem& item : items) item = {random() % 20 * unit, random() % 15};
    const std::uint64_t capacity = random() % 100 * unit;
    std::uint32_t taken = 0;
    for (const std::size_t i : fill_knapsack(items, capacity)) {
      ASSERT_NE(items[i].value, 0u);
      ASSERT_EQ(taken >> i, 0u) << "ascending";
      taken |= 1u << i;
    }
    const Filled found = sum_of(items, taken), best = best_of_all(items, capacity);
    ASSERT_LE(found.weight, capacity) << round;
    ASSERT_EQ(found.value, best.value) << round;
    ASSERT_EQ(found.weight, best.weight) << round;
  }
}

TEST(Knapsack, BeatsGreedySelection) {
  const std::vector<KnapsackItem> items{{60, 70}, {50, 50}, {50, 50}};
  EXPECT_THAT(fill_knapsack(items, 100), ElementsAre(1, 2));
  EXPECT_THAT(fill_knapsack(items, 59), ElementsAre(1));
  EXPECT_THAT(fill_knapsack(items, 49), ElementsAre());
  EXPECT_THAT(fill_knapsack({}, 10), ElementsAre());
}

// ---------------------------------------------------------------- rules

std::vector<std::string> rules_for(const ArrayProfile& array) {
  LaunchProfile launch;
  launch.arrays = {array};
  std::vector<std::string> names;
  for (const Finding& each : findings_of(launch)) names.push_back(each.rule);
  return names;
}

std::string sentence_of(const LaunchProfile& launch, const std::string& rule) {
  for (const Finding& each : findings_of(launch)) {
    if (each.rule == rule) return each.array + ": " + each.sentence;
  }
  return "";
}

std::string sentence_of(const ArrayProfile& array, const std::string& rule) {
  LaunchProfile launch;
  launch.arrays = {array};
  return sentence_of(launch, rule);
}

TEST(Findings, ReportArraysThatAreNeverAccessed) {
  EXPECT_EQ(sentence_of(even("a", Space::device, 1000, 0), "never accessed"),
            "a: none of its 1,000 words was accessed");
  EXPECT_THAT(rules_for(even("a", Space::shared, 10, 0)), ElementsAre("never accessed"));
}

TEST(Findings, ReportPartsThatAreNeverAccessed) {
  EXPECT_EQ(sentence_of(array_of("a", Space::device, {0, 2, 2, 2}), "partly accessed"),
            "a: 1 of 4 words were never accessed");
  EXPECT_EQ(sentence_of(array_of("a", Space::device, {0, 2, 2, 2, 2}), "partly accessed"), "");
}

TEST(Findings, ReportWordsAccessedOnce) {
  EXPECT_THAT(rules_for(even("a", Space::device, 4, 1)), ElementsAre("accessed once"));
  EXPECT_THAT(rules_for(array_of("a", Space::device, {1, 1, 1, 2})), ElementsAre());
  EXPECT_THAT(rules_for(even("a", Space::shared, 4, 1)), ElementsAre());
}

TEST(Findings, ReportReusedWords) {
  EXPECT_EQ(sentence_of(array_of("a", Space::device, {1, 2, 6, 3}), "reused"),
            "a: 3 of 4 words were accessed more than once, 3 times on average");
  EXPECT_EQ(sentence_of(array_of("a", Space::device, {1, 1, 6}), "reused"), "");
}

TEST(Findings, ReportHotWords) {
  std::vector<std::uint64_t> counts(99, 10);
  counts.push_back(1010);
  EXPECT_EQ(sentence_of(array_of("a", Space::shared, counts), "hot words"),
            "a: its hottest word has 1,010 accesses, 50.5 times the mean of 20");
  counts.back() = 250;  // below the threshold
  EXPECT_EQ(sentence_of(array_of("a", Space::shared, counts), "hot words"), "");
  EXPECT_EQ(sentence_of(even("a", Space::shared, 100, 1010), "hot words"), "");
}

TEST(Findings, ReportTheLayoutOfWords) {
  ArrayProfile array = array_of("a", Space::device, {0, 3, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0});
  EXPECT_THAT(rules_for(array), ElementsAre("partly accessed", "reused"));
  array.layout = {2, 2, 4, 1};
  EXPECT_EQ(sentence_of(array, "strided use"), "a: only words 1, 5, … were accessed: at most one of every 4");
  EXPECT_EQ(sentence_of(array, "few words of sectors"),
            "a: of the 8 words of a sector 1.50 were accessed on average, in 2 sectors");
  EXPECT_EQ(sentence_of(array, "misaligned rows"), "");
  array.layout = {3, 2, 1, 1};
  EXPECT_EQ(sentence_of(array, "strided use"), "");
  EXPECT_EQ(sentence_of(array, "misaligned rows"),
            "a: its accessed words touch 3 sectors where 2 could hold them: rows start inside a sector");
}

TEST(Findings, ReportSeveralArraysAtTheCountLimit) {
  LaunchProfile launch;
  launch.arrays = {even("a", Space::device, 4, 255), even("b", Space::device, 4, 255),
                   even("c", Space::device, 4, 9), even("d", Space::shared, 4, 255)};
  EXPECT_EQ(sentence_of(launch, "several at the limit"), "");
  launch.count_limit = 255;
  EXPECT_THAT(sentence_of(launch, "several at the limit"),
              HasSubstr("a: its counts stop at 255, as do those of 1 other array:"));
  launch.arrays[1] = even("b", Space::device, 4, 254);
  EXPECT_EQ(sentence_of(launch, "several at the limit"), "");
}

// ---------------------------------------------------------------- staging

/// A multiprocessor of 64 warps and 64 KiB; blocks of 128 threads.
LaunchProfile launch_with(std::vector<ArrayProfile> arrays, std::uint32_t shared_bytes) {
  LaunchProfile launch;
  launch.blocks = 4;
  launch.threads = 128;
  launch.arrays = std::move(arrays);
  launch.knows_shared = launch.knows_device = true;
  LaunchProfile::Resources resources;
  resources.machine.residency = {2048, 32, 64, 1024};
  resources.machine.registers = {65536, 4, 256, false, 1};
  resources.machine.shared.bytes = 64 << 10;
  resources.needs = {128, 0, shared_bytes};
  resources.most_shared_bytes = 32 << 10;
  launch.resources = resources;
  return launch;
}

std::vector<std::string> advised(const StagingAdvice& advice) {
  std::vector<std::string> texts;
  for (const Placement& each : advice.placements)
    texts.push_back(each.array + " " + std::string(name_of(each.advised)));
  return texts;
}

TEST(Staging, LeastUsedArrayGivesWay) {
  // 16 blocks of 4 KiB; 3.5 KiB are used, 1 KiB is requested.
  const StagingAdvice advice = staging_advice(
      launch_with({even("hot", Space::shared, 768, 4000), even("cool", Space::shared, 128, 40),
                   even("means", Space::device, 128, 9000), even("widths", Space::device, 128, 8000),
                   even("points", Space::device, 5000, 1)},
                  3584));
  EXPECT_THAT(advised(advice),
              ElementsAre("hot keep", "cool give way", "means stage", "widths stage", "points leave"));
  EXPECT_EQ(advice.capacity, 4096u);
  EXPECT_EQ(advice.bytes_now, 3584u);
  EXPECT_EQ(advice.bytes_then, 4096u);
  EXPECT_EQ(advice.now->blocks, 16u);
  EXPECT_EQ(advice.then->blocks, 16u);
  EXPECT_EQ(advice.placements[2].saved, 128u * (9000 - 4));
  EXPECT_FALSE(advice.placements[2].is_part);
  EXPECT_EQ(
      advice.summary,
      "Worth staging in shared memory: means, widths. Gives way: cool. A thread block would have 4,096 "
      "bytes of shared memory instead of 3,584, and a multiprocessor hold 16 blocks (64 of 64 warps) as "
      "now");
}

TEST(Staging, ArraysArePartitionedIfBlocksDoNotUseAllOfThem) {
  std::vector<std::uint64_t> counts(4000, 500);
  counts[3999] = 2;  // fewer than the number of blocks
  const StagingAdvice advice = staging_advice(launch_with({array_of("levels", Space::device, counts)}, 0));
  EXPECT_THAT(advised(advice), ElementsAre("levels stage"));
  EXPECT_TRUE(advice.placements[0].is_part);
  EXPECT_EQ(advice.placements[0].bytes, 4000u);
  EXPECT_EQ(advice.placements[0].saved, 3999u * 500 + 2 - 4000);
  EXPECT_THAT(advice.placements[0].reason, HasSubstr("divided among thread blocks, 4,000 bytes in each"));
  EXPECT_THAT(advice.placements[0].reason, HasSubstr("Assumed"));
}

TEST(Staging, OnlyAWordWithFewerAccessesThanBlocksProvesAPartition) {
  const auto is_divided = [](std::vector<std::uint64_t> counts, std::uint64_t blocks) {
    counts.resize(1000, 400);
    LaunchProfile launch = launch_with({array_of("x", Space::device, counts)}, 0);
    launch.blocks = blocks;
    return staging_advice(launch).placements[0].is_part;
  };
  EXPECT_TRUE(is_divided({299}, 300));
  EXPECT_FALSE(is_divided({300}, 300));
  EXPECT_TRUE(is_divided({1}, 2));
  // If some words were never accessed, the minimum of the others is known only by its bin: 256 to 511.
  EXPECT_FALSE(is_divided({0, 299}, 300));
  EXPECT_TRUE(is_divided({0, 255}, 300));
}

TEST(Staging, OneAccessPerBlockIsNotReuse) {
  LaunchProfile launch = launch_with({even("x", Space::device, 1000, 300)}, 0);
  launch.blocks = 300;
  const StagingAdvice advice = staging_advice(launch);
  EXPECT_THAT(advised(advice), ElementsAre("x leave"));
  EXPECT_EQ(advice.placements[0].reason, "300 accesses of a word, no more than one in each thread block");
}

TEST(Staging, LackOfRoomReportsItsCost) {
  const StagingAdvice advice = staging_advice(
      launch_with({even("tile", Space::shared, 1000, 9000), even("wide", Space::device, 1500, 5000)}, 4000));
  EXPECT_THAT(advised(advice), ElementsAre("tile keep", "wide no room"));
  EXPECT_THAT(advice.placements[1].reason,
              HasSubstr("no room for it with 16 blocks on a multiprocessor; with it, the number would be 6"));
  EXPECT_FALSE(advice.is_well_used);
}

TEST(Staging, WellUsedSharedMemoryIsReported) {
  const StagingAdvice advice = staging_advice(
      launch_with({even("tile", Space::shared, 256, 12), even("in", Space::device, 5000, 1)}, 1024));
  EXPECT_THAT(advised(advice), ElementsAre("tile keep", "in leave"));
  EXPECT_TRUE(advice.is_well_used);
  EXPECT_THAT(advice.summary, HasSubstr("Shared memory is well used if its words hold one value each"));
  EXPECT_THAT(advice.placements[0].reason, HasSubstr("well used: 12 accesses of a word, 3 in each"));
}

/// GMProf's Jacobi (section 7.3): five tiles pass through the same words, so that each has many accesses.
TEST(Staging, LiveRangesShowWordsWithoutReuse) {
  LaunchProfile launch = launch_with({even("tile", Space::shared, 256, 40)}, 1024);
  EXPECT_THAT(advised(staging_advice(launch)), ElementsAre("tile keep"));
  launch.arrays[0].live = LiveRanges{256 * 20, 256 * 40, 0};  // stored once, read once
  const StagingAdvice once = staging_advice(launch);
  EXPECT_THAT(advised(once), ElementsAre("tile drop"));
  EXPECT_THAT(
      once.placements[0].reason,
      HasSubstr("2 while it holds one value from device memory: its values are stored and used once"));
  launch.arrays[0].live = LiveRanges{256 * 10, 256 * 40, 256 * 10};  // read three times
  const StagingAdvice reused = staging_advice(launch);
  EXPECT_THAT(advised(reused), ElementsAre("tile keep"));
  EXPECT_EQ(reused.summary, "Shared memory is well used");
}

/// Only some words are reused, or hold values from device memory.
TEST(Staging, AnArrayIsKeptForTheWordsThatAreReused) {
  LaunchProfile launch = launch_with({even("tile", Space::shared, 256, 40)}, 1024);
  launch.arrays[0].live = LiveRanges{256 * 20, 256 * 40, 20};
  EXPECT_THAT(advised(staging_advice(launch)), ElementsAre("tile keep"));
  launch.arrays[0].live = LiveRanges{128 * 20, 128 * 40, 0};
  EXPECT_THAT(advised(staging_advice(launch)), ElementsAre("tile keep"));
}

/// GMProf's section 7.3: the input that is reused in device memory is the better tile.
TEST(Staging, TheArrayThatIsReusedInsteadIsNamed) {
  LaunchProfile launch =
      launch_with({even("out_tile", Space::shared, 256, 40), even("in", Space::device, 5000, 4),
                   even("out", Space::device, 5000, 1)},
                  1024);
  EXPECT_THAT(staging_advice(launch).summary, Not(HasSubstr("Reused in device memory")));
  launch.arrays[0].live = LiveRanges{256 * 20, 256 * 40, 0};
  EXPECT_THAT(staging_advice(launch).summary, HasSubstr("Reused in device memory: in, 4 accesses of a word"));
  launch.arrays[1] = even("in", Space::device, 5000, 2);
  EXPECT_THAT(staging_advice(launch).summary, Not(HasSubstr("Reused in device memory")));
}

TEST(Staging, DataUsedOnceIsNotWorthStaging) {
  const StagingAdvice advice = staging_advice(
      launch_with({even("tile", Space::shared, 256, 8), even("spare", Space::shared, 16, 0)}, 1088));
  EXPECT_THAT(advised(advice), ElementsAre("tile drop", "spare drop"));
  EXPECT_THAT(advice.summary, HasSubstr("Not worth staging: tile, spare. A thread block would have 0 bytes"));
}

TEST(Staging, OccupancyIsUnknownWithoutLimits) {
  LaunchProfile launch = launch_with({even("a", Space::device, 100, 900)}, 0);
  launch.resources.reset();
  const StagingAdvice advice = staging_advice(launch);
  EXPECT_THAT(advised(advice), ElementsAre("a stage"));
  EXPECT_EQ(advice.capacity, 48u << 10);
  EXPECT_FALSE(advice.now);
  EXPECT_THAT(advice.summary, HasSubstr("the launch's occupancy is not known"));
  EXPECT_EQ(staging_advice(LaunchProfile{}).summary,
            "There is no shared memory, and no array would benefit from it");
}

}  // namespace
}  // namespace lynxpp::models
