// Counts of memory words that may overflow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cod/word_map.h"
#include "tests/session/host_counters.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const char* const writes_to_shared_memory =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
    ".shared .align 4 .b8 tile[256];\n.reg .b32 %r<4>;\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n"
    "mov.u32 %r3, tile;\nadd.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2], %r1;\nret;\n}\n";

TEST_F(SessionTest, ReportsNarrowWordCountersInALongLaunch) {
  std::ofstream(spec_) << "global unsigned counts[SHARED_WORDS];\n"
                          "ON_INSTRUCTION: MEM_WRITE: SHARED: { if (laneId() < 32) countWords(counts); }\n"
                          "ON_REPORT: { emitWords(\"arrays\", counts); }\n";
  text_ = writes_to_shared_memory;
  start({});
  // At this clock rate, a word may be counted 2^32 times in 67 ms.
  device_.set_clock_khz(2'000'000);
  EXPECT_TRUE(launch());
  device_.milliseconds = 100;
  EXPECT_TRUE(launch()) << "the long launch";
  EXPECT_TRUE(launch()) << "also long, with saturating counters";
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 3u);
  const auto says_so = Contains(HasSubstr("may have wrapped around in this long launch"));
  EXPECT_THAT(records_.launches[0].notes, Not(says_so));
  EXPECT_THAT(records_.launches[1].notes, says_so);
  EXPECT_THAT(records_.launches[2].notes, Not(says_so));
  EXPECT_THAT(device_.wants_time_bound, ElementsAre(true, false));
}

/// Has one allocation; remembers the size of the last buffer.
class MeasuringDevice : public FakeDevice {
 public:
  explicit MeasuringDevice(std::uint64_t bytes) {
    auto live = std::make_shared<device::LiveAllocations>();
    live->sorted.push_back({std::uint64_t{1} << 40, bytes, 0, {}, {}});
    memory = live;
  }
  Result<std::unique_ptr<device::Buffer>> allocate_zeroed(std::size_t bytes,
                                                          const device::Launch& launch) override {
    asked = bytes;
    return FakeDevice::allocate_zeroed(bytes, launch);
  }
  std::size_t asked = 0;
};

TEST_F(SessionTest, ReplayedWordsTakeNoDeviceMemoryAndDoNotOverflow) {
  std::ofstream(spec_) << "global unsigned shared_counts[SHARED_WORDS];\n"
                          "global unsigned device_counts[DEVICE_WORDS];\n"
                          "ON_INSTRUCTION: MEM_WRITE: SHARED: { countWords(shared_counts); }\n"
                          "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { countWords(device_counts); }\n"
                          "ON_REPORT: { emit(\"counted\", sum(shared_counts)); emitWords(\"arrays\", "
                          "shared_counts); }\n";
  text_ = writes_to_shared_memory;
  start({});
  MeasuringDevice device(std::uint64_t{1} << 30);
  device.set_clock_khz(2'000'000);
  device.milliseconds = 100;
  KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
  EXPECT_TRUE(session_->launch(device, request_of(1, 64), source, &found_));
  session_->finish();
  EXPECT_LT(device.asked, 65536u) << "less than for a counter per word";
  ASSERT_EQ(records_.launches.size(), 1u);
  EXPECT_THAT(records_.launches[0].notes, testing::IsEmpty());
  const auto& counted = records_.launches[0].results.at(0);
  EXPECT_EQ(counted.name, "counted");
  EXPECT_THAT(std::get<std::vector<std::uint64_t>>(counted.values), testing::ElementsAre(64u));
  session_.reset();
}

/// Replay follows the load but not the store, whose address is loaded.
TEST_F(SessionTest, WordsThatAProbeCountsHaveDeviceMemory) {
  std::ofstream(spec_) << "global unsigned counts[DEVICE_WORDS];\n"
                          "ON_INSTRUCTION: MEM_READ: MEM_WRITE: GLOBAL: { countWords(counts); }\n"
                          "ON_REPORT: { emitWords(\"arrays\", counts); }\n";
  text_ =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
      ".reg .b32 %r<2>;\n.reg .b64 %rd<3>;\nmov.u64 %rd1, 1099511627776;\nld.global.u64 %rd2, [%rd1];\n"
      "st.global.u32 [%rd2], %r1;\nret;\n}\n";
  start({});
  constexpr std::uint64_t bytes = 1 << 20;
  MeasuringDevice device(bytes);
  KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
  EXPECT_TRUE(session_->launch(device, request_of(1, 32), source, &found_));
  session_->finish();
  EXPECT_GT(device.asked, bytes) << "a counter per word";
  EXPECT_EQ(records_.launches.size(), 1u);
  session_.reset();
}

TEST_F(SessionTest, AccessesThroughSeveralRegistersShareABranch) {
  std::ofstream(spec_) << "global unsigned counts[DEVICE_WORDS];\n"
                          "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { countWords(counts); }\n"
                          "ON_REPORT: { emitWords(\"arrays\", counts); }\n";
  const auto joined = [&](const std::string& between) {
    text_ =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
        ".reg .b32 %r<2>;\n.reg .b64 %rd<4>;\nmov.u64 %rd1, 1099511627776;\n"
        "ld.global.u64 %rd2, [%rd1];\nld.global.u64 %rd3, [%rd1+8];\n"
        "st.global.u32 [%rd2], %r1;\n" +
        between + "st.global.u32 [%rd3], %r1;\nret;\n}\n";
    start({});
    MeasuringDevice device(1 << 20);
    KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
    EXPECT_TRUE(session_->launch(device, request_of(1, 32), source, &found_));
    session_->finish();
    session_.reset();
    EXPECT_EQ(device.loaded.size(), 1u);
    return device.loaded.empty() ? "" : device.loaded[0];
  };
  EXPECT_THAT(joined(""), HasSubstr("setp.lt.and.u64")) << "one branch for both stores";
  EXPECT_THAT(joined("mov.u64 %rd2, 0;\n"), Not(HasSubstr("setp.lt.and.u64")))
      << "the first address is gone at the second store";
}

/// Keeps counters; each launch counts two accesses to the words of the first page.
class KeepingDevice : public MeasuringDevice {
 public:
  explicit KeepingDevice(std::uint64_t bytes) : MeasuringDevice(bytes) { set_keeps_counters(); }
  Result<std::unique_ptr<device::CounterMemory>> counter_memory(std::uint64_t bytes,
                                                                const device::Launch&) override {
    kept_bytes = bytes;
    auto counters = std::make_unique<HostCounters>(std::vector<std::uint32_t>(bytes / 4));
    // The elements before the window's are for addresses outside.
    std::fill_n(counters->counters().begin() + CounterPage::counters, CounterPage::counters, 2);
    counters->fails = fails;
    return std::unique_ptr<device::CounterMemory>(std::move(counters));
  }
  std::uint64_t kept_bytes = 0;
  bool fails = false;
};

TEST_F(SessionTest, LargeArraysOfCountersStayInDeviceMemory) {
  std::ofstream(spec_) << "global unsigned counts[DEVICE_WORDS];\n"
                          "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { if (laneId() < 32) countWords(counts); }\n"
                          "ON_REPORT: { emitWords(\"arrays\", counts); emit(\"third\", counts[16386]); }\n";
  text_ =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b64 %rd<2>;\n"
      "mov.u64 %rd1, 1099511627776;\nst.global.u32 [%rd1], 0;\nret;\n}\n";
  start({});
  constexpr std::uint64_t bytes = 8 << 20;
  KeepingDevice device(bytes);
  KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
  EXPECT_TRUE(session_->launch(device, request_of(1, 32), source, &found_));
  device.fails = true;
  EXPECT_TRUE(session_->launch(device, request_of(1, 32), source, &found_));
  session_->finish();
  EXPECT_EQ(device.kept_bytes, bytes + 2 * cod::WordMap::margin_bytes);
  EXPECT_LT(device.asked, bytes);
  ASSERT_EQ(records_.launches.size(), 2u);
  const auto value_of = [&](const std::string& name) {
    const auto& results = records_.launches[0].results;
    const auto found = std::ranges::find(results, name, &report::ResultValue::name);
    return found == results.end() ? std::vector<std::uint64_t>()
                                  : std::get<std::vector<std::uint64_t>>(found->values);
  };
  EXPECT_THAT(value_of("arrays.accesses"), ElementsAre(2 * CounterPage::counters));
  EXPECT_THAT(value_of("arrays.never"), ElementsAre(bytes / 4 - CounterPage::counters));
  EXPECT_THAT(value_of("third"), ElementsAre(2u));
  EXPECT_TRUE(records_.launches[1].results.empty()) << "no wrong number";
  EXPECT_THAT(records_.launches[1].notes, Contains(HasSubstr("the context is gone")));
}

/// The loop takes replay too long, so even the first launch has probes: no count is too low.
TEST_F(SessionTest, LaunchesThatReplayCannotFollowInTimeHaveProbes) {
  std::ofstream(spec_) << "global unsigned counts[DEVICE_WORDS];\n"
                          "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { countWords(counts); }\n"
                          "ON_REPORT: { emitWords(\"arrays\", counts); }\n";
  const auto asked_for = [&](const std::string& iterations) {
    text_ =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .pred %p1;\n"
        ".reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nmov.u64 %rd1, 1099511627776;\nmov.u32 %r1, 0;\nagain:\n"
        "st.global.u32 [%rd1], %r1;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, " +
        iterations + ";\n@%p1 bra again;\nret;\n}\n";
    start({});
    MeasuringDevice device(1 << 20);
    KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
    EXPECT_TRUE(session_->launch(device, request_of(1, 32), source, &found_));
    session_->finish();
    EXPECT_EQ(records_.launches.size(), 1u);
    EXPECT_THAT(records_.launches.at(0).notes, Not(Contains(HasSubstr("too low"))));
    records_.launches.clear();
    session_.reset();
    return device.asked;
  };
  EXPECT_LT(asked_for("1000"), 1u << 20);
  EXPECT_GT(asked_for("1000000"), 1u << 20);
}

TEST_F(SessionTest, ReplayedCountsOfArraysThatShareAWordAreAdded) {
  std::ofstream(spec_) << "global unsigned counts[DEVICE_WORDS];\n"
                          "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { countWords(counts); }\n"
                          "ON_REPORT: { emitWords(\"arrays\", counts); }\n";
  text_ =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
      ".reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nmov.u64 %rd1, 65536;\nst.global.u8 [%rd1], %r1;\n"
      "st.global.u8 [%rd1+1], %r1;\nst.global.u16 [%rd1+6], %r1;\nret;\n}\n";
  start({});
  FakeDevice device;
  auto live = std::make_shared<device::LiveAllocations>();
  live->sorted = {{65536, 1, 0, {}, {}}, {65537, 1, 1, {}, {}}, {65542, 2, 2, {}, {}}};
  device.memory = live;
  KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
  EXPECT_TRUE(session_->launch(device, request_of(1, 32), source, &found_));
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 1u);
  const auto& results = records_.launches[0].results;
  const auto accesses = std::ranges::find(results, "arrays.accesses", &report::ResultValue::name);
  ASSERT_NE(accesses, results.end());
  EXPECT_THAT(std::get<std::vector<std::uint64_t>>(accesses->values), testing::ElementsAre(64u, 64u, 32u));
}

/// Launches with equal arguments share what replay computed; nothing else may be taken over.
TEST_F(SessionTest, EqualLaunchesShareTheirWordsAndOthersDoNot) {
  std::ofstream(spec_) << "global unsigned counts[DEVICE_WORDS];\n"
                          "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { countWords(counts); }\n"
                          "ON_REPORT: { emitWords(\"arrays\", counts); }\n";
  text_ =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
      ".reg .b32 %r<2>;\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n"
      "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r1;\nret;\n}\n";
  start({});
  FakeDevice device;
  const auto allocate = [&](std::uint64_t version, std::vector<std::uint64_t> addresses) {
    auto live = std::make_shared<device::LiveAllocations>();
    live->version = version;
    for (const std::uint64_t each : addresses) live->sorted.push_back({each, 4096, each >> 16, {}, {}});
    device.memory = live;
  };
  KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
  const auto launch_at = [&](std::uint64_t address, std::uint32_t blocks, std::uint32_t threads) {
    device::Launch request = request_of(blocks, threads);
    void* parameters[] = {&address};
    request.parameters = parameters;
    EXPECT_TRUE(session_->launch(device, request, source, &found_));
  };
  allocate(1, {1 << 16, 2 << 16});
  launch_at(1 << 16, 1, 64);
  launch_at(1 << 16, 1, 64);
  launch_at(2 << 16, 1, 64);
  launch_at(2 << 16, 3, 64);
  launch_at(2 << 16, 3, 32);
  allocate(2, {1 << 16, 3 << 16});  // the array at 2 << 16 is freed
  launch_at(3 << 16, 3, 32);
  launch_at(1 << 16, 1, 64);
  session_->finish();
  std::vector<std::vector<std::uint64_t>> accesses;
  for (const report::LaunchRecord& each : records_.launches) {
    const auto found = std::ranges::find(each.results, "arrays.accesses", &report::ResultValue::name);
    ASSERT_NE(found, each.results.end());
    accesses.push_back(std::get<std::vector<std::uint64_t>>(found->values));
  }
  const auto first_labels = [&](std::size_t launch) {
    return std::ranges::find(records_.launches.at(launch).results, "arrays.accesses",
                             &report::ResultValue::name)
        ->labels;
  };
  EXPECT_THAT(accesses, testing::ElementsAre(testing::ElementsAre(64u), testing::ElementsAre(64u),
                                             testing::ElementsAre(64u), testing::ElementsAre(192u),
                                             testing::ElementsAre(96u), testing::ElementsAre(96u),
                                             testing::ElementsAre(64u)));
  EXPECT_THAT(first_labels(1), testing::ElementsAre(HasSubstr("#1 ")));
  EXPECT_THAT(first_labels(2), testing::ElementsAre(HasSubstr("#2 ")));
  EXPECT_THAT(first_labels(5), testing::ElementsAre(HasSubstr("#3 ")));
}

/// Counts of shared memory do not depend on `p`, but on `n`.
TEST_F(SessionTest, CountsOfSharedMemoryFollowTheParametersThatTheyDependOn) {
  std::ofstream(spec_) << "global unsigned counts[SHARED_WORDS];\n"
                          "ON_INSTRUCTION: MEM_WRITE: SHARED: { countWords(counts); }\n"
                          "ON_REPORT: { emit(\"counted\", sum(counts)); }\n";
  text_ =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
      ".shared .align 4 .b8 tile[256];\n.reg .pred %p1;\n.reg .b32 %r<5>;\n.reg .b64 %rd<2>;\n"
      "ld.param.u64 %rd1, [p];\nld.param.u32 %r4, [n];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n"
      "mov.u32 %r3, tile;\nadd.u32 %r2, %r2, %r3;\nsetp.lt.u32 %p1, %r1, %r4;\n"
      "@%p1 st.shared.u32 [%r2], %r1;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
  start({});
  KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
  const std::pair<std::uint64_t, std::uint32_t> arguments[] = {{4096, 64}, {4096, 64}, {8192, 64},
                                                               {8192, 10}, {4096, 10}, {4096, 33}};
  for (auto [p, n] : arguments) {
    device::Launch request = request_of(1, 64);
    void* parameters[] = {&p, &n};
    request.parameters = parameters;
    EXPECT_TRUE(session_->launch(device_, request, source, &found_));
  }
  session_->finish();
  std::vector<std::uint64_t> counted;
  for (const report::LaunchRecord& each : records_.launches)
    counted.push_back(std::get<std::vector<std::uint64_t>>(each.results.at(0).values).at(0));
  EXPECT_THAT(counted, testing::ElementsAre(64u, 64u, 64u, 10u, 10u, 33u));
}

/// Counts one access to each of the words, as probes would.
class CountingDevice : public FakeDevice {
 public:
  explicit CountingDevice(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& arrays) : map_(arrays) {
    auto live = std::make_shared<device::LiveAllocations>();
    for (const auto& [address, bytes] : arrays)
      live->sorted.push_back({address, bytes, live->sorted.size(), {}, {}});
    memory = live;
  }
  Status launch(device::Variant&, const device::Launch&, std::span<const device::ParameterSlot>,
                std::span<const std::uint64_t> probe, device::Buffer& buffer) override {
    const std::uint64_t one = 1;
    std::byte* const counts = static_cast<FakeBuffer&>(buffer).bytes.data() + (probe[0] - buffer.address());
    for (const std::uint64_t address : addresses)
      std::memcpy(counts + map_.element_of(address).value() * sizeof one, &one, sizeof one);
    return success();
  }
  std::vector<std::uint64_t> addresses;

 private:
  cod::WordMap map_;
};

TEST_F(SessionTest, WordsOfNestedArraysAreInsideOne) {
  std::ofstream(spec_) << "global unsigned long counts[DEVICE_WORDS];\n"
                          "ON_INSTRUCTION: MEM_WRITE: GLOBAL: { if (laneId() < 32) countWords(counts); }\n"
                          "ON_REPORT: { emitWords(\"arrays\", counts); }\n";
  text_ =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
      ".reg .b32 %r<2>;\n.reg .b64 %rd<2>;\nmov.u64 %rd1, 65536;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
  start({});
  constexpr std::uint64_t outer = 65536, inner = outer + 16, behind = outer + 128;
  CountingDevice device({{outer, 64}, {inner, 8}, {behind, 64}});
  const auto notes = [&](std::vector<std::uint64_t> addresses) {
    device.addresses = std::move(addresses);
    KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
    EXPECT_TRUE(session_->launch(device, request_of(1, 32), source, &found_));
    session_->collect();
    return records_.launches.back().notes;
  };
  const auto outside = Contains(HasSubstr("outside of all known arrays"));
  EXPECT_THAT(notes({outer, outer + 12}), Not(outside));
  EXPECT_THAT(notes({inner, inner + 4}), Not(outside)) << "in both";
  EXPECT_THAT(notes({inner + 8, outer + 60, behind}), Not(outside)) << "after the inner one";
  EXPECT_THAT(notes({outer + 60, outer + 64, behind - 4, behind}),
              Contains(HasSubstr("2 accesses outside of all known arrays")));
  session_->finish();
}

}  // namespace
}  // namespace lynxpp::interposer
