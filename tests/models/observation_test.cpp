// CuMAPz on observed accesses, counted by hand. tests/end_to_end/observed_test.py compares it with
// descriptions.
#include "models/cumapz/observation.h"

#include <gtest/gtest.h>

#include "models/cumapz/terms.h"
#include "tests/models/observation.h"

namespace lynxpp::models::cumapz {
namespace {

using By = ObservationBuilder::By;

const Machine& old_machine() {
  static const Machine machine = *find_machine("compute_1_3");
  return machine;
}
const Machine& new_machine() {
  static const Machine machine = *find_machine("compute_9_0");
  return machine;
}

ObservedTotals analysed(const ObservationBuilder& builder, const Machine& machine = new_machine()) {
  Result<ObservedTotals> totals = totals_of(builder.observation, machine, 0);
  EXPECT_TRUE(totals);
  return totals ? *totals : ObservedTotals{};
}

/// A fetch of 32 elements, each found by `reads` reads.
ObservationBuilder fetching(std::uint32_t blocks, int reads) {
  ObservationBuilder builder(blocks, 32);
  const std::uint32_t load = builder.site("ld.global.f32"),
                      store = builder.site("st.shared.f32", AccessKind::write),
                      read = builder.site("ld.shared.f32");
  builder.observation.sites[store].fetched_by = load;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    builder.access(load, {block}, 0x10000 + 128 * block, 4).arithmetic = 3;
    builder.access(store, {block}, 0, 4).arithmetic = 2;
    for (int i = 0; i < reads; ++i) builder.access(read, {block}, 0, 4).arithmetic = 1;
  }
  return builder;
}

TEST(Observation, FetchedDataAreFound) {
  const ObservedTotals found = analysed(fetching(4, 3));
  const Terms terms = terms_of(found.totals, new_machine());
  EXPECT_EQ(terms.data_reuse, 3);
  EXPECT_EQ(terms.hits, 4 * 3 * 32);
  EXPECT_EQ(terms.accesses, 4 * 3 * 32);
  EXPECT_EQ(terms.global_accesses, 4 * 32);
  EXPECT_EQ(terms.bandwidth_use, 1);
  EXPECT_EQ(terms.shared_efficiency, 1);
  ASSERT_EQ(found.totals.references.size(), 2u);
  EXPECT_EQ(found.totals.references[0].kind, Statement::Kind::fetch);
  EXPECT_EQ(found.totals.references[0].shared.requests, 4);
}

/// Arrays are listed in allocation order, regardless of their addresses.
TEST(Observation, AccessesBelongToTheirArrayInAnyListOrder) {
  ObservationBuilder builder(1, 32);
  const std::uint32_t load = builder.site("ld.global.f32");
  builder.observation.arrays = {{"tile", 0, 512, true},
                                {"third", 0x30000, 4096, false},
                                {"first", 0x10000, 4096, false},
                                {"second", 0x20000, 256, false}};
  builder.access(load, {0}, 0x10000, 4);
  builder.access(load, {0}, 0x20080, 4);
  builder.access(load, {0}, 0x30000, 4);
  builder.access(load, {0}, 0x30200, 4);
  builder.access(load, {0}, 0x20100, 4);  // past the end
  const ObservedTotals found = analysed(builder);
  std::vector<std::int64_t> sectors;
  for (const Footprint& each : found.totals.read) sectors.push_back(each.sectors);
  EXPECT_EQ(sectors, (std::vector<std::int64_t>{0, 8, 4, 4, 4}));
}

TEST(Observation, ArithmeticIsASeparateTerm) {
  const ObservedTotals found = analysed(fetching(4, 3));
  EXPECT_EQ(found.arithmetic.instructions, 4 * (3 + 2 + 3));
  EXPECT_EQ(found.arithmetic.accesses, 4);
  EXPECT_EQ(found.arithmetic.per_access, 8);
  EXPECT_EQ(found.arithmetic.of_resident_warps, 8 * found.totals.occupancy.blocks);
}

TEST(Observation, DataThatWasNotLoadedIsNotFetched) {
  ObservationBuilder builder(1, 32);
  const std::uint32_t load = builder.site("ld.global.f32"),
                      store = builder.site("st.shared.f32", AccessKind::write),
                      read = builder.site("ld.shared.f32");
  builder.observation.sites[store].fetched_by = load;
  builder.access(load, {0, 0, 0xffff}, 0x10000, 4);
  builder.access(store, {}, 0, 4);  // the upper half pads with zeros
  builder.access(read, {}, 0, 4);
  EXPECT_EQ(terms_of(analysed(builder).totals, new_machine()).hits, 16);
  builder.access(store, {}, 0, 4);  // all lanes do
  builder.access(read, {}, 0, 4);
  EXPECT_EQ(terms_of(analysed(builder).totals, new_machine()).hits, 16);
}

TEST(Observation, SharedDataWithoutAFetchIsNotReuse) {
  ObservationBuilder builder(1, 32);
  const std::uint32_t store = builder.site("st.shared.f32", AccessKind::write),
                      read = builder.site("ld.shared.f32");
  builder.access(store, {}, 0, 4);
  builder.access(read, {}, 0, 128);
  const Terms terms = terms_of(analysed(builder).totals, new_machine());
  EXPECT_EQ(terms.accesses, 0);
  EXPECT_EQ(terms.data_reuse, 1);
  EXPECT_EQ(terms.shared_efficiency, 2.0 / 33);  // 1 + 32 turns, of 32 lanes at one bank
}

TEST(Observation, WarpDivergesIfItsLanesReadBothMemories) {
  ObservationBuilder builder(1, 32);
  const std::uint32_t load = builder.site("ld.global.f32"),
                      store = builder.site("st.shared.f32", AccessKind::write),
                      found = builder.site("ld.shared.f32"), missed = builder.site("ld.global.f32");
  builder.observation.sites[store].fetched_by = load;
  builder.observation.sites[missed].reference = found;
  builder.access(load, {}, 0x10000, 4);
  builder.access(store, {}, 0, 4);
  for (int round = 0; round < 3; ++round) {
    builder.access(missed, {0, 0, 0x1}, 0x20000, 4);
    builder.access(found, {0, 0, 0xfffffffe}, 0, 4);
  }
  builder.access(found, {}, 0, 4);
  const ObservedTotals totals = analysed(builder);
  ASSERT_EQ(totals.totals.references.size(), 2u);
  EXPECT_EQ(totals.totals.references[1].warps, 4);
  EXPECT_EQ(totals.totals.references[1].diverged, 3);
  EXPECT_EQ(terms_of(totals.totals, new_machine()).branch_efficiency, 4.0 / 7);
  EXPECT_EQ(totals.partial, 6);
}

TEST(Observation, BothSidesOfACopyCount) {
  ObservationBuilder builder(1, 32);
  const std::uint32_t copy = builder.site("cp.async.ca.shared.global"), read = builder.site("ld.shared.f32");
  builder.observation.sites[copy].fetched_by = copy;
  builder.access(copy, {}, 0x10000, 4).is_shared = false;
  WarpAccess& to = builder.access(copy, {}, 0, 4);
  to.writes = true;
  builder.access(read, {}, 0, 4);
  const ObservedTotals totals = analysed(builder);
  EXPECT_EQ(totals.totals.references[0].kind, Statement::Kind::fetch);
  EXPECT_EQ(terms_of(totals.totals, new_machine()).data_reuse, 1);
  EXPECT_EQ(terms_of(totals.totals, new_machine()).hits, 32);
}

TEST(Observation, WarpsAreServedInTheMachinesGroups) {
  ObservationBuilder builder(1, 32);
  builder.access(builder.site("ld.global.f32"), {}, 0x10000, 128);
  // lanes 128 bytes apart: a transaction of 32 bytes for each
  EXPECT_EQ(analysed(builder, old_machine()).totals.references[0].global.transferred_bytes, 32 * 32);
  EXPECT_EQ(analysed(builder, old_machine()).totals.references[0].global.requested_bytes, 128);
}

TEST(Observation, OnlyCompleteBlocksCount) {
  ObservationBuilder builder = fetching(4, 3);
  builder.observation.blocks = {1, 3};
  const ObservedTotals totals = analysed(builder);
  EXPECT_EQ(totals.totals.blocks_run, 2);
  EXPECT_EQ(terms_of(totals.totals, new_machine()).global_accesses, 2 * 32);
}

TEST(Observation, SkewNeedsTheFirstBlocks) {
  // All blocks begin in one of 8 channels.
  ObservationBuilder builder(64, 32);
  const std::uint32_t load = builder.site("ld.global.f32");
  for (std::uint64_t block = 0; block < 64; ++block) builder.access(load, {block}, 2048 * block, 4);
  EXPECT_TRUE(analysed(builder, old_machine()).has_first_blocks);
  EXPECT_EQ(terms_of(analysed(builder, old_machine()).totals, old_machine()).channel_skew, 8);
  EXPECT_EQ(analysed(builder, old_machine()).totals.blocks_checked, 16);
  builder.observation.first_blocks = 15;
  EXPECT_FALSE(analysed(builder, old_machine()).has_first_blocks);
  EXPECT_EQ(terms_of(analysed(builder, old_machine()).totals, old_machine()).channel_skew, 1);
}

TEST(Observation, BlocksThatDoNotFitAreReported) {
  const ObservationBuilder builder(1, 1024);
  const Result<ObservedTotals> totals = totals_of(builder.observation, old_machine(), 0);
  ASSERT_FALSE(totals);
  EXPECT_EQ(totals.error().diagnostics[0].message, "a block does not fit on a multiprocessor of compute_1_3");
}

TEST(Observation, AnalysisIsLinearInWarps) {
  for (const Machine* machine : {&old_machine(), &new_machine()}) {
    const auto per_block = [&](std::uint32_t blocks) {
      const std::uint64_t all = analysed(fetching(blocks, 5), *machine).steps;
      return all - (machine == &old_machine() ? 16 * 32 : 0);  // equation 4: a constant number of blocks
    };
    EXPECT_EQ(per_block(64), 2 * per_block(32));
    EXPECT_EQ(per_block(128), 2 * per_block(64));
  }
}

}  // namespace
}  // namespace lynxpp::models::cumapz
