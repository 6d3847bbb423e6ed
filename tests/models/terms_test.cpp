// Terms beyond the paper's equations, calculated by hand, and the order of thread blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/cumapz/block_order.h"
#include "support/text.h"
#include "tests/models/analyse.h"

namespace lynxpp::models::cumapz {
namespace {

const std::string one_read = "grid (64); block (64); array a of 4; read a[blockIdx.x * 64 + threadIdx.x];";

TEST(Arithmetic, HidesAtMostTheEntireLatency) {
  EXPECT_EQ(analyse(one_read).terms.arithmetic_hiding, 1);
  // 75 instructions of 4 cycles each hide 300 of 600 cycles of the warp's one request.
  EXPECT_DOUBLE_EQ(analyse(one_read + "arithmetic 75;").terms.arithmetic_hiding, std::sqrt(1.5));
  EXPECT_DOUBLE_EQ(analyse(one_read + "arithmetic 75;").terms.estimate,
                   std::sqrt(1.5) * analyse(one_read).terms.estimate);
  EXPECT_DOUBLE_EQ(analyse(one_read + "arithmetic 1000;").terms.arithmetic_hiding, std::sqrt(2));
  EXPECT_DOUBLE_EQ(analyse(one_read + "arithmetic 75;", {}, machine_of_today()).terms.arithmetic_hiding,
                   std::sqrt(1.125))
      << "one cycle each";
  EXPECT_EQ(analyse("block (64); arithmetic 75;").terms.arithmetic_hiding, 1) << "there is nothing to hide";
}

TEST(Arithmetic, CountsTheBusiestLane) {
  const Analysed found =
      analyse(one_read + "for (i = 0; i < 3; i += 1) if (threadIdx.x < 40) arithmetic threadIdx.x;");
  EXPECT_EQ(found.totals.arithmetic, 64 * 3 * (31 + 39));
  EXPECT_EQ(found.totals.references[0].global.requests, 64 * 2);
  EXPECT_EQ(analyse("grid (4); block (32); arithmetic blockIdx.x;").totals.arithmetic, 0 + 1 + 2 + 3);
  EXPECT_EQ(failure_of("block (32);\narithmetic 1000001;"), "2:1 these are more than a million instructions");
}

TEST(Textures, LinesStayCachedForABlock) {
  // 64 elements of 4 bytes are 8 lines of 32; the second read hits.
  const Analysed found = analyse(
      "grid (8); block (64); texture t of 4;"
      "read t[blockIdx.x * 64 + threadIdx.x]; read t[blockIdx.x * 64 + threadIdx.x];");
  EXPECT_EQ(found.totals.references[0].cached.moved_bytes, 8 * 256);
  EXPECT_EQ(found.totals.references[1].cached.moved_bytes, 0);
  EXPECT_EQ(found.terms.texture_reuse, 2);
  EXPECT_EQ(found.terms.bandwidth_use, 1) << "textures are not coalesced";
  EXPECT_EQ(found.terms.channel_skew, 1);
  EXPECT_EQ(found.terms.estimate, 2 * found.terms.latency_hiding);
  EXPECT_EQ(found.terms.global_accesses, 8 * 128);
}

TEST(Textures, LinesAreEvictedFromSmallCaches) {
  // Eight blocks share 8 KB: 32 lines each. Cycling through 64 lines leaves no hits for the second round.
  const std::string walk =
      "block (16); texture t of 4; for (r = 0; r < 2; r += 1) for (i = 0; i < n; i += 1)"
      "  read t[i * 8];";
  EXPECT_EQ(analyse("const n = 64;" + walk).terms.texture_reuse, 4 / 32.0);
  EXPECT_EQ(analyse("const n = 32;" + walk).terms.texture_reuse, 2 * 4 / 32.0);
}

TEST(Textures, MayBeFetched) {
  const Analysed found = analyse(
      "block (64); texture t of 4; shared s[64] of 4;"
      "fetch s[threadIdx.x] = t[threadIdx.x]; read t[63 - threadIdx.x];");
  EXPECT_EQ(found.terms.hits, 64);
  EXPECT_EQ(found.terms.data_reuse, 1);
  EXPECT_EQ(found.terms.texture_reuse, 1);
}

TEST(Constants, AreServedOneElementAtATime) {
  const auto efficiency = [](const std::string& index, const Machine& machine) {
    return analyse("block (32); constant c of 4; read c[" + index + "];", {}, machine).terms;
  };
  EXPECT_EQ(efficiency("blockIdx.x", paper_machine()).constant_efficiency, 1);
  EXPECT_EQ(efficiency("threadIdx.x / 8", paper_machine()).constant_efficiency, 1 / 2.0) << "of half a warp";
  EXPECT_EQ(efficiency("threadIdx.x / 8", machine_of_today()).constant_efficiency, 1 / 4.0);
  const Terms terms = efficiency("threadIdx.x", machine_of_today());
  EXPECT_EQ(terms.constant_efficiency, 1 / 32.0);
  EXPECT_DOUBLE_EQ(terms.estimate, std::sqrt(1 / 32.0) * terms.latency_hiding);
  EXPECT_EQ(terms.bandwidth_use, 1);
}

// Section 5.1's mapping: with one buffer per reference, each reads its own.
TEST(Buffers, ThreadFindsItsOwnFetch) {
  const Analysed found = analyse(
      "block (16); array a of 4; shared s[256] of 4;"
      "fetch s[threadIdx.x] = a[threadIdx.x];"
      "fetch s[16 * threadIdx.x] = a[threadIdx.x + 1];"  // element 0 of s now holds a[1]
      "read a[threadIdx.x + 1]; read a[threadIdx.x];");
  EXPECT_EQ(found.totals.references[2].shared.served, 16) << "each its own, all in one bank";
  EXPECT_EQ(found.totals.references[2].hits, 16);
  EXPECT_EQ(found.totals.references[3].hits, 15) << "a[0] has been replaced";
  EXPECT_EQ(found.totals.references[3].shared.served, 1) << "1 to 15 are in adjacent banks";
}

TEST(Buffers, SecondCopySurvivesReplacementOfTheFirst) {
  const Analysed found = analyse(
      "block (16); array a of 4; shared s[16] of 4; shared t[16] of 4;"
      "fetch s[threadIdx.x] = a[threadIdx.x]; fetch t[threadIdx.x] = a[threadIdx.x];"
      "fetch t[threadIdx.x] = a[threadIdx.x + 16]; read a[threadIdx.x];");
  EXPECT_EQ(found.terms.hits, 16);
}

TEST(Divergence, CountsOnlyReferencesThatMayMiss) {
  const std::string text =
      "block (64); array a of 4; shared s[48] of 4;"
      "if (threadIdx.x < 48) fetch s[threadIdx.x] = a[threadIdx.x]; read a[threadIdx.x];";
  EXPECT_DOUBLE_EQ(analyse(text).terms.branch_efficiency, 2 / 3.0);
  EXPECT_DOUBLE_EQ(analyse(text + "read s[threadIdx.x % 48]; read s[0];").terms.branch_efficiency, 2 / 3.0)
      << "an access by name always hits";
}

TEST(Channels, BusiestIsComparedWithTheLeastBusyAndWithAllChannels) {
  const auto skew = [](std::vector<std::int64_t> blocks) {
    return skew_of({std::move(blocks), 64}, paper_machine());
  };
  ASSERT_EQ(paper_machine().global.channels, 8u);
  EXPECT_EQ(skew({4, 4, 4, 4, 4, 4, 4, 4}), 1);
  EXPECT_EQ(skew({4, 6, 6, 2, 4, 4, 4, 4}), 3) << "neither the first nor the last";
  EXPECT_EQ(skew({0, 6, 0, 2, 4, 0, 0, 0}), 3) << "over the used channels";
  EXPECT_EQ(skew({0, 6, 0, 5, 0, 0, 0, 0}), 4) << "two of eight";
  EXPECT_EQ(skew({0, 0, 0, 0, 0, 0, 0, 0}), 1);
}

// ---- the order of thread blocks

const std::string by_rows =
    "block (16); array a of 4; read a[(blockIdx.y * 64 + blockIdx.x) * 16 + threadIdx.x];";

TEST(Order, ChangesOnlyTheChannelTerms) {
  const std::string column =
      "grid (64, 64); block (16); array a of 4; read a[blockIdx.x * 1024 + blockIdx.y * 16];";
  const Analysed launched = analyse(column);
  const Analysed diagonal = analyse("order ((blockIdx.x + blockIdx.y) % gridDim.x, blockIdx.x);" + column);
  EXPECT_EQ(launched.terms.channel_skew, 8) << "addresses 4 KB apart are in one channel";
  EXPECT_LT(diagonal.terms.channel_skew, launched.terms.channel_skew);
  EXPECT_EQ(diagonal.totals.blocks_run, launched.totals.blocks_run) << "the other totals cover all blocks";
  EXPECT_EQ(diagonal.terms.bandwidth_use, launched.terms.bandwidth_use);
}

TEST(Order, DiagonalVariantMatchesThePaper) {
  const auto blocks = [](const std::string& text, bool is_diagonal) {
    const Result<Description> description = parse_description(text + "block (1);", "d");
    EXPECT_TRUE(description);
    Variant variant = variants_of(*description, {})->front();
    variant.is_diagonal = is_diagonal;
    return BlockOrder(*description, variant).blocks(0, variant.blocks());
  };
  EXPECT_EQ(blocks("grid (7, 7);", true),
            blocks("grid (7, 7); order ((blockIdx.x + blockIdx.y) % gridDim.x, blockIdx.x);", false));
  // Every block is also present on a grid that is not square.
  std::set<std::pair<std::int64_t, std::int64_t>> all;
  const std::array<Column, 3> oblong = blocks("grid (5, 3);", true);
  for (std::size_t i = 0; i < 15; ++i) all.emplace(oblong[0][i], oblong[1][i]);
  EXPECT_EQ(all.size(), 15u);
}

TEST(Order, MustBeAPermutationOfAllBlocks) {
  EXPECT_EQ(failure_of("grid (64, 64);\norder (blockIdx.y, blockIdx.x);" + by_rows), "");
  EXPECT_EQ(failure_of("grid (64, 64);\norder (blockIdx.x / 2, blockIdx.y);" + by_rows),
            "2:8 block (1, 0, 0) becomes (0, 0, 0), as does another block");
  EXPECT_EQ(failure_of("grid (64, 64);\norder (blockIdx.x + 1, blockIdx.y);" + by_rows),
            "2:8 block (63, 0, 0) becomes (64, 0, 0), which the grid does not have");
  EXPECT_EQ(failure_of("grid (65535, 1024);\norder (blockIdx.x);" + by_rows),
            "2:8 the order of 67107840 thread blocks takes too long to check");
}

}  // namespace
}  // namespace lynxpp::models::cumapz
