#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "models/cache/band.h"
#include "models/cache/cache.h"
#include "models/cache/reuse.h"

namespace lynxpp::models::cache {
namespace {

/// The same cache as a list, most recently used line first.
class NaiveCache {
 public:
  explicit NaiveCache(const CacheTiming& figures) : figures_(figures) {}

  bool access(std::uint64_t address, bool writes) {
    const std::uint64_t line = address / figures_.line * figures_.line;
    const std::uint64_t sector = address / figures_.sector * figures_.sector;
    auto& set = sets_[line / figures_.line % (figures_.bytes / figures_.line / figures_.ways)];
    auto found = std::find_if(set.begin(), set.end(), [&](const Line& each) { return each.address == line; });
    if (found == set.end()) {
      set.push_front({line, {}, {}});
      if (set.size() > figures_.ways) {
        written_back.insert(written_back.end(), set.back().written.begin(), set.back().written.end());
        set.pop_back();
      }
    } else {
      set.splice(set.begin(), set, found);
    }
    if (writes) set.front().written.insert(sector);
    return !set.front().present.insert(sector).second;
  }

  std::vector<std::uint64_t> written_back;  ///< addresses of sectors

 private:
  struct Line {
    std::uint64_t address;
    std::set<std::uint64_t> present, written;
  };
  CacheTiming figures_;
  std::map<std::uint64_t, std::list<Line>> sets_;
};

/// Addresses that repeat occasionally.
std::vector<std::uint64_t> random_trace(unsigned seed, std::size_t accesses, std::uint64_t bytes) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> trace;
  for (std::size_t i = 0; i < accesses; ++i) {
    const bool comes_back = !trace.empty() && random() % 3 == 0;
    trace.push_back(comes_back ? trace[trace.size() - 1 - random() % std::min<std::size_t>(trace.size(), 64)]
                               : random() % bytes / 4 * 4);
  }
  return trace;
}

constexpr CacheTiming shapes[] = {
    {.bytes = 4096, .line = 128, .sector = 32, .ways = 4},   // 8 sets
    {.bytes = 1536, .line = 128, .sector = 128, .ways = 2},  // 6 sets
    {.bytes = 1024, .line = 32, .sector = 32, .ways = 32},   // fully associative
    {.bytes = 512, .line = 64, .sector = 32, .ways = 1},     // direct mapped
};

TEST(Cache, MatchesAListOfLines) {
  for (const CacheTiming& shape : shapes) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      Cache cache(shape);
      NaiveCache naive(shape);
      std::mt19937_64 random(seed + 100);
      std::vector<std::uint64_t> written_back;
      std::size_t hits = 0;
      for (const std::uint64_t address : random_trace(seed, 5000, 16384)) {
        const bool writes = random() % 4 == 0;
        const Cache::Outcome outcome = cache.access(address, writes);
        ASSERT_EQ(outcome.hit, naive.access(address, writes));
        hits += outcome.hit ? 1 : 0;
        for (std::uint32_t i = 0; i < 32; ++i) {
          if ((outcome.written_back >> i & 1) != 0) written_back.push_back(outcome.victim + i * shape.sector);
        }
      }
      EXPECT_EQ(written_back, naive.written_back);
      EXPECT_GT(hits, 100u);
      EXPECT_GT(written_back.size(), 100u);
    }
  }
}

TEST(Cache, ClearedCacheIsEmpty) {
  Cache cache(shapes[0]);
  cache.access(0, true);
  EXPECT_TRUE(cache.access(0, false).hit);
  cache.clear();
  EXPECT_FALSE(cache.access(0, false).hit);
}

/// Reference: searches backwards.
std::optional<std::uint64_t> distance_at(const std::vector<std::uint64_t>& lines, std::size_t at) {
  std::set<std::uint64_t> between;
  for (std::size_t i = at; i-- > 0;) {
    if (lines[i] == lines[at]) return between.size();
    between.insert(lines[i]);
  }
  return std::nullopt;
}

TEST(ReuseDistance, MatchesBackwardSearch) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint64_t> lines;
    ReuseDistances distances;
    for (std::size_t i = 0; i < 1500; ++i) {
      lines.push_back(random() % (seed < 5 ? 20 : 400));
      ASSERT_EQ(distances.access(lines.back()), distance_at(lines, i)) << "access " << i << ", seed " << seed;
    }
    EXPECT_EQ(distances.lines(), std::set(lines.begin(), lines.end()).size());
  }
}

TEST(ReuseDistance, LoopHasItsLength) {
  ReuseDistances distances;
  for (std::uint64_t i = 0; i < 7; ++i) EXPECT_EQ(distances.access(i), std::nullopt);
  for (std::uint64_t i = 0; i < 70; ++i) EXPECT_EQ(distances.access(i % 7), 6u);
}

// With unsectored lines, a set hits if the distance within it is below its ways, for any number of ways at
// once.
TEST(SampledReuse, PredictsHitsForEveryAssociativity) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const std::vector<std::uint64_t> trace = random_trace(seed, 20000, 1 << 16);
    SampledReuse reuse({.bytes = 16 * 128 * 8, .line = 128, .sector = 128, .ways = 8}, 1);
    for (const std::uint64_t address : trace) reuse.access(address);
    EXPECT_EQ(reuse.sampled_sets(), 16u);
    EXPECT_EQ(reuse.counts().accesses(), trace.size());
    for (const std::uint32_t ways : {1u, 2u, 4u, 8u, 16u}) {
      Cache cache({.bytes = 16 * 128 * ways, .line = 128, .sector = 128, .ways = ways});
      const auto hits = static_cast<std::uint64_t>(std::ranges::count_if(
          trace, [&](std::uint64_t address) { return cache.access(address, false).hit; }));
      EXPECT_EQ(reuse.counts().hits(ways), hits) << ways << " ways";
    }
  }
}

// A store always hits, and occupies a line like any other access.
TEST(SampledReuse, StoresHitWithAnyNumberOfWays) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const std::vector<std::uint64_t> trace = random_trace(seed, 21000, 1 << 16);
    const auto is_store = [](std::size_t i) { return i % 3 == 1; };
    SampledReuse reuse({.bytes = 16 * 128 * 8, .line = 128, .sector = 32, .ways = 8}, 1);
    std::set<std::uint64_t> sectors;
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < trace.size(); ++i) {
      reuse.access(trace[i], is_store(i));
      if (sectors.insert(trace[i] / 32).second && !is_store(i)) ++first;
    }
    EXPECT_EQ(reuse.counts().accesses(), trace.size());
    EXPECT_EQ(reuse.counts().stores, trace.size() / 3);
    EXPECT_EQ(reuse.counts().first_sectors, first);
    for (const std::uint32_t ways : {1u, 4u, 8u, 16u}) {
      NaiveCache cache({.bytes = 16 * 128 * ways, .line = 128, .sector = 128, .ways = ways});
      std::uint64_t hits = 0;
      for (std::size_t i = 0; i < trace.size(); ++i) {
        const bool was_there = cache.access(trace[i], is_store(i));
        hits += was_there || is_store(i) ? 1 : 0;
      }
      EXPECT_EQ(reuse.counts().hits(ways), hits) << ways << " ways";
    }
  }
}

TEST(SampledReuse, IsExactForTheSampledSets) {
  const CacheTiming figures{.bytes = 256 * 128 * 4, .line = 128, .sector = 128, .ways = 4};
  SampledReuse sampled(figures, 8);
  EXPECT_GT(sampled.sampled_sets(), 256u / 8 / 2);
  EXPECT_LT(sampled.sampled_sets(), 256u / 8 * 2);
  const std::vector<std::uint64_t> trace = random_trace(3, 50000, 1 << 20);
  for (const std::uint64_t address : trace) sampled.access(address);
  // The sampled sets: those in which a single access is recorded.
  std::uint64_t hits = 0;
  std::uint64_t accesses = 0;
  Cache cache(figures);
  for (std::uint64_t set = 0; set < 256; ++set) {
    SampledReuse probe(figures, 8);
    probe.access(set * 128);
    if (probe.counts().accesses() == 0) continue;
    for (const std::uint64_t address : trace) {
      if (address / 128 % 256 != set) continue;
      ++accesses;
      hits += cache.access(address, false).hit ? 1 : 0;
    }
  }
  EXPECT_EQ(sampled.counts().accesses(), accesses);
  EXPECT_EQ(sampled.counts().hits(4), hits);
  const auto looked_at = [&](std::uint64_t address) {
    SampledReuse probe(figures, 8);
    probe.access(address);
    return probe.counts().accesses() != 0;
  };
  CacheTiming of_sectors = figures;
  of_sectors.sector = 32;
  SampledReuse sectored(of_sectors, 8);
  for (const std::uint64_t address : trace) sectored.access(address);
  std::set<std::uint64_t> lines, sectors;
  for (const std::uint64_t address : trace) {
    if (!looked_at(address / 128 % 256 * 128)) continue;
    lines.insert(address / 128);
    sectors.insert(address / 32);
  }
  EXPECT_EQ(sampled.counts().first, lines.size());
  EXPECT_EQ(sampled.counts().first_sectors, lines.size());
  EXPECT_EQ(sectored.counts().first, lines.size());
  EXPECT_EQ(sectored.counts().first_sectors, sectors.size());
  sampled.clear();
  EXPECT_EQ(sampled.counts().accesses(), 0u);
}

TEST(CacheBand, IsBetweenAllHitsAndAllMisses) {
  const CacheBand band = cache_band({.accesses = 1000, .hits = 600, .first = 100}, {.hit = 1, .miss = 5});
  EXPECT_DOUBLE_EQ(band.all_hits, 1000);
  EXPECT_DOUBLE_EQ(band.all_misses, 5000);
  EXPECT_DOUBLE_EQ(band.as_it_is, 600 + 400 * 5);
  EXPECT_DOUBLE_EQ(band.position, 0.4);
  EXPECT_DOUBLE_EQ(band.reachable, 900 + 100 * 5);
  EXPECT_DOUBLE_EQ(band.saved_by_locality, 1200);
  EXPECT_DOUBLE_EQ(position_of(3000, band), 0.5);
  EXPECT_EQ(cache_band({}, {.hit = 1, .miss = 5}).position, 0);
  EXPECT_EQ(cache_band({10, 5, 1}, {.hit = 2, .miss = 2}).position, 0) << "no band";
}

// An H200's parameters: 96 channels of 16 bytes per cycle at 3201 MHz, 96 slices of one sector per cycle.
TEST(CacheBand, CostsFollowFromTheMachine) {
  const Machine machine = *find_machine("compute_9_0");
  const SectorCosts l2 = l2_costs(machine);
  EXPECT_DOUBLE_EQ(l2.hit, 1 / (1980e6 * 96));
  EXPECT_DOUBLE_EQ(l2.miss, 2 / (3201e6 * 96));
  const SectorCosts l1 = l1_costs(machine);
  EXPECT_DOUBLE_EQ(l1.hit, 1 / (1980e6 * 132));
  EXPECT_DOUBLE_EQ(l1.miss, l2.hit);
}

TEST(WastedBytes, AreBytesThatNoLaneRequested) {
  // 32 lanes read 4 bytes each, 128 bytes apart.
  const Wasted apart = wasted_bytes({.bytes_asked = 128, .sectors = 32, .lines = 32});
  EXPECT_EQ(apart.by_lines, 32u * 124);
  EXPECT_EQ(apart.by_sectors, 32u * 28);
  const Wasted together = wasted_bytes({.bytes_asked = 128, .sectors = 4, .lines = 1});
  EXPECT_EQ(together.by_lines + together.by_sectors, 0u);
  // All lanes read the same 4 bytes.
  const Wasted same = wasted_bytes({.bytes_asked = 4096, .sectors = 4, .lines = 1});
  EXPECT_EQ(same.by_lines + same.by_sectors, 0u);
}

}  // namespace
}  // namespace lynxpp::models::cache
