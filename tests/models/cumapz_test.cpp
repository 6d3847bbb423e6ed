// CuMAPz compared with the paper's results and with manual counts, and its shortcuts with full execution.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/cumapz/symmetry.h"
#include "models/cumapz/terms.h"
#include "models/cumapz/transactions.h"
#include "support/text.h"
#include "tests/models/analyse.h"

namespace lynxpp::models::cumapz {
namespace {

std::string product() {
  std::string text;
  EXPECT_TRUE(read_file(LYNXPP_SOURCE_DIR "/examples/advise/product.access", text));
  return text;
}

Terms product(std::int64_t shift, std::int64_t rows, std::int64_t padding, std::int64_t transposed) {
  return analyse(product(),
                 {{"shift", shift}, {"rows", rows}, {"padding", padding}, {"transposed", transposed}})
      .terms;
}

// ---- the paper's figures

TEST(Cumapz, MatchesTableOneExactly) {
  const std::int64_t reuse[] = {754'925'568, 771'670'016, 754'876'416};
  for (std::int64_t shift = 0; shift < 3; ++shift) {
    const Analysed found =
        analyse(product(), {{"shift", shift}, {"rows", 0}, {"padding", 0}, {"transposed", 0}});
    std::int64_t reads = 0;
    for (const ReferenceTotals& each : found.totals.references) {
      if (each.kind == Statement::Kind::read) reads += each.accesses;
    }
    EXPECT_EQ(reads, 805'208'064);
    EXPECT_EQ(found.terms.hits, reuse[shift]) << shift;
  }
}

TEST(Cumapz, MaximumReuseIsNotFastest) {
  // Table I: 61.11, 64.86 and 63.77 ms.
  EXPECT_GT(product(0, 0, 0, 0).estimate, product(2, 0, 0, 0).estimate);
  EXPECT_GT(product(2, 0, 0, 0).estimate, product(1, 0, 0, 0).estimate);
  EXPECT_GT(product(1, 0, 0, 0).data_reuse, product(2, 0, 0, 0).data_reuse);
}

TEST(Cumapz, RowsAndPaddingAvoidBankConflicts) {
  // Table II: 61.11 by columns, 45.06 by rows, 44.98 with padding.
  const Terms columns = product(0, 0, 0, 0), rows = product(0, 1, 0, 0), padded = product(0, 0, 1, 0);
  EXPECT_LT(columns.shared_efficiency, 1 / 15.0);
  EXPECT_EQ(rows.shared_efficiency, 1);
  EXPECT_EQ(padded.shared_efficiency, 1);
  EXPECT_LT(columns.estimate, rows.estimate);
}

TEST(Cumapz, WritingByColumnsCollapses) {
  // Table III: 46.06 by rows, 3933.88 by columns.
  for (std::int64_t shift = 0; shift < 3; ++shift) {
    const Terms rows = product(shift, 1, 0, 0), columns = product(shift, 1, 0, 1);
    EXPECT_GT(rows.estimate, 10 * columns.estimate) << shift;
    EXPECT_EQ(rows.channel_skew, 1) << shift;
    EXPECT_GT(columns.channel_skew, 6) << shift;
  }
}

/// The terms of every variant of an example, in the order of its choice.
std::vector<Terms> variants_of_example(const std::string& name, const Given& given) {
  std::string text;
  EXPECT_TRUE(read_file(LYNXPP_SOURCE_DIR "/examples/advise/" + name + ".access", text)) << name;
  const Result<Description> description = parse_description(text, name);
  EXPECT_TRUE(description) << (description ? "" : render(description.error().diagnostics, text));
  const auto variants = variants_of(*description, given);
  EXPECT_TRUE(variants);
  std::vector<Terms> result;
  for (const Variant& variant : *variants) {
    const Result<Totals> totals = execute(*description, variant, paper_machine());
    EXPECT_TRUE(totals) << (totals ? "" : render(totals.error().diagnostics, text));
    result.push_back(terms_of(*totals, paper_machine()));
  }
  return result;
}

// Section 6.1 on Figure 7(a) and (c): aligned fetches are best, not maximum reuse.
TEST(Cumapz, LaplacePrefersAlignedFetches) {
  const std::vector<Terms> terms = variants_of_example("laplace", {{"N", 256}});
  ASSERT_EQ(terms.size(), 9u);
  for (const std::size_t other : {0, 2, 3, 5, 6, 8}) {
    for (const std::size_t aligned : {1, 4, 7}) {
      EXPECT_GT(terms[aligned].estimate, terms[other].estimate) << aligned << " " << other;
      EXPECT_GT(terms[aligned].bandwidth_use, terms[other].bandwidth_use) << aligned << " " << other;
    }
  }
  EXPECT_GT(terms[4].data_reuse, terms[1].data_reuse);
  EXPECT_LT(terms[4].estimate, terms[1].estimate);
  EXPECT_GT(terms[4].data_reuse, 1.7 * terms[0].data_reuse) << "almost twice";
}

// On Figure 7(b) and (d): each buffer hides more latency but increases divergence; two buffers are best.
TEST(Cumapz, WaveletIsBestWithTwoBuffers) {
  const std::vector<Terms> terms = variants_of_example("wavelet", {});
  ASSERT_EQ(terms.size(), 6u);
  for (std::size_t i = 1; i < terms.size(); ++i) {
    EXPECT_GT(terms[i].latency_hiding, terms[i - 1].latency_hiding);
  }
  for (std::size_t i = 2; i < terms.size(); ++i)
    EXPECT_GT(terms[i].branch_efficiency, terms[i - 1].branch_efficiency);
  for (const std::size_t other : {0, 2, 3, 4, 5}) EXPECT_LT(terms[other].estimate, terms[1].estimate);
  EXPECT_EQ(terms[5].branch_efficiency, 1) << "one buffer for each reference";
}

// On Figure 8(b) and (d): padding removes bank conflicts, which has little effect while channels are skewed;
// the diagonal order removes the skew; without padding, conflicts return.
TEST(Cumapz, TransposeImprovesStepByStep) {
  const std::vector<Terms> terms = variants_of_example("transpose", {});
  ASSERT_EQ(terms.size(), 5u);
  EXPECT_LT(terms[0].bandwidth_use, 0.5);
  EXPECT_EQ(terms[1].bandwidth_use, 1);
  EXPECT_LT(terms[1].shared_efficiency, 1);
  EXPECT_EQ(terms[2].shared_efficiency, 1);
  EXPECT_EQ(terms[2].channel_skew, terms[1].channel_skew);
  EXPECT_EQ(terms[3].channel_skew, 1);
  EXPECT_EQ(terms[4].shared_efficiency, terms[1].shared_efficiency);
  const std::size_t order[] = {0, 1, 2, 4, 3};
  for (std::size_t i = 1; i < 5; ++i) EXPECT_GT(terms[order[i]].estimate, terms[order[i - 1]].estimate) << i;
}

// On Figure 8(a) and (c): fetching the first matrix helps more than the second, fetching both most; blocks
// with fewer rows hide more latency, narrower ones get two-way conflicts.
TEST(Cumapz, MatrixProductIsBestWithBothFetched) {
  const std::vector<Terms> terms = variants_of_example("matmul", {{"N", 512}});
  ASSERT_EQ(terms.size(), 6u);
  enum { a, b, c, both, narrow, low };
  EXPECT_GT(terms[a].estimate, terms[b].estimate);
  EXPECT_GT(terms[b].estimate, terms[c].estimate);
  EXPECT_GT(terms[both].estimate, terms[a].estimate);
  EXPECT_GT(terms[low].estimate, terms[both].estimate);
  EXPECT_LT(terms[narrow].estimate, terms[both].estimate);
  EXPECT_DOUBLE_EQ(terms[both].latency_hiding, std::sqrt(2));
  EXPECT_DOUBLE_EQ(terms[low].latency_hiding, 2);
  EXPECT_EQ(terms[both].shared_efficiency, 1);
  EXPECT_LT(terms[narrow].shared_efficiency, 1);
  EXPECT_LT(terms[b].bandwidth_use, 0.25) << "half a warp accesses one element";
  EXPECT_EQ(terms[a].channel_skew, 1);
}

// On Figure 9(a) and (c): narrower blocks hide more latency, get conflicts, and at a width of four waste
// transactions.
TEST(Cumapz, GaussianTradesLatencyForConflicts) {
  const std::vector<Terms> terms = variants_of_example("gaussian", {});
  ASSERT_EQ(terms.size(), 5u);
  for (const std::size_t half : {1, 3}) {
    EXPECT_GT(terms[half].latency_hiding, terms[0].latency_hiding) << half;
    EXPECT_GT(terms[half + 1].latency_hiding, terms[half].latency_hiding) << half;
  }
  EXPECT_LT(terms[1].shared_efficiency, terms[0].shared_efficiency);
  EXPECT_LT(terms[2].shared_efficiency, terms[1].shared_efficiency);
  EXPECT_EQ(terms[4].shared_efficiency, 1);
  EXPECT_EQ(terms[2].bandwidth_use, 0.5) << "four elements of a transaction's eight";
}

// On Figure 10(a) and (c): swapped threads reduce bandwidth and shared memory efficiency; the diagonal order
// is worse.
TEST(Cumapz, HotspotSuffersFromSwappedThreads) {
  const std::vector<Terms> terms = variants_of_example("hotspot", {{"N", 256}});
  ASSERT_EQ(terms.size(), 4u);
  for (const std::size_t diagonal : {0, 1}) {
    EXPECT_LT(terms[2 + diagonal].bandwidth_use, terms[diagonal].bandwidth_use / 2);
    EXPECT_LT(terms[2 + diagonal].shared_efficiency, 0.25);
    EXPECT_LT(terms[2 + diagonal].estimate, terms[diagonal].estimate / 10);
  }
}

// On Figure 9(b) and (d): narrower blocks hide more latency and get bank conflicts.
TEST(Cumapz, LudTradesLatencyForConflicts) {
  const std::vector<Terms> terms = variants_of_example("lud", {});
  ASSERT_EQ(terms.size(), 3u);
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_GT(terms[i].latency_hiding, terms[i - 1].latency_hiding);
    EXPECT_LT(terms[i].shared_efficiency, terms[i - 1].shared_efficiency);
  }
  EXPECT_EQ(terms[0].shared_efficiency, 1);
  EXPECT_EQ(terms[2].bandwidth_use, 0.5) << "four elements of a transaction's eight";
}

// On Figure 10(b) and (d): swapped threads reduce bandwidth and shared memory efficiency.
TEST(Cumapz, BackpropSuffersFromSwappedThreads) {
  const std::vector<Terms> terms = variants_of_example("backprop", {});
  ASSERT_EQ(terms.size(), 2u);
  EXPECT_LT(terms[1].bandwidth_use, terms[0].bandwidth_use / 4);
  EXPECT_EQ(terms[0].shared_efficiency, 1);
  EXPECT_LT(terms[1].shared_efficiency, 0.25);
  EXPECT_LT(terms[1].estimate, terms[0].estimate / 10);
}

// Section 7: except for the skew, terms do not depend on the size of the input.
TEST(Cumapz, TermsHardlyDependOnTheInputSize) {
  const auto of_size = [](std::int64_t size) {
    return analyse(product(), {{"MAX", size}, {"shift", 1}, {"rows", 1}, {"padding", 0}, {"transposed", 0}})
        .terms;
  };
  const Terms large = of_size(4096);
  for (const std::int64_t size : {256, 512, 1024, 2048}) {
    const Terms terms = of_size(size);
    EXPECT_NEAR(terms.data_reuse / large.data_reuse, 1, 0.01) << size;
    EXPECT_NEAR(terms.bandwidth_use / large.bandwidth_use, 1, 0.01) << size;
    EXPECT_NEAR(terms.branch_efficiency / large.branch_efficiency, 1, 0.011) << size;
    EXPECT_EQ(terms.shared_efficiency, large.shared_efficiency) << size;
    EXPECT_EQ(terms.latency_hiding, large.latency_hiding) << size;
  }
}

/// Equation 4 checks 32 blocks of the product; terms agree for rows of at least this number of blocks.
TEST(Cumapz, TermsAgreeForEnoughBlocks) {
  const auto of_size = [](std::int64_t size) {
    std::string text;
    EXPECT_TRUE(read_file(LYNXPP_SOURCE_DIR "/examples/advise/laplace.access", text));
    return analyse(text, {{"N", size}, {"fetched", 4}});
  };
  const Analysed large = of_size(4096);
  EXPECT_LE(large.totals.blocks_checked, 1024 / 16);
  for (const std::int64_t size : {1024, 2048}) {
    const Terms terms = of_size(size).terms;
    EXPECT_NEAR(terms.estimate / large.terms.estimate, 1, 0.01) << size;
    EXPECT_NEAR(terms.channel_skew / large.terms.channel_skew, 1, 0.01) << size;
    EXPECT_NEAR(terms.branch_efficiency / large.terms.branch_efficiency, 1, 0.01) << size;
    EXPECT_NEAR(terms.data_reuse / large.terms.data_reuse, 1, 0.01) << size;
    EXPECT_NEAR(terms.bandwidth_use / large.terms.bandwidth_use, 1, 0.01) << size;
  }
}

// ---- equations

TEST(Equations, WithoutBuffersReuseIsOneAndOnlyOccupancyHidesLatency) {
  const Terms terms = analyse("grid (4); block (32); registers 64; array a of 4; read a[threadIdx.x];").terms;
  EXPECT_EQ(terms.data_reuse, 1);
  EXPECT_DOUBLE_EQ(terms.latency_hiding, 4 / 32.0 / 0.5) << "64 registers: 4 of 32 warps";
  EXPECT_EQ(terms.shared_efficiency, 1);
  EXPECT_EQ(terms.branch_efficiency, 1);
}

TEST(Equations, FetchesHideEachOther) {
  const std::string text =
      "block (64); array a of 4; shared s[128] of 4;"
      "fetch s[threadIdx.x] = a[threadIdx.x]; fetch s[threadIdx.x + 64] = a[threadIdx.x + 64];"
      "read a[threadIdx.x]; read a[threadIdx.x]; read a[threadIdx.x + 64];";
  const Terms terms = analyse(text).terms;
  EXPECT_DOUBLE_EQ(terms.latency_hiding, std::sqrt(2));
  EXPECT_DOUBLE_EQ(terms.data_reuse, 3 * 64 * 4 / (2 * 64 * 4.0));
}

TEST(Equations, FetchReplacesThePreviousOne) {
  const Terms terms = analyse(
                          "block (16); array a of 4; shared s[16] of 4;"
                          "for (i = 0; i < 3; i += 1) {"
                          "  fetch s[threadIdx.x] = a[i * 16 + threadIdx.x];"
                          "  read a[i * 16 + 15 - threadIdx.x];"
                          "}"
                          "read a[threadIdx.x]; read a[32 + threadIdx.x];")
                          .terms;
  EXPECT_EQ(terms.accesses, 5 * 16);
  EXPECT_EQ(terms.hits, 4 * 16) << "the first 16 elements have been replaced";
}

TEST(Equations, StoreGoesToGlobalMemory) {
  const Analysed found = analyse(
      "block (16); array a of 4; shared s[16] of 4;"
      "fetch s[threadIdx.x] = a[threadIdx.x]; store a[threadIdx.x] = s[15 - threadIdx.x];");
  EXPECT_EQ(found.terms.hits, 0);
  EXPECT_EQ(found.terms.global_accesses, 32);
  EXPECT_EQ(found.totals.references[1].global.transferred_bytes, 64);
  EXPECT_EQ(found.totals.references[1].shared.requests, 1);
  EXPECT_EQ(found.terms.data_reuse, 1);
}

TEST(Equations, FetchedDataMayBeReadAsSharedMemory) {
  const Analysed found = analyse(
      "block (16); array a of 4; shared s[16] of 4; shared t[16] of 8;"
      "fetch s[threadIdx.x] = a[threadIdx.x];"
      "read s[15 - threadIdx.x]; write t[threadIdx.x]; read t[threadIdx.x];");
  EXPECT_EQ(found.terms.data_reuse, 1) << "data that was not fetched is not reuse";
  EXPECT_EQ(found.terms.accesses, 0);
  EXPECT_EQ(found.terms.global_accesses, 16);
  EXPECT_EQ(found.terms.branch_efficiency, 1);
}

TEST(Equations, LanesOnBothPathsDiverge) {
  const Analysed found = analyse(
      "block (64); array a of 4; shared s[48] of 4;"
      "if (threadIdx.x < 48) fetch s[threadIdx.x] = a[threadIdx.x];"
      "read a[threadIdx.x];");
  EXPECT_EQ(found.totals.references[1].warps, 2);
  EXPECT_EQ(found.totals.references[1].diverged, 1);
  EXPECT_DOUBLE_EQ(found.terms.branch_efficiency, 2 / 3.0);
}

TEST(Equations, LanesShareARequestForOneElement) {
  EXPECT_EQ(analyse("block (16); array a of 4; read a[blockIdx.x];").terms.bandwidth_use, 4 / 32.0);
  EXPECT_EQ(analyse("block (16); array a of 4; read a[threadIdx.x / 2];").terms.bandwidth_use, 1);
}

TEST(Equations, RoundsOfALoopAreCombinedPerChannel) {
  const std::string text =
      "grid (64); block (16); array a of 4;"
      "for (i = 0; i < 8; i += 1) read a[blockIdx.x * 512 + i * 64 + threadIdx.x];";
  EXPECT_EQ(analyse(text).terms.channel_skew, 1) << "each round is in one channel";
}

TEST(Equations, EvenSpreadOverChannelsIsNotSkewed) {
  const std::string text =
      "choice step = 64; grid (64); block (16); array a of 4; read a[blockIdx.x * step / 4 + threadIdx.x];";
  EXPECT_EQ(analyse(text, {{"step", 64}}).terms.channel_skew, 1);
  EXPECT_EQ(analyse(text, {{"step", 2048}}).terms.channel_skew, 8) << "one channel";
  EXPECT_EQ(analyse(text, {{"step", 1024}}).terms.channel_skew, 4) << "two of eight";
  EXPECT_EQ(analyse(text, {{"step", 2048}}, machine_of_today()).terms.channel_skew, 1) << "hashed";
}

// ---- the memories

std::vector<std::int64_t> lanes(std::int64_t begin, std::int64_t step, std::int64_t count = 16) {
  std::vector<std::int64_t> addresses;
  for (std::int64_t i = 0; i < count; ++i) addresses.push_back(begin + i * step);
  return addresses;
}

std::vector<std::uint32_t> sizes(const std::vector<std::int64_t>& addresses, std::uint32_t bytes,
                                 const Machine& machine = paper_machine()) {
  std::vector<std::uint32_t> result;
  for (const Transaction& each : transactions(machine.global, addresses, bytes)) {
    EXPECT_EQ(each.address % each.bytes, 0);
    result.push_back(each.bytes);
  }
  return result;
}

// The cases of the paper's section 5.3 and Figure 5, calculated by hand.
TEST(Transactions, UseSegmentsForComputeCapability13) {
  using testing::ElementsAre;
  EXPECT_THAT(sizes(lanes(128, 4), 4), ElementsAre(64));
  EXPECT_THAT(sizes(lanes(132, 4), 4), ElementsAre(128)) << "misaligned within 128 bytes";
  EXPECT_THAT(sizes(lanes(192 + 32, 4), 4), ElementsAre(32, 32)) << "across a border";
  EXPECT_THAT(sizes(lanes(192 + 4, 4), 4), ElementsAre(64, 32));
  EXPECT_THAT(sizes(lanes(0, 8), 8), ElementsAre(128));
  EXPECT_THAT(sizes(lanes(0, 16), 16), ElementsAre(128, 128));
  EXPECT_THAT(sizes(lanes(0, 2), 2), ElementsAre(32));
  EXPECT_THAT(sizes(lanes(0, 1), 1), ElementsAre(32));
  EXPECT_THAT(sizes(lanes(0, 128), 4),
              ElementsAre(32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32));
  EXPECT_THAT(sizes(lanes(4096, 0), 4), ElementsAre(32));
  EXPECT_THAT(sizes(lanes(-64, 4), 4), ElementsAre(64));
}

TEST(Transactions, UseSectorsForCurrentDevices) {
  EXPECT_EQ(sizes(lanes(0, 4, 32), 4, machine_of_today()).size(), 4u);
  EXPECT_EQ(sizes(lanes(4, 4, 32), 4, machine_of_today()).size(), 5u);
  EXPECT_EQ(sizes(lanes(0, 32, 32), 4, machine_of_today()).size(), 32u);
}

TEST(Banks, ServeOneWordAtATime) {
  const SharedMemory& old = paper_machine().shared;
  EXPECT_EQ(serialised(old, lanes(0, 4), 4), 1u);
  EXPECT_EQ(serialised(old, lanes(0, 64), 4), 16u);
  EXPECT_EQ(serialised(old, lanes(0, 68), 4), 1u) << "one element of padding";
  EXPECT_EQ(serialised(old, lanes(0, 8), 4), 2u);
  EXPECT_EQ(serialised(old, lanes(0, 0), 4), 1u) << "one word for all";
  EXPECT_EQ(serialised(old, lanes(0, 8), 8), 1u) << "twice the number of banks in words is not a conflict";
  EXPECT_EQ(serialised(machine_of_today().shared, lanes(0, 128, 32), 4), 32u);
}

// ---- shortcuts

/// Compares every term of the shortcut with full execution, which `0 * (blockIdx.x ^ …)` forces.
void expect_same_in_full(const std::string& head, const std::string& index, std::int64_t expected_blocks) {
  const auto text = [&](const std::string& extra) {
    return head + "let at = " + index + extra +
           "; fetch s[threadIdx.x] = a[at + 1]; read a[at]; read a[at + 1]; write b[at];";
  };
  const Analysed quick = analyse(text("")),
                 full = analyse(text(" + 0 * (blockIdx.x ^ blockIdx.y ^ blockIdx.z)"));
  EXPECT_EQ(quick.totals.blocks_run, expected_blocks) << index;
  EXPECT_GT(full.totals.blocks_run, quick.totals.blocks_run) << index;
  for (std::size_t i = 0; i < 4; ++i) {
    const ReferenceTotals &a = quick.totals.references[i], &b = full.totals.references[i];
    EXPECT_EQ(a.warps, b.warps) << index;
    EXPECT_EQ(a.diverged, b.diverged) << index;
    EXPECT_EQ(a.hits, b.hits) << index;
    EXPECT_EQ(a.global.transferred_bytes, b.global.transferred_bytes) << index;
    EXPECT_EQ(a.global.transactions, b.global.transactions) << index;
    EXPECT_EQ(a.shared.served, b.shared.served) << index;
  }
  EXPECT_EQ(quick.terms.estimate, full.terms.estimate) << index;
}

TEST(Periods, AreExact) {
  const std::string head = "grid (7, 5, 3); block (24); array a of 4; array b of 4; shared s[24] of 4;";
  expect_same_in_full(head, "blockIdx.x * 32 + threadIdx.x", 1);
  expect_same_in_full(head, "blockIdx.x * blockDim.x + threadIdx.x", 4);
  expect_same_in_full(head, "(blockIdx.z * gridDim.y + blockIdx.y) * 8 + threadIdx.x * 3", 4 * 3);
  expect_same_in_full(head, "blockIdx.y * 16 - blockIdx.z + threadIdx.x", 2 * 3);
}

TEST(Periods, DetectConditionsOnTheBlock) {
  const std::string head = "grid (6, 4); block (16); array a of 4;";
  EXPECT_EQ(analyse(head + "if (blockIdx.x & 2) read a[threadIdx.x];").totals.blocks_run, 6);
  EXPECT_EQ(analyse(head + "if (blockIdx.x < blockIdx.x + 2) read a[threadIdx.x];").totals.blocks_run, 1);
  EXPECT_EQ(analyse(head + "for (i = 0; i < blockIdx.y; i += 1) read a[i];").totals.blocks_run, 4);
  EXPECT_EQ(analyse(head + "let n = 0; for (i = 0; i < 2; i += 1) { if (n) read a[0]; let n = blockIdx.x; }")
                .totals.blocks_run,
            6);
  EXPECT_EQ(analyse(head + "if (threadIdx.x < 8) let n = blockIdx.x * 32; read a[n];").totals.blocks_run, 6);
}

/// Checks which blocks run, and that they represent all blocks, which `blockIdx.x & 0` in a condition forces
/// to run.
void expect_segments(const std::string& statements, std::int64_t expected_blocks) {
  const std::string head = "grid (9, 7, 2); block (16, 2); array a of 4; array b of 4; shared s[32] of 4;";
  const std::string rest =
      "fetch s[threadIdx.x] = a[blockIdx.y * 512 + blockIdx.x * 16 + threadIdx.x];" + statements;
  const Analysed quick = analyse(head + rest),
                 full = analyse(head + "if (blockIdx.x & blockIdx.y & blockIdx.z & 0) { }" + rest);
  EXPECT_EQ(quick.totals.blocks_run, expected_blocks) << statements;
  EXPECT_EQ(full.totals.blocks_run, 9 * 7 * 2);
  for (std::size_t i = 0; i < quick.totals.references.size(); ++i) {
    const ReferenceTotals &one = quick.totals.references[i], &other = full.totals.references[i];
    EXPECT_EQ(one.warps, other.warps) << statements;
    EXPECT_EQ(one.diverged, other.diverged) << statements;
    EXPECT_EQ(one.hits, other.hits) << statements;
    EXPECT_EQ(one.accesses, other.accesses) << statements;
    EXPECT_EQ(one.global.requested_bytes, other.global.requested_bytes) << statements;
    EXPECT_EQ(one.global.transferred_bytes, other.global.transferred_bytes) << statements;
    EXPECT_EQ(one.shared.served, other.shared.served) << statements;
  }
  EXPECT_EQ(quick.terms.estimate, full.terms.estimate) << statements;
}

TEST(Segments, AreExact) {
  const std::string access = "read a[blockIdx.y * 512 + blockIdx.x * 16 + threadIdx.x + 1];";
  expect_segments(access, 2);
  expect_segments("if (blockIdx.x > 2) " + access, 2 + 2);
  expect_segments("if (blockIdx.x >= 2) " + access, 2 + 2);
  expect_segments("if (blockIdx.x == 4) " + access, 2 + 1 + 2);
  expect_segments("if (blockIdx.x != 8) " + access, 2 + 1);
  expect_segments("if (2 < 6 - blockIdx.y) " + access, 2 * 2);
  expect_segments("if (!blockIdx.y || blockIdx.z) " + access, 2 * 2 * 2);
  expect_segments("if (blockIdx.x * 16 + threadIdx.x > 0 && blockIdx.x * 16 + threadIdx.x < 143) " + access,
                  1 + 2 + 1);
  expect_segments("if (blockIdx.x * 16 + threadIdx.x <= 40) " + access, 2 + 1 + 2);
  expect_segments("let row = 6 - blockIdx.y; if (row * 2 + threadIdx.y >= 5) " + access, (1 + 1 + 1) * 2);
  // A counter's value after its loop is also a bound: one block more than the loop takes.
  expect_segments("for (i = 0; i < 3; i += 1) if (blockIdx.x + i == 5) " + access, 2 + 4 + 2);
  expect_segments("for (i = 0; i < blockIdx.z + 1; i += 1) if (blockIdx.y < 3 + i) " + access, 4 * 2 * 2);
  expect_segments("let f = blockIdx.x < 3 ? 1 : 2; if (f == 1) " + access, 2 + 2);
  expect_segments("if (blockIdx.x < 100) " + access, 2);
}

TEST(Segments, ReferencesThatMoveDifferentlyRunOneBlockForEachWayToMeet) {
  expect_segments("read a[blockIdx.y * 512 + threadIdx.x + 256];", 2);
  expect_segments("read a[blockIdx.y * 512 + threadIdx.x];", 5);
  expect_segments("read a[blockIdx.x * 48 + threadIdx.x];", 4);
  expect_segments("read a[512 - blockIdx.x * 16 + threadIdx.x * 2];", 4);
  expect_segments("if (blockIdx.x > 2) read a[blockIdx.x * 48 + threadIdx.x + 70];", 4);
  expect_segments("if (blockIdx.x & 1) read a[blockIdx.y * 512 + threadIdx.x];", 9);
}

TEST(Segments, LudOfAnySizeRunsFewBlocks) {
  std::string text;
  ASSERT_TRUE(read_file(LYNXPP_SOURCE_DIR "/examples/advise/lud.access", text));
  const Analysed small = analyse(text, {{"N", 512}, {"threads_in_x", 8}}),
                 large = analyse(text, {{"N", 8192}, {"threads_in_x", 8}});
  EXPECT_LT(small.totals.blocks_run, 20);
  EXPECT_LE(large.totals.blocks_run, small.totals.blocks_run);
  EXPECT_EQ(large.totals.references[0].warps, std::int64_t{511} * 511 * 4);
}

TEST(Segments, LaplaceOfAnySizeRunsFewBlocks) {
  std::string text;
  ASSERT_TRUE(read_file(LYNXPP_SOURCE_DIR "/examples/advise/laplace.access", text));
  const Analysed small = analyse(text, {{"N", 256}, {"fetched", 4}}),
                 large = analyse(text, {{"N", 16384}, {"fetched", 4}});
  EXPECT_EQ(small.totals.blocks_run, (1 + 2 + 1) * (1 + 1 + 1));
  EXPECT_EQ(large.totals.blocks_run, small.totals.blocks_run);
  EXPECT_EQ(large.terms.accesses, std::int64_t{16382} * 16382 * 10);
}

// ---- limits

TEST(Execution, ReportsErrorLocations) {
  EXPECT_EQ(failure_of("block (16); array a of 4; shared s[16] of 4;\nfetch s[threadIdx.x + 1] = a[0];"),
            "2:1 s[threadIdx.x + 1] is element 16 of 16 in block (0, 0, 0)");
  EXPECT_EQ(failure_of("block (16); array a of 4;\nread a[4 / threadIdx.x];"),
            "2:8 a thread divides by zero here");
  EXPECT_EQ(failure_of("block (16); array a of 4;\nif (threadIdx.x > 0) read a[4 / threadIdx.x];"), "");
  EXPECT_EQ(failure_of("block (1);\nfor (i = 0; 1; i += 1) { }"),
            "2:1 this loop runs more than a million times");
  EXPECT_EQ(failure_of("block (1024);"), "1:8 a block does not fit on a multiprocessor of compute_1_3");
  EXPECT_EQ(failure_of("block (512); for (i = 0; i < 1000000; i += 1)\n"
                       "for (j = 0; j < 1000000; j += 1) { }"),
            "2:1 analysing this takes more than 1,000,000,000 thread steps");
}

}  // namespace
}  // namespace lynxpp::models::cumapz
