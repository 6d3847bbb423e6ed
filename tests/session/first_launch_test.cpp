// First launches: variants that threads compile ahead, and original kernels that run meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "interposer/session/variants_ahead.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::seconds long_enough(60);

/// Compiles ahead and holds compilations until they are released.
class CompilingDevice : public FakeDevice {
 public:
  CompilingDevice() { set_compiles_slowly(true); }

  struct Compiled : device::Variant {
    std::string kernel;
  };

  Result<std::unique_ptr<device::Variant>> compile(const std::string&, const std::string& kernel,
                                                   const device::Launch& launch) override {
    std::unique_lock lock(mutex_);
    begun_[kernel] = launch.block[0];
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_held_; });
    if (fails) return failure("the compiler is in a bad mood");
    auto made = std::make_unique<Compiled>();
    made->kernel = kernel;
    ++compiled_[kernel];
    return std::unique_ptr<device::Variant>(std::move(made));
  }
  Result<std::unique_ptr<device::Variant>> load_compiled(std::unique_ptr<device::Variant> compiled,
                                                         const std::string&, const std::string& kernel,
                                                         const device::Launch&,
                                                         const device::VariantTraits& traits) override {
    EXPECT_EQ(static_cast<Compiled&>(*compiled).kernel, kernel);
    completed.push_back(kernel);
    addresses = traits.variables.addresses;
    return compiled;
  }

  void hold() {
    const std::lock_guard lock(mutex_);
    is_held_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    changed_.notify_all();
  }
  /// Returns the width of the block that the compilation is for.
  std::uint32_t wait_for(const std::string& kernel) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, long_enough, [&] { return begun_.contains(kernel); })) << kernel;
    return begun_[kernel];
  }
  int compiled(const std::string& kernel) {
    const std::lock_guard lock(mutex_);
    return compiled_[kernel];
  }

  std::atomic<bool> fails = false;
  std::vector<std::string> completed;
  std::vector<std::uint64_t> addresses;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
  std::map<std::string, std::uint32_t> begun_;
  std::map<std::string, int> compiled_;
};

class FirstLaunches : public ::testing::Test {
 protected:
  ~FirstLaunches() override {
    device_.release();
    session_.reset();
  }
  void start(FirstLaunch first, std::optional<NamePattern> kernels = std::nullopt) {
    spec_ = folder_.file("sevens.cod");
    std::ofstream(spec_) << "global unsigned long sevens;\nON_KERNEL_EXIT: { atomicAdd(&sevens, 1); }\n";
    Configuration configuration;
    configuration.first_launch = first;
    configuration.kernels = std::move(kernels);
    session_ = std::make_unique<Session>(configuration, std::make_unique<RecordingSink>(records_));
    std::string problem;
    ASSERT_TRUE(session_->attach(spec_, problem)) << problem;
  }
  static std::string module_of(int kernels) {
    std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 total;\n";
    for (int i = 0; i < kernels; ++i) {
      text += ".visible .entry k" + std::to_string(i) + "()\n" + (i == 2 ? ".reqntid 96\n" : "") +
              "{\n.reg .b64 %rd<2>;\nmov.u64 %rd1, total;\nret;\n}\n";
    }
    return text;
  }
  bool launch(const std::string& kernel, std::uint32_t threads = 64, std::uint64_t image = 1) {
    device::Launch request;
    request.block[0] = threads;
    const KernelSource source{kernel, image, [&]() -> Result<KernelPtx> { return KernelPtx{text_}; }};
    return session_->launch(device_, request, source);
  }
  /// Launches until the variant is used, and returns the number of native launches.
  int native_launches(const std::string& kernel) {
    const auto end = std::chrono::steady_clock::now() + long_enough;
    int natively = 0;
    while (!launch(kernel)) {
      ++natively;
      if (std::chrono::steady_clock::now() > end) return ADD_FAILURE() << "the variant never runs", natively;
      std::this_thread::yield();
    }
    return natively;
  }
  const report::CoverageRecord& coverage(const std::string& kernel) {
    const auto found = std::ranges::find(records_.coverage, kernel, &report::CoverageRecord::kernel);
    static const report::CoverageRecord none;
    if (found == records_.coverage.end()) return ADD_FAILURE() << "no coverage of " << kernel, none;
    return *found;
  }

  const TemporaryFolder folder_;
  std::string spec_, text_ = module_of(4);
  CompilingDevice device_;
  Records records_;
  std::unique_ptr<Session> session_;
};

TEST_F(FirstLaunches, CompileTheOtherKernelsOfTheModule) {
  start(FirstLaunch::waits);
  EXPECT_TRUE(launch("k0", 64));
  EXPECT_EQ(device_.wait_for("k1"), 64u) << "blocks like the launch's";
  EXPECT_EQ(device_.wait_for("k2"), 96u) << "the blocks that the kernel requires";
  EXPECT_EQ(device_.wait_for("k3"), 64u);
  EXPECT_TRUE(launch("k3", 64));
  EXPECT_TRUE(launch("k2", 96));
  EXPECT_THAT(device_.completed, ElementsAre("k3", "k2"));
  EXPECT_THAT(device_.addresses, ElementsAre(4096u)) << "of this run's variable";
  EXPECT_EQ(device_.loaded.size(), 1u) << "k0";
}

TEST_F(FirstLaunches, WaitForTheirOwnCompilationOnly) {
  start(FirstLaunch::waits);
  device_.hold();
  EXPECT_TRUE(launch("k0")) << "it does not wait for the others";
  device_.wait_for("k1");
  std::thread other([&] { EXPECT_TRUE(launch("k1")) << "waits"; });
  device_.release();
  other.join();
  EXPECT_EQ(device_.compiled("k1"), 1);
}

TEST_F(FirstLaunches, CompileTheirOwnVariantForOtherShapes) {
  start(FirstLaunch::waits);
  EXPECT_TRUE(launch("k0", 64));
  device_.wait_for("k3");
  EXPECT_TRUE(launch("k3", 33)) << "the variant compiled ahead is for full warps";
  EXPECT_EQ(device_.loaded.size(), 2u);
}

TEST_F(FirstLaunches, CompileNothingAheadIfNotWanted) {
  start(FirstLaunch::alone);
  EXPECT_TRUE(launch("k0"));
  EXPECT_TRUE(launch("k1"));
  EXPECT_EQ(device_.loaded.size(), 2u);
  EXPECT_EQ(device_.compiled("k2"), 0);
}

TEST_F(FirstLaunches, CompileNothingAheadForTheCpuDevice) {
  device_.set_compiles_slowly(false);
  start(FirstLaunch::waits);
  EXPECT_TRUE(launch("k0"));
  EXPECT_TRUE(launch("k1"));
  session_->finish();
  EXPECT_EQ(device_.loaded.size(), 2u);
}

TEST_F(FirstLaunches, CompileNoLibraryAhead) {
  text_ = module_of(17);
  start(FirstLaunch::waits);
  EXPECT_TRUE(launch("k0"));
  EXPECT_TRUE(launch("k1"));
  session_->finish();
  EXPECT_EQ(device_.loaded.size(), 2u);
  EXPECT_EQ(device_.compiled("k1") + device_.compiled("k5"), 0);
}

TEST_F(FirstLaunches, CompileOnlySelectedKernelsAhead) {
  start(FirstLaunch::waits, *NamePattern::parse("k[03]"));
  EXPECT_TRUE(launch("k0"));
  device_.wait_for("k3");
  session_->finish();
  EXPECT_EQ(device_.compiled("k1") + device_.compiled("k2"), 0);
}

TEST_F(FirstLaunches, RunTheOriginalWhileTheVariantIsCompiled) {
  start(FirstLaunch::native);
  device_.hold();
  EXPECT_FALSE(launch("k0"));
  device_.wait_for("k0");
  EXPECT_FALSE(launch("k0"));
  EXPECT_FALSE(launch("k0"));
  device_.release();
  const int more = native_launches("k0");
  session_->finish();
  const report::CoverageRecord& found = coverage("k0");
  EXPECT_EQ(found.launches, static_cast<std::uint64_t>(4 + more));
  EXPECT_EQ(found.instrumented_launches, 1u);
  EXPECT_THAT(found.notes, Contains(HasSubstr(std::to_string(3 + more) +
                                              " launches made while the variant was being compiled")));
  ASSERT_EQ(records_.launches.size(), 1u);
  EXPECT_EQ(records_.launches[0].launch, static_cast<std::uint64_t>(3 + more))
      << "numbers count all launches";
  EXPECT_TRUE(device_.loaded.empty()) << "no launch compiled";
}

TEST_F(FirstLaunches, SayThatAProgramEndedBeforeTheVariantWasReady) {
  start(FirstLaunch::native);
  device_.hold();
  EXPECT_FALSE(launch("k0"));
  device_.wait_for("k0");
  device_.release();
  session_->finish();
  EXPECT_FALSE(coverage("k0").instrumented);
  EXPECT_THAT(coverage("k0").reason, HasSubstr("LYNXPP_FIRST_LAUNCH=native"));
  EXPECT_TRUE(records_.launches.empty());
}

TEST_F(FirstLaunches, ReportWhyAVariantCannotBeCompiled) {
  start(FirstLaunch::native);
  device_.fails = true;
  device_.refuses_load = true;
  const auto end = std::chrono::steady_clock::now() + long_enough;
  while (device_.loaded.empty() && std::chrono::steady_clock::now() < end) EXPECT_FALSE(launch("k0"));
  session_->finish();
  EXPECT_EQ(coverage("k0").reason, "no room");
}

TEST_F(FirstLaunches, DropWhatWasCompiledForAnImageThatIsGone) {
  start(FirstLaunch::waits);
  EXPECT_TRUE(launch("k0"));
  device_.wait_for("k3");
  session_->forget_image(1);
  EXPECT_TRUE(launch("k3"));
  EXPECT_TRUE(device_.completed.empty());
}

TEST_F(FirstLaunches, UseNoDeviceAfterItsContextEnds) {
  start(FirstLaunch::waits);
  device_.hold();
  EXPECT_TRUE(launch("k0"));
  device_.wait_for("k1");
  std::atomic<bool> is_saved = false;
  std::thread ending([&] {
    const device::Device* const devices[] = {&device_};
    session_->save_results(devices);
    EXPECT_EQ(device_.compiled("k1"), 1) << "it has waited";
    is_saved = true;
  });
  EXPECT_FALSE(is_saved);
  device_.release();
  ending.join();
  const int compiled = device_.compiled("k2") + device_.compiled("k3");
  session_->finish();
  EXPECT_EQ(device_.compiled("k2") + device_.compiled("k3"), compiled);
}

// ---- the threads

VariantsAhead::Key key_of(const std::string& kernel) { return {nullptr, 1, kernel, nullptr, {}, false}; }

TEST(VariantsAhead, RunsEachJobOnceAndUrgentOnesFirst) {
  std::mutex mutex;
  std::vector<std::string> order;
  std::mutex gate;
  gate.lock();
  {
    VariantsAhead ahead(1);
    const auto job = [&](const std::string& name) {
      return [&, name]() -> VariantsAhead::Compiled {
        if (name == "first") const std::lock_guard wait(gate);
        const std::lock_guard lock(mutex);
        order.push_back(name);
        return {name, nullptr};
      };
    };
    ahead.add(key_of("first"), job("first"), false);
    while (ahead.state_of(key_of("first")) != VariantsAhead::State::running) std::this_thread::yield();
    ahead.add(key_of("a"), job("a"), false);
    ahead.add(key_of("a"), job("twice"), false);
    ahead.add(key_of("b"), job("b"), true);
    ahead.add(key_of("c"), job("c"), false);
    EXPECT_EQ(ahead.take(key_of("c"), long_enough).ptx, "") << "c has not begun, and never does";
    gate.unlock();
    while (ahead.state_of(key_of("a")) != VariantsAhead::State::done) std::this_thread::yield();
    EXPECT_EQ(ahead.take(key_of("a"), long_enough).ptx, "a");
    EXPECT_EQ(ahead.state_of(key_of("unknown")), VariantsAhead::State::unknown);
  }
  EXPECT_THAT(order, ElementsAre("first", "b", "a"));
}

/// Reports when it is destroyed, and then waits.
class HeldVariant : public device::Variant {
 public:
  HeldVariant(std::atomic<bool>& is_ending, std::mutex& gate) : is_ending_(is_ending), gate_(gate) {}
  ~HeldVariant() override {
    is_ending_ = true;
    const std::lock_guard wait(gate_);
  }

 private:
  std::atomic<bool>& is_ending_;
  std::mutex& gate_;
};

TEST(VariantsAhead, LeavesADiscardedResultToItsThread) {
  std::mutex job_gate, end_gate;
  std::atomic<bool> is_ending = false;
  job_gate.lock();
  end_gate.lock();
  VariantsAhead ahead(1);
  ahead.add(
      key_of("k"),
      [&]() -> VariantsAhead::Compiled {
        const std::lock_guard wait(job_gate);
        return {"k", std::make_unique<HeldVariant>(is_ending, end_gate)};
      },
      false);
  while (ahead.state_of(key_of("k")) != VariantsAhead::State::running) std::this_thread::yield();
  const auto all = [](const VariantsAhead::Key&) { return true; };
  ahead.discard(all, std::chrono::milliseconds(0));
  job_gate.unlock();
  while (!is_ending) std::this_thread::yield();
  ahead.discard(all, std::chrono::milliseconds(0));
  end_gate.unlock();
  ahead.stop(long_enough);
  EXPECT_EQ(ahead.state_of(key_of("k")), VariantsAhead::State::unknown);
}

TEST(VariantsAhead, GivesUpWaitingForABlockedJob) {
  std::mutex gate;
  gate.lock();
  VariantsAhead ahead(1);
  ahead.add(
      key_of("k"),
      [&]() -> VariantsAhead::Compiled {
        const std::lock_guard wait(gate);
        return {"late", nullptr};
      },
      false);
  while (ahead.state_of(key_of("k")) != VariantsAhead::State::running) std::this_thread::yield();
  EXPECT_EQ(ahead.take(key_of("k"), std::chrono::milliseconds(1)).ptx, "");
  ahead.stop(std::chrono::milliseconds(1));
  ahead.add(
      key_of("later"), [] { return VariantsAhead::Compiled{}; }, true);
  EXPECT_EQ(ahead.state_of(key_of("later")), VariantsAhead::State::unknown) << "stopped";
  gate.unlock();
}

}  // namespace
}  // namespace lynxpp::interposer
