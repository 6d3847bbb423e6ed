#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "models/clock/device.h"

namespace lynxpp::models::clock {
namespace {

Machine gtx() { return *find_machine("compute_1_3"); }

/// A grid whose warps' steps are given by a function, all at once.
class ScriptedGrid final : public Grid {
 public:
  using Script = std::function<Steps(std::uint64_t block, std::uint32_t warp)>;
  explicit ScriptedGrid(Script script) : script_(std::move(script)) {}

  Status begin(std::uint64_t block, std::uint32_t slot, std::uint32_t multiprocessor) override {
    slots_[slot] = {block, {}};
    multiprocessors.push_back(multiprocessor);
    return success();
  }
  Result<More> advance(std::uint32_t slot, std::uint32_t warp, double, Steps& steps) override {
    auto& [block, told] = slots_[slot];
    if (told.size() <= warp) told.resize(warp + 1);
    if (told[warp]) return More::ended;
    told[warp] = true;
    steps = script_(block, warp);
    return More::steps;
  }
  Failure why_stuck(std::uint32_t) override { return failure("stuck"); }

  std::vector<std::uint32_t> multiprocessors;  ///< of the blocks, in order

 private:
  Script script_;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::vector<bool>>> slots_;
};

void access(Steps& steps, Step::Access kind, std::uint64_t address, std::uint32_t bytes) {
  const bool reads = kind != Step::Access::store;
  steps.push_back({.kind = Step::Kind::access, .access = kind, .reads = reads, .count = 1});
  steps.push_back({.kind = Step::Kind::transaction, .count = bytes, .value = address});
}
void wait_for_all(Steps& steps) { steps.push_back({.kind = Step::Kind::wait}); }
Step arithmetic(std::uint32_t instructions, const Machine& machine) {
  return {.kind = Step::Kind::arithmetic,
          .count = instructions,
          .value = std::uint64_t{instructions} * machine.timing->arithmetic.issue};
}

KernelTime run(const Machine& machine, const KernelShape& shape, ScriptedGrid::Script script) {
  Device device(machine);
  ScriptedGrid grid(std::move(script));
  const Result<KernelTime> time = device.run(shape, grid);
  EXPECT_TRUE(time);
  return time ? *time : KernelTime();
}

double service(const Machine& machine, std::uint32_t bytes) {
  const Timing& timing = *machine.timing;
  return (timing.memory.overhead + static_cast<double>(bytes) / timing.memory.bytes_per_cycle) *
         timing.core_mhz / timing.memory_mhz;
}

TEST(Clock, AccessTakesIssueServiceAndLatency) {
  const Machine machine = gtx();
  for (const std::uint32_t bytes : {32u, 64u, 128u}) {
    const KernelTime time = run(machine, {1, 1, 1}, [&](std::uint64_t, std::uint32_t) {
      Steps steps;
      access(steps, Step::Access::load, 0, bytes);
      wait_for_all(steps);
      return steps;
    });
    const double expected =
        machine.timing->arithmetic.issue + service(machine, bytes) + machine.timing->memory.latency;
    EXPECT_DOUBLE_EQ(time.cycles, expected);
    EXPECT_DOUBLE_EQ(time.seconds, expected / (machine.timing->core_mhz * 1e6));
    EXPECT_EQ(time.channels[0].transactions, 1u);
    EXPECT_EQ(time.channels[0].bytes, bytes);
  }
}

// A store completes for its warp when it is sent; the kernel ends when the memory has received it.
TEST(Clock, WarpsDoNotWaitForStores) {
  const Machine machine = gtx();
  const KernelTime time = run(machine, {1, 1, 1}, [&](std::uint64_t, std::uint32_t) {
    Steps steps;
    for (int i = 0; i < 10; ++i) access(steps, Step::Access::store, 0, 128);
    return steps;
  });
  EXPECT_DOUBLE_EQ(time.cycles, machine.timing->arithmetic.issue + 10 * service(machine, 128));
  EXPECT_EQ(time.stores.of_128, 10u);
}

TEST(Clock, ArithmeticOverlapsLatencyButNotIssue) {
  const Machine machine = gtx();
  const auto with_warps = [&](std::uint32_t warps) {
    return run(machine, {1, warps, 1},
               [&](std::uint64_t, std::uint32_t) { return Steps(100, arithmetic(1, machine)); })
        .cycles;
  };
  EXPECT_DOUBLE_EQ(with_warps(1), 100 * 24);
  EXPECT_DOUBLE_EQ(with_warps(6), 100 * 24 + 5 * 4) << "24 / 4 warps hide each other's latency";
  EXPECT_DOUBLE_EQ(with_warps(16), 100 * 16 * 4 + 20) << "the scheduler is always busy";
}

TEST(Clock, IndependentInstructionsOverlapALoad) {
  const Machine machine = gtx();
  const auto cycles = [&](bool uses_it) {
    return run(machine, {1, 1, 1},
               [&](std::uint64_t, std::uint32_t) {
                 Steps steps;
                 access(steps, Step::Access::load, 0, 64);
                 if (uses_it) wait_for_all(steps);
                 steps.push_back(arithmetic(10, machine));
                 if (!uses_it) wait_for_all(steps);
                 return steps;
               })
        .cycles;
  };
  EXPECT_DOUBLE_EQ(cycles(true) - cycles(false), 240);
}

// `wait` with a count: waits for the first of two loads.
TEST(Clock, WaitsOnlyForTheRequiredLoads) {
  const Machine machine = gtx();
  const KernelTime time = run(machine, {1, 1, 1}, [&](std::uint64_t, std::uint32_t) {
    Steps steps;
    access(steps, Step::Access::load, 0, 64);
    access(steps, Step::Access::load, 0, 64);
    steps.push_back({.kind = Step::Kind::wait, .count = 1});
    access(steps, Step::Access::store, 256, 128);
    return steps;
  });
  const double first = 4 + service(machine, 64) + 440;
  EXPECT_DOUBLE_EQ(time.cycles, first + 4 + service(machine, 128));
}

TEST(Clock, WarpsWaitForEachOtherAtABarrier) {
  const Machine machine = gtx();
  const KernelTime time = run(machine, {1, 4, 1}, [&](std::uint64_t, std::uint32_t warp) {
    Steps steps{arithmetic(warp == 3 ? 100 : 1, machine)};
    steps.push_back({.kind = Step::Kind::barrier, .count = 0, .value = 0});
    if (warp == 0) steps.push_back(arithmetic(10, machine));
    return steps;
  });
  EXPECT_DOUBLE_EQ(time.cycles, 3 * 4 + 100 * 24 + 10 * 24) << "warp 3 begins after three instructions";
}

TEST(Clock, BarrierIgnoresExitedWarps) {
  const Machine machine = gtx();
  const KernelTime time = run(machine, {1, 2, 1}, [&](std::uint64_t, std::uint32_t warp) {
    if (warp == 1) return Steps{arithmetic(50, machine)};
    return Steps{{.kind = Step::Kind::barrier}, arithmetic(1, machine)};
  });
  EXPECT_DOUBLE_EQ(time.cycles, 50 * 24 + 24);
}

TEST(Clock, DeadlockAtABarrierIsReported) {
  Device device(gtx());
  ScriptedGrid grid([](std::uint64_t, std::uint32_t) {
    return Steps{{.kind = Step::Kind::barrier, .count = 1, .value = 2}};
  });
  const Result<KernelTime> time = device.run({1, 1, 1}, grid);
  ASSERT_FALSE(time);
  EXPECT_EQ(time.error().diagnostics[0].message, "stuck");
}

TEST(Clock, BlocksFillMultiprocessorsInTurnAndThenFreeSlots) {
  Machine machine = gtx();
  machine.timing->multiprocessors = 3;
  Device device(machine);
  // Block 4 is short: multiprocessor 1 has a free slot first.
  ScriptedGrid grid(
      [&](std::uint64_t block, std::uint32_t) { return Steps{arithmetic(block == 4 ? 1 : 100, machine)}; });
  const Result<KernelTime> time = device.run({8, 1, 2}, grid);
  ASSERT_TRUE(time);
  EXPECT_EQ(grid.multiprocessors, (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 1, 0}));
  EXPECT_EQ(time->blocks_per_multiprocessor, 2u);
  EXPECT_EQ(time->warps_per_multiprocessor, 2u);
}

/// Reads of `bytes` by every half warp, as in Figures 5 and 6 of the CampProf paper: block b uses partition b
/// mod 8, or all blocks use the first.
double micro_benchmark(const Machine& machine, std::uint32_t warps, std::uint32_t bytes, bool camps) {
  const auto reads = [&](std::uint64_t block, std::uint32_t) {
    const std::uint64_t partition = camps ? 0 : block % machine.global.channels;
    Steps steps;
    for (std::uint64_t i = 0; i < 64; ++i) {
      steps.push_back({.kind = Step::Kind::access, .reads = true, .count = 2});
      for (const std::uint64_t half : {0, 1}) {
        const std::uint64_t within = (i + half) * bytes % machine.global.channel_width;
        steps.push_back({.kind = Step::Kind::transaction,
                         .count = bytes,
                         .value = partition * machine.global.channel_width + within});
      }
      wait_for_all(steps);
      steps.push_back(arithmetic(4, machine));
    }
    return steps;
  };
  return run(machine, {machine.timing->multiprocessors * 8u, warps / 8, 8}, reads).cycles;
}

// Figure 3 of the paper: up to seven times.
TEST(Clock, CampingOnOnePartitionOfEightTakesSixToEightTimesAsLong) {
  const Machine machine = gtx();
  for (const std::uint32_t bytes : {32u, 64u, 128u}) {
    for (const std::uint32_t warps : {24u, 32u}) {
      const double ratio =
          micro_benchmark(machine, warps, bytes, true) / micro_benchmark(machine, warps, bytes, false);
      EXPECT_GE(ratio, 6) << bytes << " bytes, " << warps << " warps";
      EXPECT_LE(ratio, 8) << bytes << " bytes, " << warps << " warps";
    }
  }
}

TEST(Clock, CampingOnOnePartitionOfSixTakesUpToSixTimesAsLong) {
  const Machine machine = *find_machine("compute_1_3_six");
  const double ratio = micro_benchmark(machine, 32, 128, true) / micro_benchmark(machine, 32, 128, false);
  EXPECT_GE(ratio, 5);
  EXPECT_LE(ratio, 6);
}

// The same reads by more concurrent warps: faster until the partitions are saturated, then no faster.
TEST(Clock, MoreWarpsHideLatencyUntilThePartitionsAreSaturated) {
  const Machine machine = gtx();
  constexpr std::uint64_t blocks = 30 * 32;
  const auto reads = [&](std::uint64_t block, std::uint32_t) {
    Steps steps;
    for (std::uint64_t i = 0; i < 64; ++i) {
      access(steps, Step::Access::load, (i * blocks + block) * 128, 128);
      wait_for_all(steps);
    }
    return steps;
  };
  std::vector<double> cycles;
  for (const std::uint32_t resident : {1u, 2u, 4u, 8u, 16u, 32u})
    cycles.push_back(run(machine, {blocks, 1, resident}, reads).cycles);
  const double saturated = blocks * 64 * service(machine, 128) / 8;
  EXPECT_NEAR(cycles[0] / cycles[1], 2, 0.1);
  EXPECT_NEAR(cycles[1] / cycles[2], 2, 0.1);
  for (std::size_t i = 1; i < cycles.size(); ++i) EXPECT_LT(cycles[i], cycles[i - 1] * 1.01);
  EXPECT_GE(cycles.back(), saturated);
  EXPECT_LE(cycles.back(), 1.2 * saturated);
}

TEST(Clock, AtomicsToOneAddressAreSerialised) {
  const Machine machine = gtx();
  const auto cycles = [&](std::uint8_t lanes) {
    return run(machine, {1, 1, 1},
               [&](std::uint64_t, std::uint32_t) {
                 return Steps{{.kind = Step::Kind::access, .access = Step::Access::atomic, .count = 1},
                              {.kind = Step::Kind::transaction, .lanes = lanes, .count = 32, .value = 0}};
               })
        .cycles;
  };
  const double memory_cycle = static_cast<double>(machine.timing->core_mhz) / machine.timing->memory_mhz;
  EXPECT_DOUBLE_EQ(cycles(1), 4 + 2 * service(machine, 32));
  EXPECT_NEAR(cycles(16) - cycles(1), 15 * machine.timing->memory.atomic * memory_cycle, 1e-9);
}

TEST(Clock, TrafficIsCountedByPartitionBlockAndTime) {
  const Machine machine = gtx();
  const KernelTime time = run(machine, {3, 1, 1}, [&](std::uint64_t block, std::uint32_t) {
    Steps steps;
    for (std::uint64_t i = 0; i < 100; ++i) {
      access(steps, Step::Access::load, block * 256, 64);
      wait_for_all(steps);
    }
    return steps;
  });
  for (std::size_t channel = 0; channel < 8; ++channel) {
    std::uint64_t sum = 0;
    for (const auto& row : time.traffic.over_time) sum += row[channel];
    EXPECT_EQ(sum, channel < 3 ? 100u : 0u);
    EXPECT_EQ(time.channels[channel].transactions, sum);
    for (std::size_t block = 0; block < 3; ++block)
      EXPECT_EQ(time.traffic.of_block[block][channel], block == channel ? 100u : 0u);
  }
  EXPECT_LE(time.cycles, time.traffic.bin_cycles * Traffic::rows * 1.5);
  EXPECT_GT(time.traffic.over_time[Traffic::rows / 2 - 1][0], 0u) << "at least half of the rows are used";
}

// An L1 hit uses no slice of the L2, and an L2 hit no channel of the memory.
TEST(Clock, CacheHitsTakeTheirOwnLatency) {
  const Machine machine = *find_machine("compute_9_0");
  const Timing& timing = *machine.timing;
  const auto reads = [&](std::vector<std::uint64_t> addresses, Step::Access kind) {
    return run(machine, {1, 1, 1}, [&](std::uint64_t, std::uint32_t) {
      Steps steps;
      for (const std::uint64_t address : addresses) {
        access(steps, kind, address, 32);
        wait_for_all(steps);
      }
      return steps;
    });
  };
  const double miss = 1 + timing.l2->occupancy + service(machine, 32) + timing.memory.latency;
  EXPECT_DOUBLE_EQ(reads({0}, Step::Access::load).cycles, miss);
  EXPECT_NEAR(reads({0, 0}, Step::Access::load).cycles, miss + 1 + timing.l1->latency, 1e-9);
  const KernelTime atomics = reads({0, 0}, Step::Access::atomic);
  EXPECT_NEAR(atomics.cycles, miss + 1 + timing.l2->occupancy + timing.l2->latency, 1e-9)
      << "atomic operations bypass the L1";
  EXPECT_EQ(atomics.l2->hits, 1u);
  EXPECT_EQ(atomics.l1->hits + atomics.l1->misses, 0u);
}

TEST(Clock, OnlyTheL2KeepsItsContentsBetweenKernels) {
  Device device(*find_machine("compute_9_0"));
  const auto once = [&] {
    ScriptedGrid grid([](std::uint64_t, std::uint32_t) {
      Steps steps;
      access(steps, Step::Access::load, 4096, 32);
      return steps;
    });
    return *device.run({1, 1, 1}, grid);
  };
  EXPECT_EQ(once().l2->misses, 1u);
  const KernelTime second = once();
  EXPECT_EQ(second.l1->misses, 1u);
  EXPECT_EQ(second.l2->hits, 1u);
}

/// A kernel of one warp with accesses of 32 bytes each.
KernelTime one_warp(Device& device, const std::vector<std::pair<Step::Access, std::uint64_t>>& accesses) {
  ScriptedGrid grid([&](std::uint64_t, std::uint32_t) {
    Steps steps;
    for (const auto& [kind, address] : accesses) access(steps, kind, address, 32);
    return steps;
  });
  return *device.run({1, 1, 1}, grid);
}

// As counted by ncu: half of a copy's sectors are reads that miss, half are writes that hit.
TEST(Clock, StoresHitInTheL2AndAtomicsNeedTheData) {
  constexpr auto load = Step::Access::load, store = Step::Access::store, atomic = Step::Access::atomic;
  Device device(*find_machine("compute_9_0"));
  const KernelTime copy =
      one_warp(device, {{load, 0}, {store, 1 << 20}, {load, 32}, {store, (1 << 20) + 32}});
  EXPECT_EQ(copy.l2->hits, 2u);
  EXPECT_EQ(copy.l2->misses, 2u);
  std::uint64_t fetched = 0;
  for (const ChannelCounts& each : copy.channels) fetched += each.transactions;
  EXPECT_EQ(fetched, 2u) << "nothing is fetched for a store";
  EXPECT_EQ(one_warp(device, {{load, 1 << 20}}).l2->hits, 1u) << "the stored sector is present";
  EXPECT_EQ(one_warp(device, {{atomic, 1 << 21}}).l2->misses, 1u);
  EXPECT_EQ(one_warp(device, {{store, 1 << 22}, {atomic, 1 << 22}}).l2->hits, 2u);
}

TEST(Clock, EmptiedL2IsEmptyWhenAKernelBegins) {
  Device device(*find_machine("compute_9_0"), CachesBefore::emptied);
  const std::vector<std::pair<Step::Access, std::uint64_t>> reads{{Step::Access::load, 4096},
                                                                  {Step::Access::atomic, 4096}};
  for (int kernel = 0; kernel < 2; ++kernel) {
    const KernelTime time = one_warp(device, reads);
    EXPECT_EQ(time.l2->misses, 1u);
    EXPECT_EQ(time.l2->hits, 1u) << "within a kernel it does";
  }
}

}  // namespace
}  // namespace lynxpp::models::clock
