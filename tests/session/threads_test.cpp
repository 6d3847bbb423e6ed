// Threads that launch concurrently, and the thread that collects their results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "interposer/results/results_worker.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::IsEmpty;

constexpr int threads = 8;
constexpr std::chrono::seconds patience(30);  // timeout for other threads; nothing takes that long

/// A launch's results: 7 where the specification expects them.
class SevenBuffer : public device::Buffer {
 public:
  explicit SevenBuffer(std::size_t size) : Buffer(0x1000), bytes(size) {}
  std::vector<std::byte> bytes;
};

class SevenReadback : public device::Readback {
 public:
  explicit SevenReadback(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  bool ready() override { return true; }
  Result<std::span<std::byte>> wait() override { return std::span<std::byte>(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Thread-safe, like real devices.
class SharedDevice : public FakeDevice {
 public:
  Result<std::unique_ptr<device::Variant>> load(const std::string& ptx, const std::string& kernel,
                                                const device::Launch&,
                                                const device::VariantTraits&) override {
    if (during_load) during_load(kernel);
    const std::lock_guard lock(mutex_);
    loaded.push_back(ptx);
    return std::make_unique<device::Variant>();
  }
  Result<std::unique_ptr<device::Buffer>> allocate_zeroed(std::size_t bytes, const device::Launch&) override {
    return std::unique_ptr<device::Buffer>(std::make_unique<SevenBuffer>(bytes));
  }
  Status launch(device::Variant&, const device::Launch& launch, std::span<const device::ParameterSlot>,
                std::span<const std::uint64_t> probe, device::Buffer& buffer) override {
    if (during) during(launch);
    const std::uint64_t seven = 7;
    std::memcpy(static_cast<SevenBuffer&>(buffer).bytes.data() + (probe[0] - 0x1000), &seven, sizeof seven);
    return success();
  }
  Result<std::unique_ptr<device::Readback>> read_back(std::unique_ptr<device::Buffer> buffer,
                                                      const device::Launch&) override {
    return std::unique_ptr<device::Readback>(
        std::make_unique<SevenReadback>(static_cast<SevenBuffer&>(*buffer).bytes));
  }

  std::function<void(const std::string& kernel)> during_load;
  std::function<void(const device::Launch&)> during;

 private:
  std::mutex mutex_;
};

class Threads : public testing::Test {
 protected:
  void SetUp() override {
    spec_ = folder_.file("sevens.cod");
    std::ofstream(spec_) << "global unsigned long sevens;\nON_KERNEL_EXIT: { atomicAdd(&sevens, 1); }\n";
    session_ = std::make_unique<Session>(Configuration{}, std::make_unique<RecordingSink>(records_));
    std::string problem;
    ASSERT_TRUE(session_->attach(spec_, problem)) << problem;
  }

  bool launch(const std::string& kernel, std::uint32_t blocks = 1) {
    device::Launch request;
    request.grid[0] = blocks;
    request.block[0] = 32;
    std::string text = kernel_ptx;
    text.replace(text.find("entry k("), 8, "entry " + kernel + "(");
    const KernelSource source{kernel, 1, [&]() -> Result<KernelPtx> { return KernelPtx{text}; }};
    return session_->launch(device_, request, source);
  }

  template <typename Body>
  static void run(const Body& body) {
    std::vector<std::thread> started;
    started.reserve(threads);
    for (int i = 0; i < threads; ++i) started.emplace_back([&body, i] { body(i); });
    for (std::thread& each : started) each.join();
  }

  const TemporaryFolder folder_;
  std::string spec_;
  SharedDevice device_;
  Records records_;
  std::unique_ptr<Session> session_;
};

TEST_F(Threads, BuildTheVariantOfAKernelOnce) {
  std::atomic<int> instrumented = 0;
  device_.during_load = [](const std::string&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  run([&](int) { instrumented += launch("k") ? 1 : 0; });
  session_->finish();
  EXPECT_EQ(instrumented, threads);
  EXPECT_EQ(device_.loaded.size(), 1u);
  std::set<std::uint64_t> numbers;
  for (const report::LaunchRecord& record : records_.launches) numbers.insert(record.launch);
  EXPECT_EQ(numbers.size(), static_cast<std::size_t>(threads)) << "every launch has a number of its own";
  EXPECT_EQ(*numbers.rbegin(), threads - 1u);
}

TEST_F(Threads, BuildVariantsOfTwoKernelsConcurrently) {
  std::barrier both(2);
  device_.during_load = [&](const std::string&) { both.arrive_and_wait(); };
  std::thread other([&] { EXPECT_TRUE(launch("a")); });
  EXPECT_TRUE(launch("b")) << "hangs if one waits for the other";
  other.join();
}

TEST_F(Threads, LaunchWhileAnotherLaunchIsInTheDevice) {
  std::promise<void> is_inside;
  std::promise<void> may_go;
  device_.during = [&](const device::Launch& made) {
    if (made.grid[0] != 2) return;
    is_inside.set_value();
    may_go.get_future().wait();
  };
  std::thread other([&] { EXPECT_TRUE(launch("k", 2)); });
  is_inside.get_future().wait();
  EXPECT_TRUE(launch("k", 1));
  std::string problem;
  EXPECT_TRUE(session_->attach("", problem)) << "attaching does not wait either";
  EXPECT_FALSE(launch("k", 1));
  may_go.set_value();
  other.join();
  session_->finish();
  EXPECT_EQ(records_.launches.size(), 2u);
}

TEST_F(Threads, LoseNoLaunchWhileSpecificationsComeAndGo) {
  constexpr int changes = 40;
  constexpr std::uint64_t most_launches = 20'000;  // per thread
  std::atomic<bool> are_through = false;
  std::atomic<std::uint64_t> instrumented = 0;
  std::thread attacher([&] {
    std::string problem;
    // The specification is already attached: on a busy machine the other threads may not have started yet.
    while (instrumented == 0) std::this_thread::yield();
    for (int i = 0; i < changes; ++i) {
      EXPECT_TRUE(session_->attach(i % 2 == 0 ? spec_ : "", problem)) << problem;
      session_->collect();
    }
    are_through = true;
  });
  run([&](int thread) {
    const std::string kernel = "k" + std::to_string(thread % 3);
    for (std::uint64_t i = 0; i < most_launches && !are_through; ++i) instrumented += launch(kernel) ? 1 : 0;
  });
  attacher.join();
  session_->finish();
  EXPECT_GT(instrumented, 0u);
  EXPECT_EQ(records_.launches.size(), instrumented);
  std::uint64_t counted = 0;
  for (const report::CoverageRecord& record : records_.coverage) {
    EXPECT_THAT(record.notes, IsEmpty());
    counted += record.instrumented_launches;
  }
  EXPECT_EQ(counted, instrumented);
  std::map<std::string, std::set<std::uint64_t>> numbers;
  for (const report::LaunchRecord& record : records_.launches) {
    EXPECT_TRUE(numbers[record.kernel].insert(record.launch).second) << "two launches with the same number";
    EXPECT_EQ(std::get<std::vector<std::uint64_t>>(record.results.at(0).values).at(0), 7u);
  }
}

TEST_F(Threads, RecordsComeInTheOrderOfOneThreadsLaunches) {
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(launch("k"));
  session_->finish();
  ASSERT_EQ(records_.launches.size(), 500u);
  for (std::size_t i = 0; i < 500; ++i) EXPECT_EQ(records_.launches[i].launch, i);
}

/// A sink that signals when a record has arrived.
class TellingSink : public report::Sink {
 public:
  explicit TellingSink(std::promise<std::thread::id>& came) : came_(came) {}
  void sites(const report::SitesRecord&) override {}
  void launch(const report::LaunchRecord&) override { came_.set_value(std::this_thread::get_id()); }
  void total(const report::TotalRecord&) override {}
  void coverage(const report::CoverageRecord&) override {}
  void timing(const report::TimingRecord&) override {}
  void finish() override {}

 private:
  std::promise<std::thread::id>& came_;
};

TEST_F(Threads, SessionsThreadCollectsResults) {
  std::promise<std::thread::id> came;
  session_ = std::make_unique<Session>(Configuration{}, std::make_unique<TellingSink>(came));
  std::string problem;
  ASSERT_TRUE(session_->attach(spec_, problem)) << problem;
  EXPECT_TRUE(launch("k"));
  auto taken = came.get_future();
  ASSERT_EQ(taken.wait_for(patience), std::future_status::ready) << "without a request";
  EXPECT_NE(taken.get(), std::this_thread::get_id());
}

TEST(Worker, CollectsUntilNothingIsLeft) {
  std::atomic<int> left = 5;
  std::promise<void> none_left;
  {
    ResultsWorker worker([&] {
      if (--left != 0) return false;
      none_left.set_value();
      return true;
    });
    worker.wake();
    ASSERT_EQ(none_left.get_future().wait_for(patience), std::future_status::ready);
  }
  EXPECT_EQ(left, 0) << "and is not asked again";
}

TEST(Worker, SleepsUntilItIsWoken) {
  std::atomic<int> calls = 0;
  std::mutex mutex;
  std::condition_variable called;
  ResultsWorker worker([&] {
    const std::lock_guard lock(mutex);
    ++calls;
    called.notify_all();
    return true;
  });
  for (int i = 1; i <= 100; ++i) {
    worker.wake();
    std::unique_lock lock(mutex);
    ASSERT_TRUE(called.wait_for(lock, patience, [&] { return calls >= i; }));
  }
}

TEST(Worker, FinishesWhenItIsDestroyed) {
  bool is_used = false;  // by the thread, until the end of the scope
  {
    std::promise<void> begun;
    std::atomic<bool> is_first = true;
    ResultsWorker worker([&] {
      is_used = true;
      if (is_first.exchange(false)) begun.set_value();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      is_used = false;
      return false;
    });
    worker.wake();
    begun.get_future().wait();
  }
  EXPECT_FALSE(is_used);
}

TEST(Worker, IsIdleIfNeverWoken) {
  bool is_asked = false;
  {
    const ResultsWorker worker([&] { return is_asked = true; });
  }
  EXPECT_FALSE(is_asked);
}

}  // namespace
}  // namespace lynxpp::interposer
