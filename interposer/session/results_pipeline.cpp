#include "interposer/session/results_pipeline.h"

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "support/background_thread.h"
#include "support/check.h"
#include "support/log.h"

namespace lynxpp::interposer {
namespace {

/// A launch waits for results if more than this is outstanding.
constexpr std::uint64_t outstanding_bytes_limit = 512ull << 20;
constexpr std::size_t outstanding_launches_limit = 4096;
/// Pause between two polls of unfinished launches.
constexpr std::chrono::milliseconds look_again(1);
/// After this time, results of later launches are polled too.
constexpr std::chrono::milliseconds patience_with_first(20);
/// Limit on waiting for another thread that collects results when a context ends.
constexpr std::chrono::milliseconds patience_with_collector(1000);

}  // namespace

/// Launches of one device that are examined in succession.
struct ResultsPipeline::Together {
  const device::Device* on = nullptr;
  std::unique_ptr<device::CallGroup> calls;
};

/// Outstanding launches of contexts that end, shared with the thread that waits for them.
struct ResultsPipeline::Ending {
  OwnedMutex<std::mutex> mutex{LockRank::leaf};
  std::deque<PendingPtr> waiting LYNXPP_GUARDED_BY(mutex);

  void add(std::deque<PendingPtr> more) {
    const Lock lock(mutex);
    std::ranges::move(more, std::back_inserter(waiting));
  }

  /// Returns null if none is left.
  PendingPtr next() {
    const Lock lock(mutex);
    if (waiting.empty()) return nullptr;
    PendingPtr first = std::move(waiting.front());
    waiting.pop_front();
    return first;
  }
};

ResultsPipeline::~ResultsPipeline() {
  while (helpers_ != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  worker_.reset();
  const Lock lock(mutex_);
  admit();
}

void ResultsPipeline::use_worker(std::function<bool()> collect) {
  worker_ = std::make_unique<ResultsWorker>(std::move(collect));
}

void ResultsPipeline::add(PendingPtr pending) {
  ++size_;
  bytes_ += pending->plan->layout.bytes;
  Pending* const last = pending.release();
  last->previous = added_.load(std::memory_order_relaxed);
  while (!added_.compare_exchange_weak(last->previous, last, std::memory_order_release,
                                       std::memory_order_relaxed)) {}
  wake();
}

bool ResultsPipeline::is_crowded() const {
  return bytes_ > outstanding_bytes_limit || size_ > outstanding_launches_limit;
}

void ResultsPipeline::admit() {
  std::vector<PendingPtr> added;
  for (Pending* last = added_.exchange(nullptr, std::memory_order_acquire); last != nullptr;
       last = last->previous)
    added.emplace_back(last);
  std::move(added.rbegin(), added.rend(), std::back_inserter(queue_));
}

PendingPtr ResultsPipeline::pop() {
  const Lock lock(mutex_);
  admit();
  if (queue_.empty() || is_over_) return nullptr;
  PendingPtr first = std::move(queue_.front());
  queue_.pop_front();
  return first;
}

void ResultsPipeline::remove(const Pending& pending) {
  --size_;
  bytes_ -= pending.plan->layout.bytes;
}

PendingPtr ResultsPipeline::take(Which which, Together& together) {
  PendingPtr taken;
  std::vector<PendingPtr> passed;
  for (std::size_t left = looks_past_first_ ? size_.load() : 1; left != 0; --left) {
    PendingPtr first = pop();
    if (first == nullptr) break;
    if (together.on != first->on) {
      together.calls.reset();
      together = {first->on, first->readback->call_group()};
    }
    const bool is_wanted = which == Which::all ||
                           (which == Which::ended ? first->readback->is_over() : first->readback->ready());
    if (is_wanted) {
      remove(*first);
      taken = std::move(first);
      break;
    }
    passed.push_back(std::move(first));
  }
  if (passed.empty()) return taken;
  const Lock lock(mutex_);
  for (; !passed.empty(); passed.pop_back()) queue_.push_front(std::move(passed.back()));
  return taken;
}

void ResultsPipeline::settle(PendingPtr pending) {
  receiver_.settle(*pending, pending->readback->wait());
  pending.reset();
  ++settled_;  // its memory is free
}

void ResultsPipeline::drain(Which which) {
  Together together;
  while (which == Which::all || !is_ending_) {
    PendingPtr taken = take(which, together);
    if (taken == nullptr) return;
    settle(std::move(taken));
  }
}

bool ResultsPipeline::collect(Which which, std::optional<std::chrono::milliseconds> patience) {
  if (!patience) {
    taking_.lock();
  } else if (!taking_.try_lock_for(*patience)) {
    return false;
  }
  const Lock taking(taking_, std::adopt_lock);
  drain(which);
  return true;
}

bool ResultsPipeline::collect_until(const std::function<bool()>& is_enough) {
  if (is_collecting_here()) return is_enough();
  auto last = std::chrono::steady_clock::now();  // when a result was collected
  while (!is_over_ && !is_ending_) {
    const std::uint64_t before = settled_;
    const auto now = std::chrono::steady_clock::now();
    if (taking_.try_lock_for(look_again)) {
      Lock taking(taking_, std::adopt_lock);
      looks_past_first_ = before == waited_till_ || now - last > patience_with_first;
      drain(Which::arrived);
      looks_past_first_ = false;
      const bool is_nothing_left = size_ == 0;
      taking.unlock();
      if (is_enough()) return true;
      if (is_nothing_left) return false;
    }
    if (settled_ != before) {
      last = now;
      continue;
    }
    if (before == waited_till_ || now - last > patience_) {
      waited_till_ = before;
      return false;
    }
    std::this_thread::sleep_for(look_again);
  }
  return false;
}

void ResultsPipeline::collect_completed(std::chrono::milliseconds patience) {
  if (!mutex_.try_lock_for(patience)) return;
  Lock lock(mutex_, std::adopt_lock);
  if (is_over_) return;
  admit();
  std::deque<PendingPtr> all = std::exchange(queue_, {});
  std::deque<PendingPtr> rest;  // destroying one means waiting for it
  lock.unlock();
  for (PendingPtr& pending : all) {
    if (!pending->readback->ready()) {
      rest.push_back(std::move(pending));
      continue;
    }
    remove(*pending);
    settle(std::move(pending));
  }
  lock.lock();
  std::ranges::move(rest, std::back_inserter(queue_));
}

bool ResultsPipeline::visit(std::chrono::milliseconds patience, const std::function<void(Pending&)>& visit) {
  if (!taking_.try_lock_for(patience)) return false;
  const Lock taking(taking_, std::adopt_lock);
  std::vector<Pending*> outstanding;
  {
    const Lock lock(mutex_);
    admit();
    for (const PendingPtr& each : queue_) outstanding.push_back(each.get());
  }
  for (Pending* const each : outstanding) visit(*each);
  return true;
}

std::deque<PendingPtr> ResultsPipeline::take_all_of(std::span<const device::Device* const> ending) {
  const std::unique_lock taking(taking_,
                                patience_with_collector);  // the results may be anywhere in the queue
  const Lock lock(mutex_);
  admit();
  std::deque<PendingPtr> taken;
  std::deque<PendingPtr> others;
  for (PendingPtr& pending : std::exchange(queue_, {})) {
    const bool is_one = ending.empty() || std::ranges::find(ending, pending->on) != ending.end();
    if (is_one) remove(*pending);
    (is_one ? taken : others).push_back(std::move(pending));
  }
  queue_ = std::move(others);
  return taken;
}

bool ResultsPipeline::settle_ending(std::span<const device::Device* const> ending,
                                    const std::function<void()>& close) {
  const auto last = std::make_shared<Ending>();
  last->add(take_all_of(ending));
  const auto settle_all = [this, last] {
    while (PendingPtr next = last->next()) settle(std::move(next));
  };
  const std::vector<const device::Device*> devices(ending.begin(), ending.end());
  const bool is_over = ends(
      [this, last, settle_all, devices, close] {
        settle_all();
        close();
        last->add(take_all_of(devices));
        settle_all();
      },
      patience_);
  if (is_over) return true;
  while (PendingPtr next = last->next()) {
    lose(*next, "the context ended before the launch finished");
    const Lock lock(mutex_);
    given_up_.push_back(std::move(next));  // destroying one means waiting for it
  }
  return false;
}

bool ResultsPipeline::ends(const std::function<void()>& work, std::chrono::milliseconds patience) {
  const auto body = [this, work] {
    try {
      work();
    } catch (const std::exception& error) {
      log().error("internal failure while results were collected: {}", error.what());
    }
    --helpers_;
    return true;
  };
  ++helpers_;
  const std::optional<bool> has_ended = ends_within(patience, body, [this] { return settled_.load(); });
  return has_ended ? *has_ended : body();
}

}  // namespace lynxpp::interposer
