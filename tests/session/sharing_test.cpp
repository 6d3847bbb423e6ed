// Launches that share counters (session/counter_sharing.cpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::ElementsAre;

/// Its launches add 7 to the first array.
class AddingDevice : public FakeDevice {
 public:
  Status launch(device::Variant& variant, const device::Launch& launch,
                std::span<const device::ParameterSlot> slots, std::span<const std::uint64_t> probe,
                device::Buffer& buffer) override {
    const std::lock_guard lock(mutex_);
    std::byte* const sum = static_cast<FakeBuffer&>(buffer).bytes.data() + (probe[0] - buffer.address());
    std::uint64_t before = 0;
    std::memcpy(&before, sum, sizeof before);
    const Status launched = FakeDevice::launch(variant, launch, slots, probe, buffer);
    if (!launched) return launched;
    before += 7;
    std::memcpy(sum, &before, sizeof before);
    return launched;
  }
  bool may_share(const device::Launch&) override { return shares; }
  Result<std::unique_ptr<device::Readback>> read_back_shared(std::unique_ptr<device::Buffer>& buffer,
                                                             bool after_launch) override {
    if (captures || (is_busy && !after_launch)) return std::unique_ptr<device::Readback>();
    ++read_back_buffers;
    if (refuses_readback) return failure("an illegal memory access was encountered");
    return FakeDevice::read_back(std::move(buffer), {});
  }

  bool shares = true, refuses_readback = false, is_busy = false;
  int read_back_buffers = 0;

 private:
  std::mutex mutex_;
};

struct Told {
  std::uint64_t first, launches, last, sum;
  bool operator==(const Told&) const = default;
};

class SharingTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    share_after(2);
  }
  void share_after(std::uint64_t own_records) {
    Configuration configuration;
    configuration.own_records = own_records;
    found_ = {};
    start(std::move(configuration));
  }
  bool once(std::uint32_t blocks = 3, void* stream = nullptr, std::uint64_t image = 1) {
    const KernelSource source{"k", image, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
    device::Launch request = request_of(blocks, 32);
    request.stream = stream;
    request.parameters = parameters_;
    if (found_.selected != nullptr) {
      if (const auto made = session_->launch_again(adding_, request, found_)) return *made;
    }
    found_ = {};
    return session_->launch(adding_, request, source, &found_);
  }
  void launch_times(int times, std::uint32_t blocks = 3, void* stream = nullptr) {
    for (int i = 0; i < times; ++i) EXPECT_TRUE(once(blocks, stream));
  }
  std::vector<Told> told() const {
    std::vector<Told> told;
    for (const report::LaunchRecord& each : records_.launches) {
      const auto& values = std::get<std::vector<std::uint64_t>>(each.results.at(0).values);
      told.push_back(
          {each.launch, each.launches(), each.shared ? each.shared->last : each.launch, values[0]});
    }
    return told;
  }
  const report::CoverageRecord& finish() {
    session_->finish();
    return records_.coverage.at(0);
  }

  AddingDevice adding_;
  void** parameters_ = nullptr;
};

TEST_F(SharingTest, LaterLaunchesShareARecord) {
  launch_times(100);
  EXPECT_TRUE(told().empty());
  session_->collect();
  EXPECT_THAT(told(), ElementsAre(Told{0, 1, 0, 7}, Told{1, 1, 1, 7}, Told{2, 98, 99, 98 * 7}));
  EXPECT_EQ(adding_.read_back_buffers, 1);
  launch_times(3);
  EXPECT_EQ(finish().instrumented_launches, 103u);
  EXPECT_EQ(records_.coverage[0].launches, 103u);
  EXPECT_THAT(records_.coverage[0].notes, ElementsAre());
  EXPECT_EQ(told().at(3), (Told{100, 3, 102, 21}));
}

TEST_F(SharingTest, ARecordOfOneLaunchIsNotShared) {
  launch_times(3);
  finish();
  EXPECT_THAT(told(), ElementsAre(Told{0, 1, 0, 7}, Told{1, 1, 1, 7}, Told{2, 1, 2, 7}));
  EXPECT_FALSE(records_.launches.at(2).shared.has_value());
}

TEST_F(SharingTest, GridsAndStreamsHaveTheirOwn) {
  int stream = 0;
  launch_times(2, 3);
  launch_times(2, 4);
  for (int i = 0; i < 10; ++i) {
    launch_times(1, 3);
    launch_times(1, 4);
    launch_times(1, 4, &stream);
  }
  finish();
  std::vector<Told> shared = told();
  shared.erase(shared.begin(), shared.begin() + 4);
  EXPECT_THAT(shared, ElementsAre(Told{4, 10, 31, 70}, Told{5, 10, 32, 70}, Told{6, 10, 33, 70}));
}

/// The sum of a record is 7 per launch, times the box of the map that is the kernel's parameter.
TEST_F(SharingTest, BoxesOfTensorCopiesHaveTheirOwn) {
  text_ =
      ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n, .param .align 64 .b8 "
      "map[256])\n{\n.reg .b64 %rd<3>; .reg .b32 %r<3>;\nmov.b64 %rd1, map;\nadd.s64 %rd1, %rd1, 64;\n"
      "cvta.param.u64 %rd2, %rd1;\nmov.u32 %r1, 0;\nmov.u32 %r2, 0;\n"
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r1, %r1}], [%r2];\nret;\n}\n";
  spec_ = written("boxes",
                  "global unsigned long sevens;\nON_KERNEL_EXIT: { atomicAdd(&sevens, 1); }\nON_REPORT: {\n"
                  "unsigned long bytes = 0;\nfor (unsigned long i = 0; i < INSTRUCTIONS; ++i) "
                  "bytes += sevens * boxBytes(i);\nemit(\"bytes\", bytes);\n}\n");
  share_after(2);
  session_->use_tensor_boxes([](const void* map) -> std::optional<TensorBox> {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, map, sizeof bytes);
    if (bytes == 1) return std::nullopt;
    return TensorBox{bytes, bytes == 2 ? 3u : 2u, bytes == 3, true};
  });
  alignas(64) std::array<std::uint64_t, 32> map{};
  std::uint32_t number = 0;
  std::array<void*, 2> parameters{&number, map.data()};
  parameters_ = parameters.data();
  const auto launch_with = [&](std::uint64_t bytes) {
    map[8] = bytes;
    launch_times(1);
  };
  for (int i = 0; i < 5; ++i) {
    launch_with(1024);
    launch_with(4096);
  }
  for (const std::uint64_t unknown : {1, 2, 3}) launch_with(unknown);
  finish();
  EXPECT_THAT(told(),
              ElementsAre(Told{0, 1, 0, 7 * 1024}, Told{1, 1, 1, 7 * 4096}, Told{2, 1, 2, 7 * 1024},
                          Told{3, 1, 3, 7 * 4096}, Told{10, 1, 10, 0}, Told{11, 1, 11, 0},
                          Told{4, 3, 8, 3 * 7 * 1024}, Told{5, 3, 9, 3 * 7 * 4096}, Told{12, 1, 12, 0}));
}

TEST_F(SharingTest, RangesHaveTheirOwn) {
  std::vector<std::string> ranges{"outer"};
  session_->use_ranges([&] { return ranges; });
  launch_times(4);
  ranges = {"outer", "inner"};
  launch_times(5);
  finish();
  ASSERT_EQ(records_.launches.size(), 4u);
  EXPECT_THAT(records_.launches[2].ranges, ElementsAre("outer"));
  EXPECT_EQ(records_.launches[2].launches(), 2u);
  EXPECT_THAT(records_.launches[3].ranges, ElementsAre("outer", "inner"));
  EXPECT_EQ(records_.launches[3].launches(), 5u);
}

TEST_F(SharingTest, DetachingReadsThem) {
  launch_times(10);
  std::string problem;
  EXPECT_TRUE(session_->attach("", problem));
  EXPECT_FALSE(once());
  session_->collect();
  EXPECT_EQ(told().back(), (Told{2, 8, 9, 56}));
  EXPECT_TRUE(session_->attach(spec_, problem));
  launch_times(4);
  EXPECT_EQ(finish().instrumented_launches, 14u);
  EXPECT_EQ(told().back(), (Told{12, 2, 13, 14})) << "two had records of their own again";
}

TEST_F(SharingTest, UnloadingAnImageReadsItsOwn) {
  launch_times(5);
  session_->forget_image(2);
  EXPECT_EQ(adding_.read_back_buffers, 0);
  session_->forget_image(1);
  EXPECT_EQ(adding_.read_back_buffers, 1);
  session_->collect();
  EXPECT_EQ(told().back(), (Told{2, 3, 4, 21}));
}

TEST_F(SharingTest, TheEndOfAContextReadsThem) {
  launch_times(6);
  const std::array<const device::Device*, 1> ending{&adding_};
  session_->save_results(ending);
  EXPECT_EQ(told().back(), (Told{2, 4, 5, 28}));
}

TEST_F(SharingTest, TheEndOfAStreamReadsItsOwn) {
  int stream = 0;
  int other = 0;
  launch_times(5, 3, &stream);
  launch_times(5, 3, &other);
  session_->leave_stream(&stream, true);
  EXPECT_EQ(adding_.read_back_buffers, 1);
  session_->leave_stream(nullptr, true);
  EXPECT_EQ(adding_.read_back_buffers, 1);
  launch_times(1, 3, &stream);
  EXPECT_EQ(finish().instrumented_launches, 11u);
  EXPECT_THAT(told(), ElementsAre(Told{0, 1, 0, 7}, Told{1, 1, 1, 7}, Told{2, 3, 4, 21}, Told{5, 5, 9, 35},
                                  Told{10, 1, 10, 7}));
}

TEST_F(SharingTest, CapturedStreamsAreLeftAlone) {
  launch_times(5);
  adding_.captures = true;
  session_->leave_stream(nullptr, false);
  session_->collect();
  EXPECT_EQ(adding_.read_back_buffers, 0);
  EXPECT_EQ(told().size(), 2u);
  adding_.captures = false;
  launch_times(2);
  finish();
  EXPECT_THAT(told(), ElementsAre(Told{0, 1, 0, 7}, Told{1, 1, 1, 7}, Told{2, 3, 4, 21}, Told{5, 2, 6, 14}));
}

/// The legacy default stream is only used right after a launch on it, or when it is idle.
TEST_F(SharingTest, BusyStreamsAreReadAfterALaunch) {
  int other = 0;
  launch_times(5);
  adding_.is_busy = true;
  session_->collect();
  EXPECT_EQ(adding_.read_back_buffers, 0);
  launch_times(1, 3, &other);
  EXPECT_EQ(adding_.read_back_buffers, 0) << "that was on another stream";
  launch_times(1);
  EXPECT_EQ(adding_.read_back_buffers, 1);
  launch_times(1);
  EXPECT_EQ(adding_.read_back_buffers, 1);
  adding_.is_busy = false;
  finish();
  EXPECT_THAT(told(), ElementsAre(Told{0, 1, 0, 7}, Told{1, 1, 1, 7}, Told{2, 3, 4, 21}, Told{5, 1, 5, 7},
                                  Told{6, 2, 7, 14}));
}

TEST_F(SharingTest, AStreamThatEndsWhileItIsCapturedLosesThem) {
  launch_times(5);
  adding_.captures = true;
  session_->leave_stream(nullptr, true);
  adding_.captures = false;
  const report::CoverageRecord& coverage = finish();
  EXPECT_EQ(adding_.read_back_buffers, 0) << "the stream does not exist";
  EXPECT_THAT(coverage.notes, ElementsAre("results lost: their stream was destroyed meanwhile"));
}

TEST_F(SharingTest, RejectedLaunchesDoNotCount) {
  launch_times(4);
  adding_.refuses_launch = true;
  EXPECT_FALSE(once());
  adding_.refuses_launch = false;
  launch_times(1);
  EXPECT_EQ(finish().instrumented_launches, 5u);
  EXPECT_EQ(records_.coverage[0].launches, 6u);
  EXPECT_EQ(told().back(), (Told{2, 3, 5, 21}));
}

TEST_F(SharingTest, LostResultsAreReported) {
  launch_times(6);
  adding_.refuses_readback = true;
  const report::CoverageRecord& coverage = finish();
  EXPECT_THAT(coverage.notes, ElementsAre("results lost: an illegal memory access was encountered"));
  EXPECT_EQ(told().size(), 2u);
  EXPECT_EQ(session_->status().lost, 4u);
  EXPECT_EQ(session_->status().outstanding, 0u);
}

TEST_F(SharingTest, ResultsOfAFailedContextAreReported) {
  launch_times(6);
  adding_.loses_results = true;
  const report::CoverageRecord& coverage = finish();
  EXPECT_THAT(coverage.notes, ElementsAre("results lost: the launch died"));
  EXPECT_EQ(session_->status().lost, 4u);
  EXPECT_EQ(session_->status().outstanding, 0u);
}

TEST_F(SharingTest, LaunchesThatMustNotShareDoNot) {
  adding_.shares = false;
  launch_times(10);
  adding_.shares = true;
  session_->measure_each_launch();
  launch_times(10);
  finish();
  EXPECT_EQ(told().size(), 20u);
}

TEST_F(SharingTest, ResultsThatAreNotSumsAreNotShared) {
  spec_ = written("session_test_largest",
                  "global unsigned long largest;\nON_KERNEL_EXIT: atomicMax(&largest, clockCounter());\n");
  share_after(0);
  launch_times(3);
  spec_ = written("session_test_mean", "global unsigned long mean;\nON_KERNEL_EXIT: atomicAdd(&mean, 1);\n");
  share_after(0);
  launch_times(3);
  finish();
  for (const report::LaunchRecord& each : records_.launches) EXPECT_FALSE(each.shared.has_value());
}

TEST_F(SharingTest, ReportsSeeTheThreadsOfAllLaunches) {
  spec_ =
      written("session_test_threads",
              "global unsigned long n;\nON_KERNEL_EXIT: n += 1;\nON_REPORT: emit(\"threads\", THREADS);\n");
  share_after(1);
  launch_times(6);
  finish();
  EXPECT_THAT(told(), ElementsAre(Told{0, 1, 0, 96}, Told{1, 5, 5, 480}));
}

TEST_F(SharingTest, FiltersAndTimesRequestSingleLaunches) {
  const auto shares = [](const std::function<void(Configuration&)>& change) {
    Configuration configuration;
    change(configuration);
    return configuration.may_share();
  };
  EXPECT_TRUE(shares([](Configuration&) {}));
  EXPECT_FALSE(shares([](Configuration& each) { each.launches_text = "0-9"; }));
  EXPECT_FALSE(shares([](Configuration& each) { each.timing = Timing::stages; }));
  EXPECT_FALSE(shares([](Configuration& each) { each.timeline = true; }));
  EXPECT_FALSE(shares([](Configuration& each) { each.trace = "folder"; }));
  EXPECT_FALSE(shares([](Configuration& each) { each.own_records = ~std::uint64_t{0}; }));
}

/// Threads launch while the results thread closes what they add to.
TEST_F(SharingTest, ThreadsLoseNothing) {
  constexpr int threads = 4, launches = 20'000;
  Configuration configuration;
  configuration.own_records = 1;
  found_ = {};
  session_ = std::make_unique<Session>(std::move(configuration), std::make_unique<RecordingSink>(records_));
  std::string problem;
  ASSERT_TRUE(session_->attach(spec_, problem));
  EXPECT_TRUE(once());
  const Session::Found found = found_;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      for (int k = 0; k < launches; ++k)
        EXPECT_EQ(session_->launch_again(adding_, request_of(3, 32), found), true);
    });
  }
  for (int i = 0; i < 100; ++i) session_->leave_stream(nullptr, false);
  for (std::thread& each : all) each.join();
  EXPECT_EQ(finish().instrumented_launches, threads * launches + 1u);
  std::uint64_t recorded = 0, sum = 0;
  for (const Told& each : told()) {
    recorded += each.launches;
    sum += each.sum;
    EXPECT_EQ(each.sum, 7 * each.launches);
    EXPECT_LE(each.launches, each.last - each.first + 1);
  }
  EXPECT_EQ(recorded, threads * launches + 1u);
  EXPECT_EQ(sum, 7 * (threads * launches + 1u));
  EXPECT_LT(told().size(), 1000u);
  session_.reset();
}

}  // namespace
}  // namespace lynxpp::interposer
