// Launches with a clock: results equal those of other launches, and times follow the equations of
// docs/design/modelled-time.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "device/cpu/simt/execute/counters/clock.h"
#include "kernel_fixture.h"
#include "support/text.h"

namespace lynxpp::device::cpu::test {
namespace {

using models::Machine;
using models::clock::KernelTime;

Machine gtx() { return *models::find_machine("compute_1_3"); }

/// Memory that begins at partition 0.
template <typename T>
class Aligned {
 public:
  explicit Aligned(std::size_t size) : size_(size) {
    memory_.reset(static_cast<T*>(std::aligned_alloc(4096, (size * sizeof(T) / 4096 + 1) * 4096)));
    std::fill_n(memory_.get(), size, T());
  }
  T* data() const { return memory_.get(); }
  std::vector<T> values() const { return {data(), data() + size_}; }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::size_t size_;
  std::unique_ptr<T, Free> memory_;
};

template <typename... T>
KernelTime run(LoadedModule& module, const std::string& kernel, const LaunchShape& shape,
               const Machine& machine, const T&... arguments) {
  LaunchClock clock(machine);
  const Status status = module.launch(kernel, shape, Arguments(arguments...).bytes(), nullptr, &clock);
  EXPECT_EQ(text_of(status), "");
  return clock.last;
}

double service(const Machine& machine, std::uint32_t bytes) {
  const models::Timing& timing = *machine.timing;
  return (timing.memory.overhead + static_cast<double>(bytes) / timing.memory.bytes_per_cycle) *
         timing.core_mhz / timing.memory_mhz;
}

// Reads %clock64 around a load whose value is used: one instruction, issue, service, latency.
TEST(LaunchClock, ClocksInKernelsReturnTheModelledTime) {
  const auto module = load(R"(
.visible .entry chase(.param .u64 at, .param .u64 out)
{
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [at];
  ld.param.u64 %rd2, [out];
  mov.u64 %rd3, %clock64;
  ld.global.u64 %rd4, [%rd1];
  xor.b64 %rd5, %rd4, %rd4;
  mov.u64 %rd6, %clock64;
  sub.s64 %rd7, %rd6, %rd3;
  st.global.u64 [%rd2], %rd7;
  ret;
}
)");
  Aligned<std::uint64_t> at(1), out(1);
  const Machine machine = gtx();
  const KernelTime time = run(*module, "chase", {{1, 1, 1}, {1, 1, 1}, 0}, machine, at.data(), out.data());
  const models::ArithmeticTiming& rates = machine.timing->arithmetic;
  const double expected = 2.0 * rates.latency + rates.issue + service(machine, 32) + 440;
  EXPECT_NEAR(static_cast<double>(out.data()[0]), expected, 1);
  EXPECT_EQ(time.loads.of_32, 1u);
  EXPECT_EQ(time.stores.of_32, 1u);
  // Before: two parameters. After: the second clock and the difference; the store overlaps the return.
  EXPECT_NEAR(time.cycles, 2 * 24 + expected + 2 * 24 + rates.issue + 24, 1e-6);
}

// Independent loads overlap; dependent loads do not.
TEST(LaunchClock, AWarpWaitsAtTheFirstUseOfAValue) {
  const auto module = load(R"(
.visible .entry apart(.param .u64 at)
{
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [at];
  ld.global.u64 %rd2, [%rd1];
  ld.global.u64 %rd3, [%rd1+8];
  xor.b64 %rd4, %rd2, %rd3;
  ret;
}
.visible .entry chained(.param .u64 at)
{
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [at];
  ld.global.u64 %rd2, [%rd1];
  ld.global.u64 %rd3, [%rd2];
  xor.b64 %rd4, %rd2, %rd3;
  ret;
}
)");
  Aligned<std::uint64_t> at(2);
  at.data()[0] = reinterpret_cast<std::uintptr_t>(at.data());
  const Machine machine = gtx();
  const LaunchShape one{{1, 1, 1}, {1, 1, 1}, 0};
  const double together = run(*module, "apart", one, machine, at.data()).cycles;
  const double chained = run(*module, "chained", one, machine, at.data()).cycles;
  EXPECT_NEAR(chained - together, 440, 5);
}

TEST(LaunchClock, MultiprocessorsFollowTheMachine) {
  const auto module = load(R"(
.visible .entry where(.param .u64 out)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %smid;
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)");
  Aligned<std::uint32_t> out(45);
  const KernelTime time = run(*module, "where", {{45, 1, 1}, {64, 1, 1}, 0}, gtx(), out.data());
  for (std::uint32_t block = 0; block < 45; ++block) EXPECT_EQ(out.data()[block], block % 30);
  EXPECT_EQ(time.blocks_per_multiprocessor, 8u);
  EXPECT_EQ(time.warps_per_multiprocessor, 4u) << "at most 2 blocks of 2 warps are resident";
}

class Transposes : public ::testing::Test {
 protected:
  static constexpr int size = 512;
  static constexpr int large = 1024;

  void SetUp() override {
    std::string text;
    ASSERT_TRUE(read_file(LYNXPP_SOURCE_DIR "/tests/device_simt/ptx/transposes.ptx", text));
    Result<std::shared_ptr<LoadedModule>> loaded = load_module(text, "transposes.ptx");
    ASSERT_TRUE(loaded) << render(loaded.error().diagnostics);
    module_ = *loaded;
    std::iota(in_.data(), in_.data() + large * large, 0.0f);
  }

  KernelTime time_of(const std::string& kernel, const Machine& machine, int rows = size) {
    Aligned<float> out(static_cast<std::size_t>(rows) * rows);
    return time_of(kernel, machine, rows, out);
  }
  KernelTime time_of(const std::string& kernel, const Machine& machine, int rows, Aligned<float>& out) {
    const KernelTime time = run(*module_, kernel, shape_of(rows), machine, in_.data(), out.data(), rows);
    for (int i = 0; i < rows * rows; ++i) {
      if (out.data()[i % rows * rows + i / rows] == in_.data()[i]) continue;
      ADD_FAILURE() << kernel << ": element " << i;
      break;
    }
    return time;
  }
  static LaunchShape shape_of(int rows) {
    const auto tiles = static_cast<std::uint32_t>(rows) / 32;
    return {{tiles, tiles, 1}, {32, 8, 1}, 0};
  }

  Aligned<float> in_{large * large};
  std::shared_ptr<LoadedModule> module_;
};

/// Returns the time for which the memory would be busy with all partitions in use, divided by the measured
/// time.
double use_of_partitions(const KernelTime& time) {
  double busy = 0;
  for (const auto& channel : time.channels) busy += channel.busy_cycles;
  return busy / static_cast<double>(time.channels.size()) / time.cycles;
}

// Figure 12 of the CampProf paper: rows have 4096 bytes, so a column of tiles is in one partition.
TEST_F(Transposes, DiagonalBlockOrderReducesCamping) {
  const KernelTime naive = time_of("naive", gtx(), large);
  const KernelTime camped = time_of("coalesced", gtx(), large);
  const KernelTime spread = time_of("diagonal", gtx(), large);
  EXPECT_EQ(camped.stores.of_64, static_cast<std::uint64_t>(large) * large / 16);
  EXPECT_EQ(spread.stores.of_64, camped.stores.of_64);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(camped.channels[i].transactions, spread.channels[i].transactions)
        << "the total work is the same";
  EXPECT_GT(camped.cycles, 1.5 * spread.cycles);
  EXPECT_GT(naive.cycles, 1.5 * camped.cycles) << "every stored element is a transaction of its own";
  EXPECT_LT(use_of_partitions(camped), 0.7);
  EXPECT_GT(use_of_partitions(spread), 0.9);
  EXPECT_EQ(naive.stores.of_32, static_cast<std::uint64_t>(large) * large);
}

// If addresses are hashed over the channels, no camping occurs.
TEST_F(Transposes, DoNotCampOnCurrentMachines) {
  const Machine today = *models::find_machine("compute_9_0");
  EXPECT_NEAR(time_of("coalesced", today).cycles / time_of("diagonal", today).cycles, 1, 0.25);
}

// Uses the same memory: addresses outside known allocations are host addresses, which are hashed.
TEST_F(Transposes, TakeTheSameTimeInEveryRun) {
  Aligned<float> out(std::size_t{size} * size);
  for (const char* const machine : {"compute_1_3", "compute_9_0"}) {
    const KernelTime first = time_of("coalesced", *models::find_machine(machine), size, out);
    const KernelTime second = time_of("coalesced", *models::find_machine(machine), size, out);
    EXPECT_EQ(first.cycles, second.cycles);
    EXPECT_EQ(first.traffic.over_time, second.traffic.over_time);
    EXPECT_EQ(first.l2.has_value(), second.l2.has_value());
    EXPECT_EQ(first.l2 ? first.l2->hits : 0, second.l2 ? second.l2->hits : 0);
  }
}

TEST_F(Transposes, CountersAgreeWithTheClock) {
  Aligned<float> out(size * size);
  LaunchClock clock(*models::find_machine("compute_9_0"));
  LaunchCounters counters;
  const Arguments arguments(in_.data(), out.data(), size);
  ASSERT_EQ(text_of(module_->launch("coalesced", shape_of(size), arguments.bytes(), &counters, &clock)), "");
  LaunchCounters alone;
  ASSERT_EQ(text_of(module_->launch("coalesced", shape_of(size), arguments.bytes(), &alone)), "");
  EXPECT_EQ(counters.warp_instructions, alone.warp_instructions);
  EXPECT_EQ(counters.loads.global.sectors, alone.loads.global.sectors);
  // The two sides are computed independently.
  EXPECT_EQ(clock.last.load_requests.requests, counters.loads.global.requests);
  EXPECT_EQ(clock.last.load_requests.sectors, counters.loads.global.sectors);
  EXPECT_EQ(clock.last.store_requests.bytes_asked, counters.stores.global.bytes);
}

TEST(LaunchClock, AFaultEndsTheLaunch) {
  const auto module = load(R"(
.visible .entry wrong()
{
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 16;
  st.global.u64 [%rd1], %rd1;
  ret;
}
)");
  LaunchClock clock(gtx());
  const Status status = module->launch("wrong", {{100, 1, 1}, {32, 1, 1}, 0}, {}, nullptr, &clock);
  EXPECT_THAT(text_of(status), testing::HasSubstr("illegal address"));
}

TEST(LaunchClock, ABarrierThatNeverCompletesIsReported) {
  const auto module = load(R"(
.visible .entry waits()
{
  bar.sync 1, 96;
  ret;
}
)");
  LaunchClock clock(gtx());
  const Status status = module->launch("waits", {{1, 1, 1}, {64, 1, 1}, 0}, {}, nullptr, &clock);
  const Status alone = module->launch("waits", {{1, 1, 1}, {64, 1, 1}, 0}, {}, nullptr);
  ASSERT_FALSE(alone);
  EXPECT_EQ(text_of(status), text_of(alone));
}

TEST(LaunchClock, ABlockThatDoesNotFitIsRejected) {
  const auto module = load(".visible .entry empty()\n{\n  ret;\n}\n");
  LaunchClock clock(gtx());
  EXPECT_THAT(text_of(module->launch("empty", {{1, 1, 1}, {1024, 1, 1}, 0}, {}, nullptr, &clock)),
              testing::HasSubstr("does not fit compute_1_3"));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
