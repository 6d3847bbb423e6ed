// Launches whose results arrive when a test says so, and a pipeline that records what it settles.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "interposer/session/results_pipeline.h"
#include "tests/session/session_fixture.h"

namespace lynxpp::interposer {

/// Its results are ready when the flag is set; wait() waits for it.
class FlaggedReadback : public device::Readback {
 public:
  explicit FlaggedReadback(std::shared_ptr<std::atomic<bool>> is_over) : is_over_(std::move(is_over)) {}
  bool ready() override { return *is_over_; }
  Result<std::span<std::byte>> wait() override {
    is_over_->wait(false);
    return std::span<std::byte>();
  }

 private:
  std::shared_ptr<std::atomic<bool>> is_over_;
};

class PendingTest : public ::testing::Test {
 protected:
  using Which = ResultsPipeline::Which;
  using Flag = std::shared_ptr<std::atomic<bool>>;

  PendingTest() { attached_->adds_up = true; }
  ~PendingTest() override {
    for (const Flag& each : flags_) end(each);
  }

  std::shared_ptr<LaunchPlan> plan_of(std::uint64_t bytes = 64) {
    auto plan = std::make_shared<LaunchPlan>();
    plan->attached = attached_;
    plan->seen = &kernel_;
    plan->layout.bytes = bytes;
    return plan;
  }
  static PendingPtr pending_of(std::shared_ptr<const LaunchPlan> plan, std::uint64_t number,
                               const device::Device* on = nullptr) {
    auto pending = std::make_unique<Pending>();
    pending->plan = std::move(plan);
    pending->launch = pending->last = number;
    pending->on = on;
    return pending;
  }
  /// Adds a launch that is over, or ends when the flag is set.
  Flag add(std::uint64_t number, bool is_over = true, const device::Device* on = nullptr) {
    const auto flag = std::make_shared<std::atomic<bool>>(is_over);
    PendingPtr pending = pending_of(plan_of(), number, on);
    pending->readback = std::make_unique<FlaggedReadback>(flag);
    results_.add(std::move(pending));
    flags_.push_back(flag);
    return flag;
  }
  static void end(const Flag& flag) {
    *flag = true;
    flag->notify_all();
  }
  std::vector<std::uint64_t> settled() {
    const std::lock_guard lock(mutex_);
    return settled_;
  }

  std::mutex mutex_;
  std::vector<std::uint64_t> settled_;  ///< numbers of launches, in the order in which they were settled
  std::vector<std::uint64_t> shared_;   ///< of each of these: launches that shared counters
  std::vector<std::pair<std::uint64_t, std::string>> lost_;  ///< number and reason
  std::vector<Flag> flags_;
  std::shared_ptr<Attached> attached_ = std::make_shared<Attached>();
  Seen kernel_{"k"};
  FakeDevice device_;
  ResultsPipeline results_{{.settle =
                                [this](Pending& pending, const Result<std::span<std::byte>>&) {
                                  const std::lock_guard lock(mutex_);
                                  settled_.push_back(pending.launch);
                                  shared_.push_back(pending.launches);
                                },
                            .lose =
                                [this](const Pending& pending, const std::string& reason) {
                                  const std::lock_guard lock(mutex_);
                                  lost_.emplace_back(pending.launch, reason);
                                }},
                           std::chrono::milliseconds(30)};
};

}  // namespace lynxpp::interposer
