// Pro++ compared with closed forms, and the paper's Table III as data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "models/proplusplus/criteria.h"
#include "models/proplusplus/hardware.h"
#include "models/proplusplus/schedule.h"
#include "models/proplusplus/weights.h"
#include "support/text.h"
#include "support/trust.h"

namespace lynxpp::models::proplusplus {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

/// Ten multiprocessors of compute capability 9.0 with round parameters.
Hardware round_hardware() {
  DeviceFigures figures;
  figures.multiprocessors = 10;
  figures.clock_khz = 1000000;
  figures.memory_clock_khz = 1000000;
  figures.memory_bus_bits = 4000;  // 2e9 × 500 bytes: 1 TB/s
  return hardware_of(figures);
}

Primitive one(const KernelRun& kernel) {
  Primitive primitive;
  primitive.kernels = {kernel};
  primitive.between_seconds = 0;
  return primitive;
}

std::optional<double> value_of(Criterion criterion, const Primitive& primitive) {
  return criteria_of(primitive, round_hardware())[criterion];
}

// ---- the paper's data ------------------------------------------------------------------------------------

struct PrintedRow {
  const char* primitive;
  std::vector<double> quality;
  std::vector<double> speedup;
};

/// Table III: for each row, the libraries that have both values ("err" has none).
const std::vector<PrintedRow>& table_3() {
  static const std::vector<PrintedRow> rows{
      {"reduction", {0.50, 0.89, 0.41, 0.75, 0.64}, {202, 505, 163, 252, 233}},
      {"reduction by keys", {0.55, 0.67, 0.65}, {13, 101, 40}},
      {"inclusive scan", {0.70, 0.77, 0.76, 0.79, 0.74}, {64, 190, 119, 301, 62}},
      {"scan by keys", {0.58, 0.69}, {36, 128}},
      {"vectorised binary search", {0.30, 0.55}, {687, 3576}},
      {"partition", {0.65, 0.71}, {15, 87}},
      {"compaction", {0.66, 0.69, 0.67}, {19, 67, 34}},
      {"radix sort", {0.57, 0.55}, {22, 45}},
      {"unique", {0.69, 0.68}, {15, 88}},
  };
  return rows;
}

TEST(ProPlusPlus, QualityOfTable3OrdersItsSpeedups) {
  std::vector<Ordering> primitives;
  for (const PrintedRow& row : table_3()) {
    ASSERT_EQ(row.quality.size(), row.speedup.size());
    primitives.push_back(ordering_of(row.quality, row.speedup));
  }
  // In the last two rows, and for one pair of the scans, the better quality is slower.
  const Evidence evidence = evidence_of("Table III", primitives);
  EXPECT_EQ(evidence.order, (Ordering{30, 28}));
  EXPECT_FALSE(evidence.is_chance());
}

/// A row of docs/measurements/data/primitives-h100.csv.
struct MeasuredRow {
  std::string primitive;
  Criteria criteria;
  double quality = 0;
  double microseconds = 0;
};

std::vector<MeasuredRow> measured_on_h100() {
  std::string text;
  EXPECT_TRUE(read_file(LYNXPP_SOURCE_DIR "/docs/measurements/data/primitives-h100.csv", text));
  std::vector<MeasuredRow> rows;
  for (const std::string& line : split(text, '\n')) {
    const std::vector<std::string> cells = split(line, ',');
    if (cells.size() != 14 || cells[0] == "range") continue;
    MeasuredRow row{
        split(cells[0], '/').front(), {}, std::stod(cells[10]), std::stod(cells[12]) + std::stod(cells[13])};
    for (std::size_t i = 0; i < criterion_count; ++i) {
      if (cells[2 + i] != "-") row.criteria.values[i] = std::stod(cells[2 + i]);
    }
    rows.push_back(row);
  }
  return rows;
}

TEST(ProPlusPlus, EvidenceOfThePapersWeightsIsThatOfTheMeasurement) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> primitives;
  for (const MeasuredRow& row : measured_on_h100()) {
    const std::optional<double> found = quality(row.criteria, paper_weights());
    EXPECT_THAT(found, Optional(DoubleNear(row.quality, 0.006))) << row.primitive;
    if (!std::ranges::all_of(row.criteria.values, [](const auto& each) { return each.has_value(); }))
      continue;
    primitives[row.primitive].first.push_back(*found);
    primitives[row.primitive].second.push_back(1 / row.microseconds);
  }
  std::vector<Ordering> orders;
  for (const auto& [name, values] : primitives) {
    if (values.first.size() > 1) orders.push_back(ordering_of(values.first, values.second));
  }
  const Evidence stated = paper_weights().evidence.value();
  const Evidence found = evidence_of(stated.source, orders);
  EXPECT_EQ(found.order, stated.order);
  EXPECT_NEAR(found.low, stated.low, 0.005);
  EXPECT_NEAR(found.high, stated.high, 0.005);
  EXPECT_TRUE(stated.is_chance());
  EXPECT_THAT(std::string(trust::row_of(trust::Number::quality).error), HasSubstr("H100: 9 of 19 pairs"));
}

TEST(ProPlusPlus, EvidenceIsChanceUnlessTheIntervalIsAboveZero) {
  const std::vector<Ordering> all_right(8, Ordering{3, 3});
  const Evidence right = evidence_of("", all_right);
  EXPECT_EQ(right.order.rank_correlation(), 1);
  EXPECT_FALSE(right.is_chance());
  std::vector<Ordering> mixed(8, Ordering{3, 1});
  mixed[0] = mixed[1] = mixed[2] = {3, 3};
  const Evidence half = evidence_of("", mixed);
  EXPECT_NEAR(half.order.rank_correlation(), 2 * 14 / 24.0 - 1, 1e-12);
  EXPECT_LT(half.low, 0);
  EXPECT_TRUE(half.is_chance());
  EXPECT_TRUE(evidence_of("", {}).is_chance());
  EXPECT_EQ(half, evidence_of("", mixed));
}

TEST(ProPlusPlus, CachesServeWhatALaunchAccessesAgain) {
  EXPECT_EQ(bytes_past_caches(400, 100, 1000), 500);
  EXPECT_EQ(bytes_past_caches(8000, 100, 1000), 1100);
  EXPECT_EQ(bytes_past_caches(8000, 4000, 1000), 2000);
  EXPECT_EQ(bytes_past_caches(8000, 4000, 0), 12000);
}

TEST(ProPlusPlus, MatrixInstructionsCountTheirProducts) {
  EXPECT_EQ(matrix_products("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), 64);
  EXPECT_EQ(matrix_products("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"), 64);
  EXPECT_EQ(matrix_products("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"), 64);
  EXPECT_EQ(matrix_products("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"), 64);
  EXPECT_EQ(matrix_products("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"), 128);
  EXPECT_EQ(matrix_products("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"), 1024);
  for (const char* other :
       {"fma.rn.f32", "wmma.load.a.sync.aligned.m16n16k16.global.f16", "wgmma.fence.sync.aligned", ""})
    EXPECT_EQ(matrix_products(other), 0) << other;
  // 1000 cycles of 10 multiprocessors with 2048 products each; one operation per lane would be 1/64 of that.
  KernelRun kernel;
  kernel.seconds = 1e-6;
  kernel.counts.matrix = 2048.0 * 10 * 250;
  EXPECT_THAT(value_of(Criterion::instructions, one(kernel)), Optional(DoubleNear(0.75, 1e-12)));
  Hardware without = round_hardware();
  without.matrix_rate = 0;
  EXPECT_EQ(criteria_of(one(kernel), without)[Criterion::instructions], std::nullopt);
}

TEST(ProPlusPlus, RatesAreThoseOfTheArchitecture) {
  EXPECT_EQ(arithmetic_rates(100).matrix, 4096);
  EXPECT_EQ(arithmetic_rates(103).doubles, 2);
  EXPECT_EQ(arithmetic_rates(120).integers, 128);
  EXPECT_EQ(arithmetic_rates(121).matrix, 512);
  EXPECT_FALSE(has_assumed_rates(121));
  EXPECT_TRUE(has_assumed_rates(140));
}

TEST(ProPlusPlus, PaperWeightsAreThoseOfTable3) {
  EXPECT_THAT(paper_weights().of.values, ElementsAre(30, 30, 15, 10, 70, 100, 100, 50));
}

// ---- each criterion in closed form -----------------------------------------------------------------------

TEST(ProPlusPlus, OccupancyIsTheLeastOfItsLimits) {
  const Hardware hardware = round_hardware();
  // 128 registers for each of 256 threads: 8 warps of 4096 registers each, so 2 blocks in 64 warp slots.
  const OccupancyLimits registers = occupancy_limits({1000, 256, 128, 0}, hardware);
  EXPECT_EQ(registers.by_registers, 0.25);
  EXPECT_EQ(registers.by_blocks, 1);
  EXPECT_EQ(registers.by_shared, 1);
  EXPECT_EQ(registers.by_grid, 1);
  EXPECT_EQ(registers.least(), 0.25);
  // A multiprocessor holds at most 32 blocks, here of 32 threads.
  EXPECT_EQ(occupancy_limits({1000, 32, 16, 0}, hardware).by_blocks, 0.5);
  EXPECT_EQ(occupancy_limits({100000, 32, 16, 0}, hardware).least(), 0.5);
  // 75 KiB and 1 KiB reserved per block: three blocks of 256 threads in 228 KiB.
  EXPECT_EQ(occupancy_limits({1000, 256, 16, 75 * 1024}, hardware).by_shared, 3 * 8 / 64.0);
  // 8 blocks of 256 threads on 10 multiprocessors of 2048.
  EXPECT_EQ(occupancy_limits({8, 256, 16, 0}, hardware).by_grid, 0.1);
  EXPECT_EQ(occupancy_limits({8, 256, 16, 0}, hardware).least(), 0.1);
  // A partial warp counts as a full one.
  EXPECT_EQ(occupancy_limits({64, 33, 16, 0}, hardware).by_grid, 128 / 640.0);
}

TEST(ProPlusPlus, WarpEfficiencyIsActiveLanesOver32) {
  KernelRun kernel;
  kernel.counts.warp_instructions = 100;
  kernel.counts.lane_instructions = 1600;
  EXPECT_THAT(value_of(Criterion::warp_efficiency, one(kernel)), Optional(0.5));
  kernel.counts.lane_instructions = 3200;
  EXPECT_THAT(value_of(Criterion::warp_efficiency, one(kernel)), Optional(1.0));
}

TEST(ProPlusPlus, SynchronizationIsOneWithoutLosses) {
  KernelRun kernel;
  kernel.seconds = 1;
  kernel.stalled = 0;
  EXPECT_THAT(value_of(Criterion::synchronization, one(kernel)), Optional(1.0));
  kernel.stalled = 0.5;
  EXPECT_THAT(value_of(Criterion::synchronization, one(kernel)), Optional(0.75));
  Primitive two = one(kernel);
  two.kernels.push_back(kernel);
  two.between_seconds = 2;  // half of the total time is between the kernels
  EXPECT_THAT(value_of(Criterion::synchronization, two), Optional(0.5));
  const Criteria barriers_alone = criteria_of(two, round_hardware(), {1, 0});
  EXPECT_THAT(barriers_alone[Criterion::synchronization], Optional(0.5));
  kernel.stalled = -1;
  EXPECT_EQ(value_of(Criterion::synchronization, one(kernel)), std::nullopt);
}

TEST(ProPlusPlus, InstructionsMeasureIdleArithmeticUnits) {
  KernelRun kernel;
  kernel.seconds = 1e-6;  // 1000 cycles of 10 multiprocessors
  kernel.counts.integers = 64 * 10 * 250;
  EXPECT_THAT(value_of(Criterion::instructions, one(kernel)), Optional(DoubleNear(0.75, 1e-12)));
  kernel.counts.singles = 128 * 10 * 250;
  kernel.counts.doubles = 64 * 10 * 250;
  EXPECT_THAT(value_of(Criterion::instructions, one(kernel)), Optional(DoubleNear(0.25, 1e-12)));
  kernel.counts.doubles = 64 * 10 * 2500;  // more than the time allows counts as 0
  EXPECT_THAT(value_of(Criterion::instructions, one(kernel)), Optional(0.0));
  kernel.seconds = 0;
  EXPECT_EQ(value_of(Criterion::instructions, one(kernel)), std::nullopt);
}

TEST(ProPlusPlus, NearAccessesMeasureTheMemoryHierarchy) {
  KernelRun kernel;
  kernel.counts.textures = 1;
  kernel.counts.locals = 2;
  kernel.counts.shared = 3;
  kernel.counts.globals = 18;
  EXPECT_THAT(value_of(Criterion::memory_hierarchy, one(kernel)), Optional(0.25));
  EXPECT_EQ(value_of(Criterion::memory_hierarchy, one({})), std::nullopt);
}

TEST(ProPlusPlus, TransferredBytesMeasureMemoryUse) {
  KernelRun kernel;
  kernel.seconds = 1e-3;
  kernel.counts.moved_bytes = 400'000'000;  // of 1e9 bytes possible
  EXPECT_THAT(value_of(Criterion::memory_coalescing, one(kernel)), Optional(DoubleNear(0.4, 1e-12)));
}

TEST(ProPlusPlus, TransfersCostUnlessTheyOverlap) {
  Primitive primitive = one({});
  primitive.problem_bytes = 100;
  EXPECT_THAT(value_of(Criterion::data_transfer, primitive), Optional(1.0));
  primitive.copies = {{100, false}};
  EXPECT_THAT(value_of(Criterion::data_transfer, primitive), Optional(0.5));
  EXPECT_THAT(printed_data_transfer(primitive), Optional(0.0));
  primitive.copies = {{100, true}};
  EXPECT_THAT(value_of(Criterion::data_transfer, primitive), Optional(1.0));
  EXPECT_THAT(printed_data_transfer(primitive), Optional(0.5));
  primitive.copies = {{1'000'000, false}};
  EXPECT_THAT(printed_data_transfer(primitive), Optional(DoubleNear(-0.5, 1e-3)));
  EXPECT_THAT(printed_data_transfer(primitive), Optional(testing::Gt(-0.5)));
}

TEST(ProPlusPlus, SeveralKernelsAreWeightedByTheirTime) {
  KernelRun brief;
  brief.configuration = {1000, 256, 128, 0};  // 0.25
  brief.seconds = 1;
  brief.balance = 0.2;
  KernelRun lengthy;
  lengthy.configuration = {1000, 256, 16, 0};  // 1
  lengthy.seconds = 3;
  lengthy.balance = 0.6;
  Primitive both = one(brief);
  both.kernels.push_back(lengthy);
  EXPECT_THAT(value_of(Criterion::occupancy, both), Optional(DoubleEq((0.25 + 3) / 4)));
  EXPECT_THAT(value_of(Criterion::load_balancing, both), Optional(DoubleEq(0.5)));
}

// ---- blocks on multiprocessors ---------------------------------------------------------------------------

TEST(ProPlusPlus, EvenBlocksFillAllMultiprocessorsUniformly) {
  const std::vector<BlockSteps> blocks(8, {10, 40});  // four warps each
  const Schedule all = schedule(blocks, 4, 2);
  EXPECT_EQ(all.steps, 10u);
  EXPECT_THAT(all.active_warps, ElementsAre(8, 8, 8, 8));
  EXPECT_EQ(all.balance(8), 1);
  EXPECT_EQ(all.balance(64), 0.125);
}

TEST(ProPlusPlus, OneLongBlockLeavesTheOthersIdle) {
  std::vector<BlockSteps> blocks(4, {10, 10});
  blocks[1] = {40, 40};
  const Schedule all = schedule(blocks, 4, 1);
  EXPECT_EQ(all.steps, 40u);
  EXPECT_THAT(all.active_warps, ElementsAre(0.25, 1, 0.25, 0.25));
  EXPECT_EQ(all.balance(1), 1.75 / 4);
}

TEST(ProPlusPlus, BlocksWaitForAFreeSlot) {
  const Schedule all = schedule(std::vector<BlockSteps>(3, {10, 10}), 2, 1);
  EXPECT_EQ(all.steps, 20u);
  EXPECT_THAT(all.of_each, ElementsAre(20, 10));
  EXPECT_EQ(schedule({}, 2, 1).balance(64), 0);
}

// ---- weights ---------------------------------------------------------------------------------------------

TEST(ProPlusPlus, QualityIsTheWeightedMeanOfKnownCriteria) {
  Criteria criteria;
  criteria.values = {1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_THAT(quality(criteria, paper_weights()), Optional(1.0));
  EXPECT_TRUE(gaps(criteria, paper_weights()).empty());
  criteria[Criterion::memory_coalescing] = 0.5;
  criteria[Criterion::synchronization] = 0;
  EXPECT_THAT(quality(criteria, paper_weights()), Optional(DoubleEq(1 - 60 / 405.0)));
  const std::vector<Gap> found = gaps(criteria, paper_weights());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].criterion, Criterion::memory_coalescing);
  EXPECT_DOUBLE_EQ(found[0].size, 50 / 405.0);
  EXPECT_DOUBLE_EQ(found[1].size, 10 / 405.0);
  criteria[Criterion::memory_coalescing].reset();
  EXPECT_THAT(quality(criteria, paper_weights()), Optional(DoubleEq(1 - 10 / 305.0)));
  EXPECT_EQ(quality({}, paper_weights()), std::nullopt);
}

TEST(ProPlusPlus, WeightsSurviveARoundTrip) {
  Weights weights = paper_weights();
  weights.of[Criterion::data_transfer] = 0.125;
  const Result<Weights> read = parse_weights(to_json(weights), "weights.json");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->of, weights.of);
  EXPECT_EQ(read->source, weights.source);
}

TEST(ProPlusPlus, InvalidWeightsAreReportedByName) {
  const auto refusal = [](const std::string& text) {
    const Result<Weights> read = parse_weights(text, "w.json");
    return read ? std::string() : render(read.error().diagnostics);
  };
  EXPECT_THAT(refusal("{"), HasSubstr("w.json:1:2: error: syntax error"));
  EXPECT_THAT(refusal("[]"), HasSubstr("no object 'weights'"));
  const std::string text =
      refusal(R"({"weights": {"OC": -1, "LB": "x", "WE": 1, "SO": 1, "IO": 1, "MH": 1, "MK": 1, "DT": 1}})");
  EXPECT_THAT(text, HasSubstr("the weight of OC must be a non-negative number"));
  EXPECT_THAT(text, HasSubstr("the weight of LB must be"));
  EXPECT_THAT(text, HasSubstr("there is no criterion 'MK'"));
  EXPECT_THAT(text, HasSubstr("the weight of MC is missing"));
  EXPECT_THAT(
      refusal(R"({"weights": {"OC": 0, "LB": 0, "WE": 0, "SO": 0, "IO": 0, "MH": 0, "MC": 0, "DT": 0}})"),
      HasSubstr("all weights are 0"));
}

TEST(ProPlusPlus, UnknownDevicePropertiesAreAssumed) {
  bool assumes = false;
  DeviceFigures figures;
  figures.multiprocessors = 66;
  EXPECT_DOUBLE_EQ(hardware_of(figures, &assumes).memory_rate, 3.35e12 / 2);
  EXPECT_TRUE(assumes);
  figures.clock_khz = 1;
  figures.memory_clock_khz = 2619000;
  figures.memory_bus_bits = 5120;
  EXPECT_DOUBLE_EQ(hardware_of(figures, &assumes).memory_rate, 3.35232e12);
  EXPECT_FALSE(assumes);
  EXPECT_EQ(arithmetic_rates(86).singles, 128);
  EXPECT_EQ(arithmetic_rates(61).singles, 64);
  EXPECT_EQ(arithmetic_rates(999).doubles, 2);
}

}  // namespace
}  // namespace lynxpp::models::proplusplus
