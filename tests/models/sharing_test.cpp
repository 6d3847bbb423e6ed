// Visitors of words and sectors, compared with sets; each rule just above and just below its threshold.
#include "models/sharing/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "models/sharing/findings.h"
#include "tests/models/observation.h"

namespace lynxpp::models::sharing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using By = ObservationBuilder::By;

constexpr std::uint64_t base = 0x10000;

ObservationBuilder with_array(std::uint32_t blocks, std::uint32_t threads, std::uint64_t bytes = 1 << 20) {
  ObservationBuilder builder(blocks, threads);
  builder.observation.arrays = {{"data", base, bytes, false}};
  return builder;
}

std::vector<std::string> rules_of(const Observation& observation) {
  std::vector<std::string> names;
  for (const Finding& each : findings_of(sharing_of(observation), observation)) names.emplace_back(each.rule);
  return names;
}

TEST(Sharing, CountsDistinctVisitors) {
  ObservationBuilder builder = with_array(8, 96);
  const std::uint32_t site = builder.site("ld.global.f32");
  std::uint64_t random = 1;
  for (int i = 0; i < 400; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const By by{random >> 60 & 7, static_cast<std::uint32_t>(random >> 40 & 0xff) % 3,
                static_cast<std::uint32_t>(random >> 8) | 1};
    builder.access(site, by, base + (random >> 50) % 64 * 4, (random >> 33) % 3 * 4);
  }
  std::set<std::pair<std::uint64_t, std::uint64_t>> words, sectors, words_of_blocks, sectors_of_blocks;
  std::set<std::uint64_t> visited_words, visited_sectors;
  for (const WarpAccess& access : builder.observation.accesses) {
    for (const std::uint64_t address : builder.observation.addresses_of(access)) {
      const std::uint64_t warp = access.block * 3 + access.warp;
      visited_words.insert(address / 4), visited_sectors.insert(address / 32);
      words.emplace(address / 4, warp), sectors.emplace(address / 32, warp);
      words_of_blocks.emplace(address / 4, access.block),
          sectors_of_blocks.emplace(address / 32, access.block);
    }
  }
  const Sharing sharing = sharing_of(builder.observation);
  ASSERT_EQ(sharing.arrays.size(), 1u);
  const ArraySharing& array = sharing.arrays[0];
  EXPECT_EQ(array.words.count, visited_words.size());
  EXPECT_EQ(array.words.warps, words.size());
  EXPECT_EQ(array.words.blocks, words_of_blocks.size());
  EXPECT_EQ(array.sectors.count, visited_sectors.size());
  EXPECT_EQ(array.sectors.warps, sectors.size());
  EXPECT_EQ(array.sectors.blocks, sectors_of_blocks.size());
  EXPECT_LE(array.words.most_warps, 24u);
  EXPECT_EQ(array.heat_warps[0], array.words.most_warps);
}

TEST(Sharing, LanesOfOneAccessAreOneVisit) {
  ObservationBuilder builder = with_array(1, 32);
  const std::uint32_t site = builder.site("ld.global.f32");
  builder.access(site, {}, base, 0);
  builder.access(site, {}, base, 0);
  const ArraySharing array = sharing_of(builder.observation).arrays[0];
  EXPECT_EQ(array.words.visits, 2u);
  EXPECT_EQ(array.words.warps, 1u);
}

TEST(Sharing, WideAccessesVisitAllTheirWords) {
  ObservationBuilder builder = with_array(1, 32);
  builder.access(builder.site("ld.global.v4.f32"), {0, 0, 1, 16}, base + 24, 0);
  const ArraySharing array = sharing_of(builder.observation).arrays[0];
  EXPECT_EQ(array.words.count, 4u);
  EXPECT_EQ(array.sectors.count, 2u);
}

TEST(Sharing, AccessesOutsideArraysAreCounted) {
  ObservationBuilder builder = with_array(1, 32, 64);
  builder.access(builder.site("ld.global.f32"), {}, base, 4);
  EXPECT_EQ(sharing_of(builder.observation).elsewhere, 16u);
}

TEST(Sharing, StepsAreLinearInWarps) {
  const auto steps = [](std::uint32_t blocks) {
    ObservationBuilder builder = with_array(blocks, 32);
    const std::uint32_t site = builder.site("ld.global.f32");
    for (std::uint64_t block = 0; block < blocks; ++block)
      builder.access(site, {block}, base + 128 * block, 4);
    return sharing_of(builder.observation).steps;
  };
  EXPECT_EQ(steps(128), 2 * steps(64));
}

// ---- rules

TEST(SharingFindings, ReportHotWords) {
  const auto with_visits = [](int visits) {
    ObservationBuilder builder = with_array(1, 32);
    const std::uint32_t hot = builder.site("atom.global.add.u32", AccessKind::atomic);
    const std::uint32_t all = builder.site("st.global.u32", AccessKind::write);
    for (int i = 0; i < visits; ++i) builder.access(hot, {0, 0, 1}, base, 4);
    builder.access(all, {}, base, 4);
    return builder;
  };
  EXPECT_THAT(rules_of(with_visits(31).observation), ElementsAre("hot_words"));
  EXPECT_THAT(rules_of(with_visits(30).observation), IsEmpty());
}

TEST(SharingFindings, ReportUnusedWordsAndStride) {
  const auto with_stride = [](std::uint64_t stride) {
    ObservationBuilder builder = with_array(1, 32);
    builder.access(builder.site("ld.global.f32"), {}, base, stride);
    return builder;
  };
  EXPECT_THAT(rules_of(with_stride(8).observation), ElementsAre("unused_words", "strided"));
  EXPECT_THAT(rules_of(with_stride(4).observation), IsEmpty());
  ObservationBuilder builder = with_stride(4);
  builder.access(0, {0, 0, 0x3}, base, 8);  // one of three executions leaves gaps
  builder.access(0, {}, base, 4);
  EXPECT_THAT(rules_of(builder.observation), IsEmpty());
}

TEST(SharingFindings, ReportSharedSectors) {
  const auto with_step = [](std::uint64_t bytes) {
    ObservationBuilder builder = with_array(2, 32);
    const std::uint32_t site = builder.site("ld.global.f32");
    for (std::uint64_t block = 0; block < 2; ++block) builder.access(site, {block}, base + bytes * block, 4);
    return builder;
  };
  EXPECT_THAT(rules_of(with_step(32).observation), ElementsAre("shared_sectors"));  // 3 of 5
  EXPECT_THAT(rules_of(with_step(64).observation), IsEmpty());                      // 2 of 6
}

TEST(SharingFindings, ReportMisalignment) {
  const auto from = [](std::uint64_t offset, int aligned) {
    ObservationBuilder builder = with_array(1, 32);
    const std::uint32_t site = builder.site("ld.global.f32");
    builder.access(site, {}, base + offset, 4);
    for (int i = 0; i < aligned; ++i) builder.access(site, {}, base + 256 + 128 * i, 4);
    return builder;
  };
  EXPECT_THAT(rules_of(from(4, 0).observation), ElementsAre("misaligned"));
  EXPECT_THAT(rules_of(from(4, 1).observation), ElementsAre("misaligned"));
  EXPECT_THAT(rules_of(from(4, 2).observation), IsEmpty());
  EXPECT_THAT(rules_of(from(32, 0).observation), IsEmpty());
  const ObservationBuilder builder = from(4, 0);
  const std::vector<Finding> findings = findings_of(sharing_of(builder.observation), builder.observation);
  EXPECT_EQ(findings[0].location, "kernel.cu:10");
  EXPECT_EQ(findings[0].array, "data");
}

TEST(SharingFindings, ReportRepeatedReads) {
  const auto times = [](int count, AccessKind kind) {
    ObservationBuilder builder = with_array(1, 32);
    const std::uint32_t site = builder.site("ld.global.f32", kind);
    for (int i = 0; i < count; ++i) builder.access(site, {}, base, 4);
    return builder;
  };
  EXPECT_THAT(rules_of(times(4, AccessKind::read).observation), ElementsAre("read_again"));
  EXPECT_THAT(rules_of(times(3, AccessKind::read).observation), IsEmpty());
  EXPECT_THAT(rules_of(times(9, AccessKind::write).observation), IsEmpty());
}

TEST(SharingFindings, SharedMemoryHasNoSectors) {
  ObservationBuilder builder = with_array(2, 32);
  builder.observation.arrays = {{"tile", 0, 4096, true}};
  const std::uint32_t site = builder.site("ld.shared.f32");
  for (std::uint64_t block = 0; block < 2; ++block) {
    for (int i = 0; i < 9; ++i) builder.access(site, {block}, 4, 8);
  }
  EXPECT_THAT(rules_of(builder.observation), IsEmpty());
}

}  // namespace
}  // namespace lynxpp::models::sharing
