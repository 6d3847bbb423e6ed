#include "interposer/session/counter_sharing.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <thread>
#include <utility>

#include "support/check.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

/// How long launches add to one buffer. Results of a program that crashes are lost for this time.
constexpr std::chrono::milliseconds sharing_time(100);
/// Limit on waiting for another thread that is closing buffers: recording an event may block.
constexpr std::chrono::milliseconds patience_with_closing(1000);

template <typename Before>
void exchange_if(std::atomic<std::uint64_t>& value, std::uint64_t next, Before is_before) {
  std::uint64_t now = value.load(std::memory_order_relaxed);
  while (is_before(next, now) && !value.compare_exchange_weak(now, next, std::memory_order_relaxed)) {}
}

}  // namespace

/// Counters that launches of one plan on one stream, made in the same ranges, add to.
struct SharedCounters {
  SharingOwner owner;
  std::vector<std::uint64_t> words;  ///< the hidden parameter of all its launches
  std::unique_ptr<device::Buffer> buffer;
  PendingPtr pending;
  bool is_open = true;  ///< launches may join; guarded by CounterSharing::mutex_
  // Joining and closing exclude each other, so that these no longer change once the counters are closed and
  // no launch is in progress.
  std::atomic<std::uint64_t> in_progress = 1;  ///< threads that are launching with it
  std::atomic<std::uint64_t> launches = 0;
  std::atomic<std::uint64_t> least = std::numeric_limits<std::uint64_t>::max();  ///< number of a launch
  std::atomic<std::uint64_t> greatest = 0;

  /// Describes the launches so far.
  Pending& described() {
    pending->launches = launches;
    pending->launch = least;
    pending->last = greatest;
    return *pending;
  }
};

// ---- launches

JoinedLaunch::~JoinedLaunch() {
  if (counters_ != nullptr) counters_->in_progress.fetch_sub(1, std::memory_order_release);
}

std::span<const std::uint64_t> JoinedLaunch::words() const { return counters_->words; }

device::Buffer& JoinedLaunch::buffer() const { return *counters_->buffer; }

void JoinedLaunch::launched(std::uint64_t number) {
  exchange_if(counters_->least, number, std::less());
  exchange_if(counters_->greatest, number, std::greater());
  counters_->launches.fetch_add(1, std::memory_order_relaxed);
}

bool CounterSharing::shares(const LaunchPlan& plan, device::Device& device,
                            const device::Launch& launch) const {
  if (!may_share_ || results_.is_ending() || !plan.attached->adds_up || plan.words != nullptr) return false;
  if (plan.own_records >= own_records_) return device.may_share(launch);
  ++plan.own_records;
  return false;
}

JoinedLaunch CounterSharing::join(const LaunchPlan& plan, void* stream,
                                  const std::vector<std::string>& ranges) {
  const Lock lock(mutex_);
  const auto found = std::ranges::find_if(plan.open, [&](const Counters& each) {
    return each->owner.stream == stream && each->pending->activity.ranges == ranges;
  });
  if (found == plan.open.end()) return {};
  ++(*found)->in_progress;
  return JoinedLaunch(*found);
}

JoinedLaunch CounterSharing::open(const SharingOwner& owner, PendingPtr pending,
                                  std::vector<std::uint64_t> words, std::unique_ptr<device::Buffer> buffer) {
  LYNXPP_CHECK(pending->plan->layout.writes().empty(),
               "launches that share counters need nothing written before");
  const LaunchPlan& plan = *pending->plan;
  auto counters = std::make_shared<SharedCounters>();
  counters->owner = owner;
  counters->words = std::move(words);
  counters->buffer = std::move(buffer);
  counters->pending = std::move(pending);
  JoinedLaunch joined(counters);
  {
    const Lock lock(mutex_);
    if (all_.empty()) next_closing_ = std::chrono::steady_clock::now() + sharing_time;
    all_.push_back(counters);
    plan.open.push_back(std::move(counters));
  }
  results_.wake();
  return joined;
}

// ---- closing

bool CounterSharing::is_empty() {
  const Lock lock(mutex_);
  return all_.empty();
}

void CounterSharing::close_due() {
  if (is_over_ || results_.is_ending()) return;
  bool is_due = false;
  {
    const Lock lock(mutex_);
    if (all_.empty()) return;
    const auto now = std::chrono::steady_clock::now();
    is_due = !results_.has_worker() || now >= next_closing_;
    if (is_due) next_closing_ = now + sharing_time;
  }
  if (!is_due && !has_closed_) return;
  if (!closing_.try_lock()) return;
  const Lock closing(closing_, std::adopt_lock);
  take([is_due](const SharedCounters& each) { return is_due || !each.is_open; }, false);
}

void CounterSharing::close(const Choice& is_closed) {
  if (is_over_) return;
  if (!closing_.try_lock_for(patience_with_closing)) return;
  const Lock closing(closing_, std::adopt_lock);
  take([&](const SharedCounters& each) { return is_closed(each.owner); }, false);
}

void CounterSharing::close_pending(const Choice& is_closed, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds pause(1);
  const auto latest = std::chrono::steady_clock::now() + patience;
  std::vector<Counters> chosen;  // other threads may open more meanwhile
  {
    const Lock lock(mutex_);
    std::ranges::copy_if(all_, std::back_inserter(chosen),
                         [&](const Counters& each) { return is_closed(each->owner); });
  }
  const Choice is_chosen = [&](const SharingOwner& owner) {
    return std::ranges::any_of(chosen, [&](const Counters& one) { return &one->owner == &owner; });
  };
  const auto is_any_left = [&] {
    const Lock lock(mutex_);
    return std::ranges::any_of(all_, [&](const Counters& each) { return is_chosen(each->owner); });
  };
  close(is_chosen);
  while (!is_over_ && is_any_left() && std::chrono::steady_clock::now() < latest) {
    std::this_thread::sleep_for(pause);
    close(is_chosen);
  }
}

bool CounterSharing::close_at_once(std::chrono::milliseconds patience) {
  if (closing_.try_lock_for(patience)) {
    const Lock closing(closing_, std::adopt_lock);
    take([](const SharedCounters&) { return true; }, true);
  }
  return !has_closed_;
}

void CounterSharing::close_after_launch(void* stream) {
  if (!has_closed_ || !closing_.try_lock()) return;
  const Lock closing(closing_, std::adopt_lock);
  take([stream](const SharedCounters& each) { return !each.is_open && each.owner.stream == stream; }, true);
}

void CounterSharing::leave_stream(void* stream, bool is_destroyed) {
  if (is_over_) return;
  const auto is_there = [&](const SharingOwner& owner) { return owner.stream == stream; };
  {
    const Lock lock(mutex_);
    if (std::ranges::none_of(all_, [&](const Counters& each) { return is_there(each->owner); })) return;
  }
  close(is_there);
  if (!is_destroyed) return;
  std::vector<Counters> lost;
  {
    const Lock lock(mutex_);
    std::ranges::copy_if(all_, std::back_inserter(lost),
                         [&](const Counters& each) { return is_there(each->owner); });
    std::erase_if(all_, [&](const Counters& each) { return is_there(each->owner); });
    std::ranges::copy(lost, std::back_inserter(abandoned_));
  }
  for (const Counters& each : lost) {
    if (each->launches != 0) results_.lose(each->described(), "their stream was destroyed meanwhile");
  }
}

void CounterSharing::take(const std::function<bool(const SharedCounters&)>& is_closed, bool after_launch) {
  std::vector<Counters> closed;
  {
    const Lock lock(mutex_);
    std::erase_if(all_, [&](const Counters& each) {
      if (!is_closed(*each)) return false;
      each->is_open = false;
      std::erase(each->pending->plan->open, each);
      if (each->in_progress.load(std::memory_order_acquire) != 0) return false;
      closed.push_back(each);
      return true;
    });
  }
  for (Counters& each : closed) read_back(std::move(each), after_launch);
  {
    const Lock lock(mutex_);
    has_closed_ = std::ranges::any_of(all_, [](const Counters& each) { return !each->is_open; });
  }
  if (!closed.empty()) results_.wake();
}

void CounterSharing::read_back(Counters counters, bool after_launch) {
  if (counters->launches == 0) return;
  const Pending& pending = counters->described();
  Result<std::unique_ptr<device::Readback>> readback = failure("internal failure");
  try {
    readback = counters->owner.device->read_back_shared(counters->buffer, after_launch);
  } catch (const std::exception& error) {
    readback = failure(error.what());
  }
  if (!readback) {
    const std::string reason = first_message(readback.error());
    log().error("{}: launches {} to {}: results are lost: {}", demangle(pending.plan->seen->name),
                pending.launch, pending.last, reason);
    return results_.lose(pending, reason);
  }
  if (*readback == nullptr) {
    const Lock lock(mutex_);
    all_.push_back(std::move(counters));
    return;
  }
  counters->pending->readback = std::move(*readback);
  results_.add(std::move(counters->pending));
}

}  // namespace lynxpp::interposer
