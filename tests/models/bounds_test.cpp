// Time that a kernel occupies each resource, calculated by hand.
#include "models/cumapz/bounds.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/cumapz/exploration.h"
#include "tests/models/analyse.h"

namespace lynxpp::models::cumapz {
namespace {

// 132 multiprocessors with 4 schedulers, 96 channels of 16 bytes per cycle at 3201 MHz, core at 1980 MHz,
// latency 700 cycles.
const Machine& machine = machine_of_today();
constexpr double clocks = 1980.0 / 3201;

Bounds bounds(const std::string& text, const Machine& of = machine) {
  return bounds_of(analyse(text, {}, of).totals, of);
}

TEST(Bounds, AreExactForACopy) {
  const std::string copy =
      "grid (4096); block (64); array a of 4; array b of 4;"
      "let i = blockIdx.x * 64 + threadIdx.x; read a[i]; write b[i];";
  const Analysed found = analyse(copy, {}, machine);
  EXPECT_EQ(found.totals.blocks_run, 1) << "the extent of the array is still known";
  const Bounds of = bounds(copy);
  // Two warps of each block read one line of four sectors each, and write the same amount.
  EXPECT_DOUBLE_EQ(of.of(Resource::l1), 4096 * 2 * 2 / 132.0);
  EXPECT_DOUBLE_EQ(of.of(Resource::l2), 4096 * 2 * 2 * 4 / 96.0);
  EXPECT_DOUBLE_EQ(of.of(Resource::memory), 2 * 4096 * 256 / (96 * 16.0) * clocks);
  EXPECT_DOUBLE_EQ(of.of(Resource::issue), 4096 * 2 * 2 / (4 * 132.0));
  EXPECT_DOUBLE_EQ(of.of(Resource::latency), 700) << "all blocks are resident";
  EXPECT_EQ(of.slowest(), Resource::memory);
  double squares = 0;
  for (const double each : of.busy) squares += each * each;
  EXPECT_DOUBLE_EQ(of.cycles(), std::sqrt(squares));
}

TEST(Bounds, CacheLoadsASectorOncePerBlock) {
  const std::string once = "grid (64); block (32); array a of 4; read a[blockIdx.x * 32 + threadIdx.x];";
  const std::string twice = once + "read a[blockIdx.x * 32 + threadIdx.x];";
  EXPECT_DOUBLE_EQ(bounds(twice).of(Resource::l1), 2 * bounds(once).of(Resource::l1));
  EXPECT_DOUBLE_EQ(bounds(twice).of(Resource::l2), bounds(once).of(Resource::l2));
  EXPECT_DOUBLE_EQ(bounds(twice).of(Resource::latency), bounds(once).of(Resource::latency));
  // A round of 2048 sectors exceeds a block's share of the cache: two blocks with 57,344 bytes of shared
  // memory each leave 118,784 bytes, 1856 sectors per block.
  const std::string large =
      "block (1024); array a of 4; shared s[14336] of 4;"
      "for (round = 0; round < 2; round += 1) for (k = 0; k < 16; k += 1) read a[k * 1024 + threadIdx.x];";
  EXPECT_DOUBLE_EQ(bounds(large).of(Resource::l2), 2 * 16 * 128 / 96.0);
}

TEST(Bounds, MemoryLoadsSharedDataOnce) {
  const Bounds shared = bounds("grid (64); block (32); array a of 4; read a[threadIdx.x];");
  EXPECT_DOUBLE_EQ(shared.of(Resource::l2), 64 * 4 / 96.0);
  EXPECT_DOUBLE_EQ(shared.of(Resource::memory), 128 / (96 * 16.0) * clocks);
  // Every fourth sector of a large array.
  const Bounds sparse =
      bounds("grid (64); block (32); array a of 4; read a[(blockIdx.x * 32 + threadIdx.x) * 32];");
  EXPECT_DOUBLE_EQ(sparse.of(Resource::memory), 64 * 32 * 32 / (96 * 16.0) * clocks);
}

TEST(Bounds, CountPartialSectorsAndConflicts) {
  Machine other = machine;
  other.timing->l2->partial = 3;
  const std::string columns = "grid (64); block (32); array a of 4; write a[threadIdx.x * 64 + blockIdx.x];";
  EXPECT_DOUBLE_EQ(bounds(columns).of(Resource::l2), 2 * 64 * 32 / 96.0);
  EXPECT_DOUBLE_EQ(bounds(columns, other).of(Resource::l2), 3 * 64 * 32 / 96.0);
  EXPECT_DOUBLE_EQ(bounds(columns).of(Resource::l1), 32)
      << "a line for each lane; 64 multiprocessors are used";
  const std::string rows = "grid (64); block (32); array a of 4; write a[blockIdx.x * 32 + threadIdx.x];";
  EXPECT_DOUBLE_EQ(bounds(rows, other).of(Resource::l2), bounds(rows).of(Resource::l2));
  const std::string banks = "block (32); shared s[1024] of 4; read s[threadIdx.x * 32];";
  EXPECT_DOUBLE_EQ(bounds(banks).of(Resource::l1), 32);
}

TEST(Bounds, SmallGridsUseFewMultiprocessors) {
  const std::string body = "block (128); array a of 4; read a[blockIdx.x * 128 + threadIdx.x];";
  const Bounds few = bounds("grid (11);" + body), many = bounds("grid (13200);" + body);
  EXPECT_DOUBLE_EQ(few.of(Resource::l1), 4);
  EXPECT_DOUBLE_EQ(few.of(Resource::issue), 1);
  EXPECT_DOUBLE_EQ(few.of(Resource::latency), 700) << "all blocks wait at the same time";
  EXPECT_DOUBLE_EQ(many.of(Resource::l1), 100 * 4);
}

TEST(Bounds, LoopsWaitInEachIteration) {
  // One load in 10 iterations of 4 warps; of its 160 lines of 4 sectors, a quarter misses the L1.
  Totals totals;
  totals.references.emplace_back();
  totals.references[0].global = {.requests = 40, .transactions = 160, .sectors = 40};
  totals.read.push_back({.sectors = 40, .least = 0, .end = 40 * 32});
  totals.blocks = totals.waits = totals.occupancy.blocks = 1;
  totals.warps = 4;
  EXPECT_DOUBLE_EQ(bounds_of(totals, machine).of(Resource::latency), 700 + 9 * (0.25 * 700 + 0.75 * 33));
  // Half of the misses find their data in the L2.
  totals.read[0].end /= 2;
  EXPECT_DOUBLE_EQ(bounds_of(totals, machine).of(Resource::latency), 480 + 9 * (0.25 * 480 + 0.75 * 33));
  totals.references[0].kind = Statement::Kind::write;
  EXPECT_DOUBLE_EQ(bounds_of(totals, machine).of(Resource::latency), 700) << "nothing waits for stores";
  const std::string loop =
      "block (64); array a of 4; for (k = 0; k < 5; k += 1) read a[k * 64 + threadIdx.x];";
  EXPECT_DOUBLE_EQ(bounds(loop).of(Resource::latency), 5 * 700);
}

TEST(Bounds, TexturesTransferLines) {
  const Bounds of = bounds("grid (64); block (32); texture t of 4; read t[blockIdx.x * 32 + threadIdx.x];");
  EXPECT_DOUBLE_EQ(of.of(Resource::l2), 64 * 4 / 96.0);
  EXPECT_DOUBLE_EQ(of.of(Resource::memory), 64 * 128 / (96 * 16.0) * clocks);
}

TEST(Bounds, BlocksOverlapTheirFetches) {
  const auto waits = [](const std::string& text) {
    return analyse("block (32); array a of 4; shared s[32] of 4; shared t[32] of 4;" + text, {}, machine)
        .totals.waits;
  };
  const std::string fetches =
      "fetch s[threadIdx.x] = a[threadIdx.x]; fetch t[threadIdx.x] = a[threadIdx.x + 32];";
  EXPECT_EQ(waits(fetches), 1);
  EXPECT_EQ(waits(fetches + "read s[threadIdx.x];" + fetches), 2);
  EXPECT_EQ(waits("for (k = 0; k < 5; k += 1) {" + fetches + "read s[threadIdx.x]; }"), 5);
  EXPECT_EQ(waits("for (k = 0; k < 5; k += 1) read a[k * 32 + threadIdx.x];"), 1)
      << "the reads are independent";
  EXPECT_EQ(waits("write a[threadIdx.x];"), 0);
}

TEST(Bounds, RankVariantsOnMachinesWithCaches) {
  // Fetching data that is cached anyway: more reuse by the estimate, more work for the L1.
  const std::string text =
      "choice fetched = 0, 1; block (32); grid (1024); array a of 4; shared s[32] of 4;"
      "let i = blockIdx.x * 32 + threadIdx.x; if (fetched) fetch s[threadIdx.x] = a[i];"
      "read a[i]; read a[i]; read a[i];";
  const Result<Description> description = parse_description(text, "d.access");
  ASSERT_TRUE(description);
  const auto best = [&](const Machine& of) {
    const Result<Exploration> found = explore(*description, {}, of);
    EXPECT_TRUE(found);
    return found->alternatives.front().variant.choices.front().second;
  };
  EXPECT_EQ(best(paper_machine()), 1);
  EXPECT_FALSE(has_bounds(paper_machine()));
  EXPECT_EQ(best(machine), 0);
}

}  // namespace
}  // namespace lynxpp::models::cumapz
