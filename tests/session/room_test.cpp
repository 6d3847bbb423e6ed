// Memory for further launches, outstanding launches that do not end, and dumps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "interposer/dump_folder.h"
#include "support/text.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr std::chrono::milliseconds short_patience(30);

/// A launch whose results become available when the test decides.
class HeldReadback : public device::Readback {
 public:
  HeldReadback(std::vector<std::byte> bytes, std::shared_ptr<std::atomic<bool>> is_over, int& live)
      : bytes_(std::move(bytes)), is_over_(std::move(is_over)), live_(live) {}
  ~HeldReadback() override { --live_; }
  bool ready() override { return *is_over_; }
  Result<std::span<std::byte>> wait() override {
    while (!*is_over_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return std::span<std::byte>(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
  std::shared_ptr<std::atomic<bool>> is_over_;
  int& live_;
};

/// Has buffers for `most` launches at a time.
class SmallDevice : public FakeDevice {
 public:
  Result<std::unique_ptr<device::Buffer>> allocate_zeroed(std::size_t bytes,
                                                          const device::Launch& launch) override {
    ++asked;
    if (live >= most) return failure("the device is full");
    return FakeDevice::allocate_zeroed(bytes, launch);
  }
  Result<std::unique_ptr<device::Readback>> read_back(std::unique_ptr<device::Buffer> buffer,
                                                      const device::Launch&) override {
    ++live;
    ends.push_back(std::make_shared<std::atomic<bool>>(over_at_once));
    return std::unique_ptr<device::Readback>(
        std::make_unique<HeldReadback>(static_cast<FakeBuffer&>(*buffer).bytes, ends.back(), live));
  }

  int live = 0;
  int most = 1;
  int asked = 0;
  bool over_at_once = false;
  std::vector<std::shared_ptr<std::atomic<bool>>> ends;
};

class RoomTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    Configuration configuration;
    configuration.patience = short_patience;
    start(std::move(configuration));
  }
  void TearDown() override {
    for (const auto& each : small_.ends) *each = true;
    session_.reset();
  }
  bool launch_small() { return launch_on(small_); }
  bool launch_on(device::Device& device) {
    device::Launch request;
    request.block[0] = 32;
    const KernelSource source{"k", 1, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
    return session_->launch(device, request, source);
  }
  const report::CoverageRecord& finish() {
    session_->finish();
    EXPECT_EQ(records_.coverage.size(), 1u);
    return records_.coverage.at(0);
  }

  SmallDevice small_;
};

TEST_F(RoomTest, AvailableResultsFreeRoom) {
  small_.over_at_once = true;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(launch_small()) << i;
  EXPECT_THAT(finish().notes, IsEmpty());
  EXPECT_EQ(records_.launches.size(), 5u);
}

TEST_F(RoomTest, WithoutRoomTheOriginalRunsAndCoverageReportsTheShortage) {
  EXPECT_TRUE(launch_small());
  EXPECT_FALSE(launch_small());
  const int asked = small_.asked;
  EXPECT_FALSE(launch_small()) << "does not wait again for missing results";
  EXPECT_EQ(small_.asked, asked + 1);
  *small_.ends[0] = true;
  EXPECT_TRUE(launch_small());
  *small_.ends[1] = true;
  const report::CoverageRecord& coverage = finish();
  EXPECT_EQ(coverage.launches, 4u);
  EXPECT_EQ(coverage.instrumented_launches, 2u);
  EXPECT_THAT(
      coverage.notes,
      ElementsAre("not enough memory for its counters",
                  "2 launches ran uninstrumented for lack of memory (up to 512 bytes): the device is full"));
  EXPECT_EQ(records_.launches.size(), 2u);
}

/// A kernel that runs until the host stops it does not block others: later launches are counted all the same.
TEST_F(RoomTest, RunningLaunchDoesNotBlockOthers) {
  small_.most = 2;
  EXPECT_TRUE(launch_small());
  small_.over_at_once = true;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(launch_small()) << i;
  *small_.ends[0] = true;
  EXPECT_THAT(finish().notes, IsEmpty());
  EXPECT_EQ(records_.launches.size(), 21u);
}

TEST_F(RoomTest, WaitsOnlyOnceForOutstandingLaunches) {
  small_.most = 1 << 20;
  for (int i = 0; i < 4097; ++i) ASSERT_TRUE(launch_small()) << i;
  EXPECT_FALSE(launch_small());
  EXPECT_FALSE(launch_small());
  for (const auto& each : small_.ends) *each = true;
  EXPECT_TRUE(launch_small()) << "they have arrived";
  *small_.ends.back() = true;
  const report::CoverageRecord& coverage = finish();
  EXPECT_THAT(coverage.notes, ElementsAre("2 launches made while results of too many others were outstanding "
                                          "were not counted"));
  EXPECT_EQ(records_.launches.size(), 4098u);
}

TEST_F(RoomTest, FinishDoesNotWaitForARunningLaunch) {
  small_.most = 3;
  EXPECT_TRUE(launch_small());
  small_.over_at_once = true;
  EXPECT_TRUE(launch_small());
  EXPECT_TRUE(launch_small());
  EXPECT_THAT(finish().notes,
              ElementsAre("the program ended before 1 launch finished; the results are missing"));
  EXPECT_EQ(records_.launches.size(), 2u) << "what is complete is written";
  EXPECT_EQ(records_.finished, 1);
}

/// Results that arrive one after the other, more slowly altogether than the session's patience.
class SlowReadback : public device::Readback {
 public:
  static constexpr std::chrono::milliseconds pause{20};
  explicit SlowReadback(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  bool ready() override { return false; }
  Result<std::span<std::byte>> wait() override {
    std::this_thread::sleep_for(pause);
    return std::span<std::byte>(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
};

class SlowDevice : public FakeDevice {
 public:
  Result<std::unique_ptr<device::Readback>> read_back(std::unique_ptr<device::Buffer> buffer,
                                                      const device::Launch&) override {
    return std::unique_ptr<device::Readback>(
        std::make_unique<SlowReadback>(static_cast<FakeBuffer&>(*buffer).bytes));
  }
};

TEST_F(RoomTest, FinishWaitsWhileResultsArrive) {
  Configuration configuration;
  configuration.patience = 10 * SlowReadback::pause;
  start(std::move(configuration));
  SlowDevice slow;
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(launch_on(slow)) << i;
  EXPECT_THAT(finish().notes, IsEmpty());
  EXPECT_EQ(records_.launches.size(), 20u);
  session_.reset();
}

/// Accepts buffers of any size but stores only their beginning; no launch ends.
class LargeDevice : public FakeDevice {
 public:
  static constexpr std::size_t most_bytes = 4096;
  Result<std::unique_ptr<device::Buffer>> allocate_zeroed(std::size_t,
                                                          const device::Launch& launch) override {
    return FakeDevice::allocate_zeroed(most_bytes, launch);
  }
  Result<std::unique_ptr<device::Readback>> read_back(std::unique_ptr<device::Buffer>,
                                                      const device::Launch&) override {
    return std::unique_ptr<device::Readback>(
        std::make_unique<HeldReadback>(std::vector<std::byte>(64), is_over, live));
  }
  std::shared_ptr<std::atomic<bool>> is_over = std::make_shared<std::atomic<bool>>(false);
  int live = 0;
};

TEST_F(RoomTest, LargeOutstandingResultsAreLimited) {
  Configuration configuration;
  configuration.patience = short_patience;
  spec_ = written(
      "large",
      "global unsigned long large[40000000];\nON_KERNEL_ENTRY: atomicAdd(&large[globalThreadId()], 1);");
  start(std::move(configuration));
  LargeDevice large;
  EXPECT_TRUE(launch_on(large));
  EXPECT_TRUE(launch_on(large)) << "640 MB, but only the first launch was outstanding before";
  EXPECT_FALSE(launch_on(large)) << "640 MB are outstanding";
  session_->finish();
  EXPECT_THAT(records_.coverage.at(0).notes,
              testing::Contains("1 launch made while results of too many others were outstanding "
                                "was not counted"));
  *large.is_over = true;
  session_.reset();
}

/// A driver call that never returns: neither waiting nor polling returns.
class StuckReadback : public device::Readback {
 public:
  explicit StuckReadback(std::shared_future<void> end) : end_(std::move(end)) {}
  bool ready() override { return end_.wait(), false; }
  Result<std::span<std::byte>> wait() override { return end_.wait(), failure("stuck"); }

 private:
  std::shared_future<void> end_;
};

class StuckDevice : public FakeDevice {
 public:
  Result<std::unique_ptr<device::Readback>> read_back(std::unique_ptr<device::Buffer>,
                                                      const device::Launch&) override {
    return std::unique_ptr<device::Readback>(std::make_unique<StuckReadback>(end.get_future().share()));
  }
  std::promise<void> end;
};

TEST_F(RoomTest, FinishSurvivesADriverCallThatNeverReturns) {
  StuckDevice stuck;
  EXPECT_TRUE(launch_on(stuck));
  EXPECT_THAT(finish().notes,
              ElementsAre("the program ended before 1 launch finished; the results are missing"));
  EXPECT_EQ(records_.finished, 1);
  stuck.end.set_value();
  session_.reset();
}

TEST_F(RoomTest, RunningLaunchDoesNotBlockTheEndOfItsContext) {
  small_.most = 2;
  EXPECT_TRUE(launch_small());
  EXPECT_TRUE(launch());  // on another device
  const device::Device* const ending = &small_;
  session_->save_results(std::span(&ending, 1));
  EXPECT_TRUE(launch());
  EXPECT_THAT(records_.launches, SizeIs(2)) << "results of other devices are still written";
  EXPECT_THAT(finish().notes,
              ElementsAre("the program ended before 1 launch finished; the results are missing"));
  EXPECT_THAT(records_.launches, SizeIs(2));
}

TEST_F(RoomTest, ResultsOfAnEndedContextAreNotPolled) {
  small_.most = 3;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(launch_small());
  const device::Device* const ending = &small_;
  session_->save_results(std::span(&ending, 1));
  *small_.ends[1] = *small_.ends[2] = true;
  const report::CoverageRecord& coverage = finish();
  EXPECT_THAT(coverage.notes,
              testing::Contains("results lost: the context ended before the launch finished"));
  EXPECT_THAT(records_.launches, IsEmpty());
}

TEST(Dumps, DifferentTextsGetSeparateFiles) {
  const TemporaryFolder folder;
  DumpFolder dumps(folder.file("ptx"));
  const std::string longer(300, 'k');
  DumpFolder::Files first, same, other_shape, other_module, long_name;
  dumps.original("k", "module", first);
  dumps.instrumented("refused variant", first);
  dumps.instrumented("variant", first);
  dumps.original("k", "module", same);
  dumps.instrumented("variant", same);
  dumps.original("k", "module", other_shape);
  dumps.instrumented("variant for another shape", other_shape);
  dumps.original("k", "other module", other_module);
  dumps.instrumented("its variant", other_module);
  dumps.original(longer + "1", "first", long_name);
  dumps.original(longer + "2", "second", long_name);
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("ptx")))
    read_file(entry.path(), files[entry.path().filename()]);
  const std::string cut(200, 'k');
  EXPECT_THAT(files, ElementsAre(std::pair("k.2.instrumented.ptx", "its variant"),
                                 std::pair("k.2.ptx", "other module"),
                                 std::pair("k.instrumented.2.ptx", "variant for another shape"),
                                 std::pair("k.instrumented.ptx", "variant"), std::pair("k.ptx", "module"),
                                 std::pair(cut + ".2.ptx", "second"), std::pair(cut + ".ptx", "first")));
}

}  // namespace
}  // namespace lynxpp::interposer
