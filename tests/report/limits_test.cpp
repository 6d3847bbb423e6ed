// Limits from records of trials written by hand.
#include "report/limits/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace lynxpp::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TrialRecord trial(const std::string& perturbation, std::vector<double> ms,
                  std::vector<TrialRecord::Site> sites = {}) {
  TrialRecord record;
  record.kernel = "_Z9transposePfPKf";
  record.device = "gpu";
  record.grid[0] = 300;
  record.block[0] = 256;
  record.perturbation = perturbation;
  record.ms = std::move(ms);
  record.sites = std::move(sites);
  record.registers = 32;
  record.blocks_per_sm = 8;
  record.launches = 100;
  return record;
}

std::vector<TrialRecord> transpose() {
  const TrialRecord::Site load{31, "/src/transpose.cu", 24, "ld.shared.f32", ""};
  const TrialRecord::Site store{29, "/src/transpose.cu", 20, "st.shared.f32", ""};
  return {trial("", {0.9, 0.4, 0.4, 0.4}),
          trial("barrier:again", {0.5, 0.42, 0.42}, {{30, "", 0, "bar.sync", ""}}),
          trial("barrier:harmless", {0.5, 0.42, 0.42}),
          trial("shared-access:again", {0.8, 0.7, 0.7}, {load, store}),
          trial("shared-access:harmless", {0.5, 0.42, 0.42}),
          trial("shared-access:again@29", {0.8, 0.42, 0.42}, {store}),
          trial("shared-access:harmless@29", {0.5, 0.42, 0.42}),
          trial("shared-access:again@31", {0.8, 0.68, 0.68}, {load}),
          trial("shared-access:harmless@31", {0.5, 0.42, 0.42}),
          trial("occupancy:again", {0.5, 0.44, 0.44})};
}

TEST(Limits, AreOrderedByGain) {
  const std::vector<KernelLimits> kernels = limits_of(transpose(), {});
  ASSERT_EQ(kernels.size(), 1u);
  const KernelLimits& kernel = kernels[0];
  EXPECT_DOUBLE_EQ(kernel.native_ms, 0.4);
  EXPECT_EQ(kernel.timed, 31u);
  ASSERT_EQ(kernel.limits.size(), 3u);
  EXPECT_EQ(kernel.limits[0].operation, "shared-access");
  EXPECT_NEAR(kernel.limits[0].gain.at_most, 0.75, 1e-9) << "all accesses";
  EXPECT_NEAR(kernel.limits[0].pattern->at_most, 0.7, 1e-9) << "against harmless ones";
  EXPECT_FALSE(kernel.limits[1].pattern.has_value());
  EXPECT_EQ(kernel.limits[1].operation, "occupancy") << "compared with the original";
  EXPECT_NEAR(kernel.limits[1].gain.at_most, 0.1, 1e-9);
  EXPECT_EQ(verdict_of(kernel.limits[2].gain), Verdict::not_limited);
}

TEST(Limits, NameTheLineThatExplainsTheCost) {
  const Limit limit = limits_of(transpose(), {})[0].limits[0];
  ASSERT_EQ(limit.lines.size(), 2u);
  EXPECT_NEAR(limit.lines[0].gain.at_most, 0.7, 1e-9);
  ASSERT_EQ(limit.lines[0].locations.size(), 1u);
  EXPECT_EQ(limit.lines[0].locations[0].text(), "transpose.cu:24");
  EXPECT_THAT(limit.lines[0].locations[0].opcodes, ElementsAre("ld.shared.f32"));
}

TEST(Limits, OmitGroupsOfLinesWithASmallerCulprit) {
  std::vector<TrialRecord> trials = transpose();
  trials.push_back(trial("shared-access:again@29+31", {0.8, 0.7, 0.7}));
  trials.push_back(trial("shared-access:harmless@29+31", {0.5, 0.42, 0.42}));
  EXPECT_EQ(limits_of(trials, {})[0].limits[0].lines.size(), 2u);
}

TEST(Limits, MergeInstructionsOfALine) {
  std::vector<TrialRecord> trials = {trial("", {1, 1}),
                                     trial("fp32:again", {2, 2},
                                           {{4, "a.cu", 7, "add.f32", ""},
                                            {5, "a.cu", 7, "mul.f32", ""},
                                            {6, "a.cu", 7, "add.f32", ""},
                                            {9, "", 0, "add.f32", ""}}),
                                     trial("fp32:harmless", {1, 1})};
  const std::vector<LimitLocation> locations = limits_of(trials, {})[0].limits[0].locations;
  ASSERT_EQ(locations.size(), 2u);
  EXPECT_THAT(locations[0].opcodes, ElementsAre("add.f32", "mul.f32"));
  EXPECT_EQ(locations[1].text(), "PTX line 9");
}

/// A kernel whose loads cost 80 %. Another pattern saves 60 %, and reuse 50 %.
std::vector<TrialRecord> misaligned() {
  std::vector<TrialRecord> trials{trial("", {1, 1, 1}),
                                  trial("copy:again", {1, 1, 1}),
                                  trial("global-access:again", {1.8, 1.8, 1.8}),
                                  trial("global-access:harmless", {1.2, 1.2, 1.2}),
                                  trial("fp32:again", {1.1, 1.1}),
                                  trial("fp32:harmless", {1, 1}),
                                  trial("reuse:again", {1.5, 1.5, 1.5}),
                                  trial("bytes:again", {2}),
                                  trial("moving:again", {1.3, 0.8, 0.9})};
  trials[7].counts = {{"bytes", 134000000, 67000000}};
  return trials;
}

TEST(Limits, KeepTheBytesThatTheKernelNeeds) {
  const KernelLimits kernel = limits_of(misaligned(), {})[0];
  ASSERT_TRUE(kernel.moving);
  EXPECT_EQ(kernel.moving->read_bytes, 134000000u);
  EXPECT_DOUBLE_EQ(kernel.moving->ms, 0.8) << "the least";
  EXPECT_DOUBLE_EQ(kernel.moving->at_most, 1 - 0.9 * 0.8);
  ASSERT_EQ(kernel.limits[0].operation, "global-access");
  EXPECT_NEAR(kernel.limits[0].gain.at_most, 0.8, 1e-9) << "accesses that go take their bytes with them";
  EXPECT_DOUBLE_EQ(kernel.limits[0].pattern->at_most, 1 - 0.9 * 0.8);
  EXPECT_DOUBLE_EQ(kernel.limits[0].reuse->at_most, 1 - 0.9 * 0.8);
  EXPECT_THAT(
      limits_text(kernel, 300),
      HasSubstr(
          "Memory: changes that keep the bytes that the kernel reads (134 MB) and writes (67 MB) gain at "
          "most 28 %: only moving them takes 0.8000 ms (measured)."));
}

/// Few lanes of a warp gather: electing a lane and broadcasting its address takes longer than their accesses.
TEST(Limits, SayNothingAboutAPatternIfHarmlessAccessesTakeLonger) {
  std::vector<TrialRecord> trials{trial("", {0.089, 0.089, 0.089}),
                                  trial("global-access:again", {0.15, 0.15, 0.15}),
                                  trial("global-access:harmless", {0.34, 0.34, 0.34})};
  const Limit limit = limits_of(trials, {})[0].limits[0];
  ASSERT_TRUE(limit.pattern);
  EXPECT_NEAR(limit.pattern->at_most, limit.gain.at_most, 1e-9) << "no more than all accesses";
  EXPECT_EQ(limit.pattern->low, 0);
  EXPECT_EQ(verdict_of(*limit.pattern), Verdict::unclear) << "so that findings keep their estimates";
  trials.back().ms = {0.15, 0.15, 0.15};
  EXPECT_EQ(verdict_of(*limits_of(trials, {})[0].limits[0].pattern), Verdict::not_limited)
      << "another pattern costs the same";
}

TEST(Limits, PromiseMoreWhereFewBytesAreNeeded) {
  std::vector<TrialRecord> trials = misaligned();
  trials.back().ms = {0.2, 0.1};
  const Limit limit = limits_of(trials, {})[0].limits[0];
  EXPECT_NEAR(limit.pattern->at_most, 0.6, 1e-9);
  EXPECT_NEAR(limit.reuse->at_most, 0.5, 1e-9) << "what repeating the loads costs";
  trials.front().note = "its launches are not repeated: it may write what it reads";
  EXPECT_NEAR(limits_of(trials, {})[0].limits[0].reuse->at_most, 0.8, 1e-9) << "stores may go, too";
  trials.pop_back();
  EXPECT_FALSE(limits_of(trials, {})[0].moving) << "not measured";
}

TEST(Limits, CompareRepeatedLoadsWithTheCodeAroundThem) {
  std::vector<TrialRecord> trials = misaligned();
  trials.back().ms = {0.2, 0.1};
  trials.push_back(trial("reuse:harmless", {1.3, 1.3, 1.3}));
  EXPECT_NEAR(limits_of(trials, {})[0].limits[0].reuse->at_most, 0.2, 1e-9);
}

TEST(Limits, IncludeStoresOfIntermediateValues) {
  std::vector<TrialRecord> trials = misaligned();
  trials.back().ms = {0.2, 0.1};
  trials[7].counts = {{"bytes", 100, 50}, {"intermediate", 250, 0}};
  trials.push_back(trial("lanes:again", {}));
  const auto reuse = [&](std::uint64_t accesses) {
    trials.back().counts = {{"global-access", accesses, accesses}};
    return limits_of(trials, {})[0].limits[0].reuse->at_most;
  };
  EXPECT_NEAR(reuse(400), 0.5, 1e-9) << "memory is updated in place";
  EXPECT_NEAR(reuse(401), 0.8, 1e-9) << "more accesses than bytes";
  trials[7].counts[1].count = 0;
  EXPECT_NEAR(reuse(401), 0.5, 1e-9) << "it reads nothing that it writes";
  trials[7].counts = {{"intermediate", 250, 0}};
  EXPECT_FALSE(limits_of(trials, {})[0].moving) << "they need no memory";
}

TEST(Limits, SayWhyAClassWasNotTried) {
  std::vector<TrialRecord> trials = {trial("", {1, 1, 1}), trial("atomic:again", {}),
                                     trial("atomic:harmless", {}), trial("fp64:again", {1, 1})};
  trials[1].note = "the function is called indirectly";
  const std::vector<Untried> untried = limits_of(trials, {})[0].untried;
  ASSERT_EQ(untried.size(), 2u);
  EXPECT_EQ(untried[0].reason, "the function is called indirectly");
  EXPECT_EQ(untried[1].reason, "one of its two variants is missing");
}

TEST(Limits, SayThatLaunchesDoNotSuffice) {
  std::vector<TrialRecord> trials = {trial("", {1}), trial("atomic:again", {}), trial("atomic:harmless", {})};
  for (TrialRecord& each : trials) each.launches = 1;
  const std::vector<KernelLimits> kernels = limits_of(trials, {});
  EXPECT_THAT(limits_text(kernels[0], 200),
              HasSubstr("Not tried: atomic: 1 launch does not suffice; --replay repeats them."));
}

TEST(Limits, NameVariantsThatChangeMore) {
  std::vector<TrialRecord> trials = transpose();
  trials[3].blocks_per_sm = 7;
  trials[3].registers = 40;
  trials[3].spill_bytes = 16;
  trials[3].sites[0].note = "same address";
  trials.back().blocks_per_sm = 7;  // occupancy: as intended
  const KernelLimits kernel = limits_of(trials, {})[0];
  EXPECT_THAT(kernel.limits[0].notes, ElementsAre("the variants add same address for 1 of 2 instructions",
                                                  "variant 'again' has 7 blocks per SM instead of 8",
                                                  "variant 'again' spills 16 more bytes per thread"));
  EXPECT_THAT(kernel.limits[0].registers, ElementsAre(40u));
  EXPECT_THAT(kernel.limits[0].left_out, IsEmpty());
  trials[3].sites[0].is_left_out = true;
  const Limit partial = limits_of(trials, {})[0].limits[0];
  EXPECT_THAT(partial.left_out, ElementsAre("same address for 1 of 2 instructions"));
  EXPECT_EQ(partial.locations.size(), 1u) << "only what was tried";
  EXPECT_THAT(kernel.limits[1].notes, IsEmpty());
}

TEST(Limits, BelongToLaunchShapesAndProcesses) {
  std::vector<TrialRecord> trials = transpose();
  for (const double ms : {2.0, 4.0}) {  // another shape, then the first one in another process
    std::vector<TrialRecord> others = {trial("", {ms, ms}), trial("fp32:again", {ms, ms}),
                                       trial("fp32:harmless", {ms, ms})};
    for (TrialRecord& each : others) each.grid[0] = ms == 2 ? 10 : 300;
    trials.insert(trials.end(), others.begin(), others.end());
  }
  const std::vector<KernelLimits> kernels = limits_of(trials, {});
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].native_ms, 4);
  EXPECT_EQ(kernels[0].limits.size(), 1u);
  EXPECT_EQ(kernels[1].grid[0], 10u);
  EXPECT_EQ(kernels[2].limits.size(), 3u);
}

TEST(Limits, AreExactOnAModelledClock) {
  std::vector<TrialRecord> trials = {trial("", {1}), trial("fp32:again", {1.5}),
                                     trial("fp32:harmless", {1.25})};
  for (TrialRecord& each : trials) each.is_modelled = true;
  const Gain gain = limits_of(trials, {})[0].limits[0].gain;
  EXPECT_EQ(gain.low, 0.25);
  EXPECT_EQ(gain.high, 0.25);
}

TEST(Limits, CountWaves) {
  DeviceRecord device{.device = "gpu", .multiprocessors = 25};
  const KernelLimits::Waves waves = limits_of(transpose(), std::vector{device})[0].waves.value();
  EXPECT_DOUBLE_EQ(waves.full(), 1.5);
  EXPECT_DOUBLE_EQ(waves.idle(), 0.25);
  device.multiprocessors = 500;
  EXPECT_THAT(limits_text(limits_of(transpose(), std::vector{device})[0], 200),
              HasSubstr("300 blocks occupy 300 of 500 multiprocessors"));
}

TEST(Limits, BoundTheGainOfMoreBlocksByThreads) {
  DeviceRecord device{.device = "gpu", .multiprocessors = 25, .threads_per_sm = 2048};
  std::vector<TrialRecord> trials = {trial("", {1, 1, 1}), trial("occupancy:again", {1.2, 1.2, 1.2})};
  const auto gain = [&](std::uint64_t blocks_per_sm, double again) {
    trials[0].blocks_per_sm = blocks_per_sm;
    trials[1].ms = {again, again, again};
    return limits_of(trials, std::vector{device})[0].limits[0].gain.at_most;
  };
  EXPECT_DOUBLE_EQ(gain(2, 2), 0.75) << "2 of 8 blocks: all time is latency";
  EXPECT_DOUBLE_EQ(gain(2, 3), 0.75) << "not more than in proportion";
  EXPECT_NEAR(gain(2, std::sqrt(2.0)), 0.5, 1e-9) << "time falls with the root of the blocks";
  EXPECT_DOUBLE_EQ(gain(2, 1.05), 0) << "time hardly goes with the blocks";
  EXPECT_DOUBLE_EQ(gain(8, 1.3), 0) << "no more fit";
}

/// Trials of all classes: the driver's copy of a kernel of 1 ms takes 1.25 ms.
std::vector<TrialRecord> all_classes() {
  const auto three = [](double ms) { return std::vector<double>{ms, ms, ms}; };
  const TrialRecord::Site load{4, "a.cu", 7, "ld.global.f32", ""}, sum{5, "a.cu", 7, "add.f32", ""},
      wait{6, "a.cu", 9, "bar.sync", ""};
  return {trial("", three(1)),
          trial("global-access:again", three(1.75), {load}),
          trial("global-access:harmless", three(1.375)),
          trial("fp32:again", three(1.375), {sum}),
          trial("fp32:harmless", three(1.25)),
          trial("barrier:again", three(1.25), {wait}),
          trial("barrier:harmless", three(1.25)),
          trial("copy:again", three(1.25)),
          trial("more-registers:again", three(0.75)),
          trial("lanes:again", {}),
          trial("waits:again", {})};
}

const Limit* find(const KernelLimits& kernel, const std::string& operation) {
  const auto found = std::ranges::find(kernel.limits, operation, &Limit::operation);
  return found != kernel.limits.end() ? &*found : nullptr;
}

TEST(Limits, AreComparedWithTheCopyThatTheDriverCompiled) {
  const KernelLimits kernel = limits_of(all_classes(), {})[0];
  const Limit& access = *find(kernel, "global-access");
  EXPECT_DOUBLE_EQ(access.gain.at_most, 0.5);
  EXPECT_DOUBLE_EQ(access.pattern->at_most, 0.375);
  EXPECT_DOUBLE_EQ(access.reuse->at_most, 0.125);
  EXPECT_DOUBLE_EQ(find(kernel, "more-registers")->gain.at_most, 0.5) << "measured";
  EXPECT_EQ(find(kernel, "copy"), nullptr);
}

TEST(Limits, LeaveTimeThatNoClassExplains) {
  const KernelLimits kernel = limits_of(all_classes(), {})[0];
  EXPECT_EQ(kernel.limits.back().operation, "waiting");
  EXPECT_DOUBLE_EQ(kernel.limits.back().gain.at_most, 0.5) << "the loads explain the other half";
  EXPECT_EQ(find(limits_of(transpose(), {})[0], "waiting"), nullptr) << "not all classes were tried";
}

TEST(Limits, BoundBarriersByTheClocks) {
  std::vector<TrialRecord> trials = all_classes();
  trials.back().counts = {{"barrier", 30, 100}};
  Limit barrier = *find(limits_of(trials, {})[0], "barrier");
  EXPECT_DOUBLE_EQ(barrier.gain.at_most, 0.3);
  EXPECT_THAT(barrier.notes, ElementsAre("by the clocks, threads wait for 30 % of their time"));
  trials.back().counts = {{"barrier", 80, 100}};
  barrier = *find(limits_of(trials, {})[0], "barrier");
  EXPECT_DOUBLE_EQ(barrier.gain.at_most, 0.5) << "the loads explain the other half";
}

TEST(Limits, BoundBarriersByTheThroughputOfSharedMemory) {
  // 16,000 accesses of warps on each of two multiprocessors: 0.4 ms at 40 MHz.
  DeviceRecord device{.device = "gpu", .multiprocessors = 2, .clock_khz = 40000};
  std::vector<TrialRecord> trials = all_classes();
  trials[9].counts = {{"shared-access", 32000 * 20, 32000 * 32}, {"fetch", 64, 64}};
  trials.back().counts = {{"barrier", 90, 100}};
  trials.push_back(trial("shared-access:again", {1.8, 1.8, 1.8}));
  trials.push_back(trial("shared-access:harmless", {1.8, 1.8, 1.8}));
  trials[1].ms = trials[2].ms = {1.25, 1.25, 1.25};  // global accesses cost nothing
  KernelLimits kernel = limits_of(trials, std::vector{device})[0];
  EXPECT_NEAR(kernel.shared->at_most, 0.4, 1e-9) << "repeating them costs 0.55";
  EXPECT_NEAR(find(kernel, "barrier")->gain.at_most, 0.6, 1e-9);
  device.clock_khz = 20000;
  kernel = limits_of(trials, std::vector{device})[0];
  EXPECT_NEAR(kernel.shared->at_most, 0.55, 1e-9) << "the assembler may have combined accesses";
  EXPECT_NEAR(find(kernel, "barrier")->gain.at_most, 0.45, 1e-9);
  EXPECT_FALSE(limits_of(trials, {})[0].shared) << "an unknown device";
}

TEST(Limits, AreAtTheWaitsThatTheClocksFound) {
  std::vector<TrialRecord> trials = all_classes();
  trials.push_back(trial("async-copy:again", {1.25, 1.25}, {{2, "a.cu", 3, "cp.async.cg", ""}}));
  trials.push_back(trial("async-copy:harmless", {1.25, 1.25}));
  trials.push_back(
      trial("waits:again", {}, {{6, "a.cu", 9, "bar.sync", ""}, {8, "a.cu", 12, "cp.async.wait_all", ""}}));
  trials.back().counts = {{"async-copy", 30, 100}};
  const Limit copies = *find(limits_of(trials, {})[0], "async-copy");
  EXPECT_DOUBLE_EQ(copies.gain.at_most, 0.3);
  ASSERT_EQ(copies.locations.size(), 1u);
  EXPECT_EQ(copies.locations[0].text(), "a.cu:12");
}

TEST(Limits, LeaveTheTimeThatOtherClassesNeed) {
  std::vector<TrialRecord> trials = all_classes();
  trials[3].ms = {2, 2, 2};  // fp32 costs 0.75 of the time, and the loads 0.5
  const KernelLimits kernel = limits_of(trials, {})[0];
  const Limit& access = *find(kernel, "global-access");
  EXPECT_DOUBLE_EQ(access.gain.at_most, 0.25);
  EXPECT_DOUBLE_EQ(access.cost, 0.5);
  EXPECT_DOUBLE_EQ(access.pattern->at_most, 0.25);
  EXPECT_DOUBLE_EQ(access.reuse->at_most, 0.125);
  EXPECT_DOUBLE_EQ(find(kernel, "fp32")->gain.at_most, 0.5);
  EXPECT_DOUBLE_EQ(find(kernel, "waiting")->gain.at_most, 0.25);
  EXPECT_DOUBLE_EQ(kernel.lines.at(0).at_most, 1) << "both go";
  trials[3].blocks_per_sm = 7;
  EXPECT_DOUBLE_EQ(find(limits_of(trials, {})[0], "global-access")->gain.at_most, 0.5)
      << "fewer blocks may be why the variant is slow";
}

TEST(Limits, DoNotBoundBarriersByOperationsThatTheyOrder) {
  std::vector<TrialRecord> trials = all_classes();
  trials[3].ms = {2, 2, 2};
  trials[5].ms = {1.75, 1.75, 1.75};
  EXPECT_DOUBLE_EQ(find(limits_of(trials, {})[0], "barrier")->gain.at_most, 0.5);
}

TEST(Limits, CountRoundsOfMultiprocessorsIfBlocksShareThroughput) {
  const DeviceRecord device{.device = "gpu", .multiprocessors = 140, .threads_per_sm = 2048};
  std::vector<TrialRecord> trials = {trial("", {1, 1, 1}), trial("occupancy:again", {1, 1, 1})};
  trials[0].blocks_per_sm = 2;
  const auto waves = [&] { return limits_of(trials, std::vector{device})[0].waves.value(); };
  EXPECT_DOUBLE_EQ(waves().idle(), 1 - 300 / 140. / 3) << "at most 3 blocks on a multiprocessor";
  trials[1].ms = {1.2, 1.2, 1.2};
  EXPECT_DOUBLE_EQ(waves().idle(), 1 - 300 / 280. / 2) << "a block leaves the other more than its share";
}

TEST(Limits, ChargeIdleLanesWithTheirShareOfEachClass) {
  std::vector<TrialRecord> trials = all_classes();
  EXPECT_EQ(find(limits_of(trials, {})[0], "divergence"), nullptr) << "not counted";
  trials[9].counts = {{"fp32", 48, 64}, {"global-access", 64, 64}, {"fetch", 192, 256}};
  const Limit divergence = *find(limits_of(trials, {})[0], "divergence");
  // An eighth of the time in arithmetic and three eighths unexplained, at a quarter of the lanes.
  EXPECT_DOUBLE_EQ(divergence.gain.at_most, 0.125 * 0.25 + 0.375 * 0.25);
  EXPECT_THAT(divergence.notes, ElementsAre("25 % of the lanes that instructions are issued for are idle"));
}

TEST(Limits, SumTheClassesOfALine) {
  const KernelLimits kernel = limits_of(all_classes(), {})[0];
  ASSERT_EQ(kernel.lines.size(), 1u) << "the barrier costs nothing";
  EXPECT_EQ(kernel.lines[0].location.text(), "a.cu:7");
  EXPECT_DOUBLE_EQ(kernel.lines[0].at_most, 0.625);
  EXPECT_THAT(kernel.lines[0].operations, ElementsAre("global-access", "fp32"));
  EXPECT_THAT(limits_text(kernel, 200),
              HasSubstr("All classes of a line, gain at most: a.cu:7 62 % (global-access, fp32)."));
}

TEST(LimitsText, ShowsTheTable) {
  DeviceRecord device{.device = "gpu", .multiprocessors = 25};
  EXPECT_EQ(
      limits_text(limits_of(transpose(), std::vector{device})[0], 100),
      "== limits of transpose(float*, float const*) ==\n"
      "On gpu, grid 300, block 256: 100 launches of 0.4000 ms (measured); 31 launches were timed.\n"
      "  gain at      95 %  by another  limited by     where\n"
      "     most  interval     pattern\n"
      "     75 %      75 %        70 %  shared-access  70 %: transpose.cu:24 (ld.shared.f32); 5 %: "
      "transpose.cu:20 (st.shared.f32)\n"
      "     10 %      10 %              occupancy\n"
      "  Not limited by, gain at most: barrier (0 %).\n"
      "  Blocks: 300 blocks run in 1.50 waves on 25 multiprocessors with 8 blocks each: if all take equally\n"
      "  long, the last wave leaves 25 % of the slots' time idle; choose a grid that fills its waves, or\n"
      "  let blocks fetch work.\n"
      "  Try for shared-access: pad or swizzle the shared array so that the lanes of a warp access\n"
      "  different banks; access 8 or 16 bytes per lane; keep values in registers.\n"
      "  Try for occupancy: use fewer registers or less shared memory per block so that more blocks are\n"
      "  resident, or let each thread do more independent work.\n");
}

TEST(LimitsText, ShowsRemediesBesideTheirPredictions) {
  std::vector<TrialRecord> trials = all_classes();
  trials[8].results = "identical";
  TrialRecord loads = trial("read-only-loads:again", {1.25, 1.25, 1.25});
  loads.results = "not compared: other launches may run";
  trials.push_back(loads);
  const KernelLimits kernel = limits_of(trials, {})[0];
  ASSERT_EQ(kernel.remedies.size(), 2u);
  EXPECT_DOUBLE_EQ(kernel.remedies[0].gain.at_most, 0.5);
  const std::string text = limits_text(kernel, 300);
  EXPECT_THAT(
      text,
      HasSubstr("Tried no limit of registers: gains 50 % (50 %); at most 50 % predicted by waiting; results "
                "are identical."));
  EXPECT_THAT(
      text, HasSubstr("gains nothing; at most 50 % predicted by global-access; results not compared: other"));
  EXPECT_THAT(text, HasSubstr("Not tried: padding of arrays"));
}

TEST(LimitsText, SaysThatNothingLimits) {
  const std::vector<TrialRecord> trials = {trial("", {1, 1, 1}), trial("fp32:again", {1, 1, 1}),
                                           trial("fp32:harmless", {1, 1, 1})};
  const std::string text = limits_text(limits_of(trials, {})[0], 100);
  EXPECT_THAT(text, HasSubstr("None of the classes of operations that were tried limits this kernel."));
  EXPECT_THAT(text, Not(HasSubstr("-lineinfo")));
}

TEST(LimitsPage, HasABarWithWhiskersForEachClass) {
  const std::string html = limits_html(limits_of(transpose(), {}));
  EXPECT_THAT(html, HasSubstr("<title>shared-access: at most 75 %, 95 % interval 75 %</title>"));
  EXPECT_THAT(html, HasSubstr("<title>barrier: at most 0 %"));
  EXPECT_THAT(html, HasSubstr("not limited by them"));
  EXPECT_THAT(html,
              HasSubstr("<td>75 %</td><td>75 %</td><td>70 %</td><td></td><td class=\"text\">shared-access"));
}

TEST(Advice, ExistsForEveryOperation) {
  for (const char* const operation :
       {"shared-access", "global-access", "atomic", "barrier", "async-copy", "branch", "fp32", "fp64",
        "integer", "integer-division", "special-function", "tensor", "fetch", "local-memory", "occupancy",
        "waiting", "divergence", "more-registers", "fewer-registers"}) {
    EXPECT_NE(advice_on(operation), "") << operation;
  }
  EXPECT_EQ(advice_on("unknown"), "");
}

}  // namespace
}  // namespace lynxpp::report
