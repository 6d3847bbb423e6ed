// Statistics of counters that stay in device memory equal those of all counters, copied.
#include <gtest/gtest.h>

#include <random>
#include <span>

#include "interposer/results/kept_words.h"
#include "tests/session/host_counters.h"

namespace lynxpp::interposer {
namespace {

/// Stretches of pages: unused, with equal counts, with strides, random.
std::vector<std::uint32_t> random_counters(std::mt19937& random, std::size_t pages) {
  std::vector<std::uint32_t> counters(pages * CounterPage::counters);
  for (std::size_t at = 0; at < counters.size();) {
    const std::size_t end =
        std::min<std::size_t>(counters.size(), at + 1 + random() % (3 * CounterPage::counters));
    const std::uint32_t kind = random() % 4, stride = 1 + random() % 40, value = 1 + random() % 5;
    for (; at < end; ++at) {
      const bool is_used = kind == 1 || (kind == 2 && at % stride == 0) || (kind == 3 && random() % 2 != 0);
      if (is_used) counters[at] = kind == 3 ? random() >> random() % 32 : value;
    }
  }
  return counters;
}

cod::WordRuns::Runs random_runs(std::mt19937& random, std::uint64_t words) {
  cod::WordRuns::Runs runs;
  for (std::uint64_t at = random() % words; at < words; at += 1 + random() % (words / 8)) {
    const std::uint64_t length = 1 + random() % (random() % 2 != 0 ? 3 : words / 8);
    const std::uint64_t end = std::min(words, at + length);
    runs.push_back({at, end - at, 1 + random() % 9});
    at = end;
  }
  return runs;
}

TEST(KeptWords, HaveTheStatisticsOfAllCounters) {
  std::mt19937 random(11);
  constexpr std::size_t pages = 40;
  for (int round = 0; round < 200; ++round) {
    const std::vector<std::uint32_t> counters = random_counters(random, pages);
    const cod::WordRuns::Runs runs =
        round % 3 == 0 ? cod::WordRuns::Runs() : random_runs(random, counters.size());
    std::vector<std::uint32_t> all = counters;
    for (const cod::ElementRun& run : runs) {
      for (std::uint64_t i = run.first; i < run.first + run.elements; ++i)
        all[i] = static_cast<std::uint32_t>(std::min<std::uint64_t>(all[i] + run.value, 0xffffffff));
    }
    HostCounters memory(counters);
    const std::vector<CounterPage> summaries = *memory.pages();
    const KeptWords kept(memory, 0, summaries, std::make_shared<cod::WordRuns>(runs));
    // Sectors begin at multiples of 8 words, as allocations do.
    const std::uint64_t first = random() % all.size() / 8 * 8, words = 1 + random() % (all.size() - first);
    for (const cod::MemoryArray& array : {cod::MemoryArray{"whole", 0, all.size()}, {"part", first, words}}) {
      const cod::WordElements elements{reinterpret_cast<const std::byte*>(all.data()), all.size(), 4};
      const cod::WordStatistics expected = word_statistics(elements, array);
      EXPECT_EQ(kept.statistics(array), expected) << round << ' ' << array.name;
      EXPECT_EQ(kept.has_counts(array.first, array.words), expected.accesses != 0);
    }
    std::vector<std::uint32_t> filled(all.size());
    kept.fill(std::as_writable_bytes(std::span(filled)), 4);
    EXPECT_EQ(filled, all);
    EXPECT_EQ(kept.problem(), "");
  }
}

TEST(KeptWords, CopyOnlyPagesThatABoundaryCuts) {
  constexpr std::size_t pages = 640;
  HostCounters memory(std::vector<std::uint32_t>(pages * CounterPage::counters, 1));
  const std::vector<CounterPage> summaries = *memory.pages();
  const KeptWords kept(memory, 0, summaries, std::make_shared<cod::WordRuns>(cod::WordRuns::Runs()));
  EXPECT_EQ(kept.statistics({"aligned", 0, pages * CounterPage::counters}).once,
            pages * CounterPage::counters);
  EXPECT_EQ(memory.copied, 0u);
  EXPECT_EQ(kept.statistics({"cut", 8, (pages - 1) * CounterPage::counters}).accesses,
            (pages - 1) * CounterPage::counters);
  EXPECT_LE(memory.copied, 66 * CounterPage::counters * 4);
}

TEST(KeptWords, UnusedPagesAreNotCopied) {
  HostCounters memory(std::vector<std::uint32_t>(4 * CounterPage::counters));
  const std::vector<CounterPage> summaries = *memory.pages();
  const KeptWords kept(memory, 0, summaries,
                       std::make_shared<cod::WordRuns>(cod::WordRuns::Runs{{10, 20000, 2}}));
  EXPECT_EQ(kept.statistics({"a", 3, 20000}).accesses, 2u * 19993);
  EXPECT_EQ(kept.counted(0, 4 * CounterPage::counters), 0u);
  EXPECT_EQ(memory.copied, 0u);
}

TEST(KeptWords, SayThatACopyFailed) {
  HostCounters memory(std::vector<std::uint32_t>(4 * CounterPage::counters, 5));
  const std::vector<CounterPage> summaries = *memory.pages();
  memory.fails = true;
  const KeptWords kept(memory, 0, summaries, std::make_shared<cod::WordRuns>(cod::WordRuns::Runs()));
  static_cast<void>(kept.statistics({"a", 3, 100}));
  EXPECT_EQ(kept.problem(), "the context is gone");
}

}  // namespace
}  // namespace lynxpp::interposer
