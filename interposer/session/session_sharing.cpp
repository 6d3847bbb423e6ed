// The part of the session in which launches share counters: after the first launches of a plan have had
// records of their own, later ones on one stream add to one buffer, which is closed and read back from time
// to time. A shared buffer costs a launch nothing but its kernel.
//
//   open (first launch) ▶ launches add ▶ closed: an event after the last one ▶ results as of one launch
//
// A buffer belongs to one stream, so that one event is after all its launches. Buffers are closed by the
// results thread and before anything that they need ends: the specifications, the image, the stream, the
// context, the process.
#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

#include "interposer/session/session.h"
#include "interposer/session/session_state.h"
#include "support/check.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

/// How long launches add to one buffer. Results of a program that crashes are lost for this time.
constexpr std::chrono::milliseconds sharing_time(100);
/// Limit on waiting for another thread that is closing buffers: recording an event may block.
constexpr std::chrono::milliseconds patience_with_closing(1000);

}  // namespace

bool Session::shares(const Plan& plan, device::Device& device, const device::Launch& launch) const {
  LYNXPP_CHECK(state_.is_held_by_caller(), "state_ is not held");
  if (!may_share_ || ending_ || !plan.attached->adds_up || plan.words != nullptr) return false;
  if (plan.own_records >= configuration_.own_records) return device.may_share(launch);
  ++plan.own_records;
  return false;
}

void Session::measure_each_launch() {
  may_share_ = false;
  close_shared([](const Shared&) { return true; });
}

std::shared_ptr<Session::Shared> Session::join(const Plan& plan, const device::Launch& launch,
                                               const std::vector<std::string>& ranges) {
  const State state(state_);
  const auto found = std::ranges::find_if(plan.open, [&](const std::shared_ptr<Shared>& each) {
    return each->stream == launch.stream && each->pending->activity.ranges == ranges;
  });
  if (found == plan.open.end()) return nullptr;
  ++(*found)->in_progress;
  return *found;
}

Result<std::shared_ptr<Session::Shared>> Session::open_shared(const Kernel& kernel, const PlanPtr& plan,
                                                              device::Device& device,
                                                              const device::Launch& launch,
                                                              report::ActivityRecord& activity) {
  LYNXPP_CHECK(plan->layout.writes().empty(), "launches that share counters need nothing written before");
  Result<std::unique_ptr<device::Buffer>> buffer = allocate(*plan->seen, device, plan->layout.bytes, launch);
  if (!buffer) return buffer.error();
  auto shared = std::make_shared<Shared>();
  shared->device = &device;
  shared->image = kernel.image;
  shared->stream = launch.stream;
  shared->words = probe_words(kernel.instrumented.probe, plan->layout, (*buffer)->address());
  shared->buffer = std::move(*buffer);
  shared->pending = pending_with(plan, device, launch, activity);
  shared->pending->launches = 0;
  shared->in_progress = 1;
  {
    const State state(state_);
    if (shared_.empty()) next_closing_ = std::chrono::steady_clock::now() + sharing_time;
    shared_.push_back(shared);
    plan->open.push_back(shared);
  }
  if (worker_ != nullptr) worker_->wake();
  return shared;
}

Status Session::launch_shared(const Kernel& kernel, const PlanPtr& plan, device::Device& device,
                              const device::Launch& launch, report::ActivityRecord& activity,
                              Outstanding& outstanding) {
  const std::uint64_t number = activity.launch->launch;
  std::shared_ptr<Shared> shared = join(*plan, launch, activity.ranges);
  if (shared == nullptr) {
    Result<std::shared_ptr<Shared>> opened = open_shared(kernel, plan, device, launch, activity);
    if (!opened) return opened.error();
    shared = std::move(*opened);
  }
  Status launched = failure("internal failure");
  try {
    launched = device.launch(*kernel.variant, launch, kernel.instrumented.parameters, shared->words,
                             *shared->buffer);
  } catch (const std::exception& error) {
    launched = failure(error.what());
  }
  State state(state_);
  --shared->in_progress;
  if (!launched) return launched;
  Pending& all = *shared->pending;
  const bool is_first = all.launches == 0;
  all.launch = is_first ? number : std::min(all.launch, number);
  all.last = is_first ? number : std::max(all.last, number);
  ++all.launches;
  report::CoverageRecord& coverage = plan->seen->coverage_of(*plan->attached);
  coverage.instrumented = true;
  coverage.reason.clear();
  ++coverage.instrumented_launches;
  has_measured_.store(true, std::memory_order_relaxed);
  outstanding.settled_later();
  state.unlock();
  close_after_launch(launch.stream);
  return success();
}

void Session::close_due() {
  if (finished_ || ending_) return;
  bool is_due = false;
  {
    const State state(state_);
    if (shared_.empty()) return;
    const auto now = std::chrono::steady_clock::now();
    is_due = worker_ == nullptr || now >= next_closing_;
    if (is_due) next_closing_ = now + sharing_time;
  }
  if (!is_due && !has_closed_) return;
  if (const std::unique_lock closing(closing_, std::try_to_lock); closing)
    take_shared([is_due](const Shared& each) { return is_due || !each.is_open; }, false);
}

void Session::close_shared(const Choice& is_closed) {
  if (finished_) return;
  if (const std::unique_lock closing(closing_, patience_with_closing); closing) take_shared(is_closed, false);
}

void Session::close_all_pending(const Choice& is_closed) {
  constexpr std::chrono::milliseconds pause(1);
  const auto latest = std::chrono::steady_clock::now() + configuration_.patience;
  std::vector<std::shared_ptr<Shared>> chosen;  // other threads may open more meanwhile
  {
    const State state(state_);
    std::ranges::copy_if(shared_, std::back_inserter(chosen),
                         [&](const auto& each) { return is_closed(*each); });
  }
  const Choice is_chosen = [&](const Shared& each) {
    return std::ranges::any_of(chosen, [&](const auto& one) { return one.get() == &each; });
  };
  const auto is_any_left = [&] {
    const State state(state_);
    return std::ranges::any_of(shared_, [&](const auto& each) { return is_chosen(*each); });
  };
  close_shared(is_chosen);
  while (!finished_ && is_any_left() && std::chrono::steady_clock::now() < latest) {
    std::this_thread::sleep_for(pause);
    close_shared(is_chosen);
  }
}

void Session::close_at_once() {
  constexpr std::chrono::milliseconds time_to_end(20), pause(1);
  const auto latest = std::chrono::steady_clock::now() + time_to_end;
  const auto is_any_left = [&] {
    const State state(state_);
    return has_closed_ || !pending_.empty();
  };
  do {
    if (const std::unique_lock closing(closing_, time_to_end); closing)
      take_shared([](const Shared&) { return true; }, true);
    if (const std::unique_lock taking(taking_, pause); taking) drain(Settled::arrived);
    if (!is_any_left()) return;
    std::this_thread::sleep_for(pause);
  } while (std::chrono::steady_clock::now() < latest);
}

void Session::close_after_launch(void* stream) {
  if (!has_closed_) return;
  if (const std::unique_lock closing(closing_, std::try_to_lock); closing)
    take_shared([stream](const Shared& each) { return !each.is_open && each.stream == stream; }, true);
}

void Session::leave_stream(void* stream, bool is_destroyed) {
  if (finished_) return;
  const auto is_there = [&](const Shared& each) { return each.stream == stream; };
  {
    const State state(state_);
    if (std::ranges::none_of(shared_, [&](const auto& each) { return is_there(*each); })) return;
  }
  close_shared(is_there);
  if (!is_destroyed) return;
  const State state(state_);
  std::erase_if(shared_, [&](const std::shared_ptr<Shared>& each) {
    if (!is_there(*each)) return false;
    note_lost(*each->pending, "their stream was destroyed meanwhile");
    abandoned_.push_back(each);
    return true;
  });
}

void Session::note_lost(const Pending& pending, const std::string& reason) {
  Seen& seen = *pending.plan->seen;
  seen.outstanding -= pending.launches;
  seen.lost += pending.launches;
  add_once(seen.coverage_of(*pending.plan->attached).notes, "results lost: " + reason);
}

void Session::take_shared(const Choice& is_closed, bool after_launch) {
  std::vector<std::shared_ptr<Shared>> closed;
  {
    const State state(state_);
    std::erase_if(shared_, [&](const std::shared_ptr<Shared>& each) {
      if (!is_closed(*each)) return false;
      each->is_open = false;
      std::erase(each->pending->plan->open, each);
      if (each->in_progress != 0) return false;
      closed.push_back(each);
      return true;
    });
  }
  for (std::shared_ptr<Shared>& each : closed) read_back(std::move(each), after_launch);
  const State state(state_);
  has_closed_ = std::ranges::any_of(shared_, [](const auto& each) { return !each->is_open; });
  if (!closed.empty() && worker_ != nullptr) worker_->wake();
}

void Session::read_back(std::shared_ptr<Shared> shared, bool after_launch) {
  if (shared->pending->launches == 0) return;
  Result<std::unique_ptr<device::Readback>> readback = failure("internal failure");
  try {
    readback = shared->device->read_back_shared(shared->buffer, after_launch);
  } catch (const std::exception& error) {
    readback = failure(error.what());
  }
  if (!readback) {
    const Pending& lost = *shared->pending;
    const std::string reason = first_message(readback.error());
    log().error("{}: launches {} to {}: results are lost: {}", demangle(lost.plan->seen->coverage.kernel),
                lost.launch, lost.last, reason);
    const State state(state_);
    return note_lost(lost, reason);
  }
  const State state(state_);
  if (*readback == nullptr) {
    shared_.push_back(std::move(shared));
    return;
  }
  PendingPtr pending = std::move(shared->pending);
  pending->readback = std::move(*readback);
  pending_bytes_ += pending->plan->layout.bytes;
  pending_.push_back(std::move(pending));
}

}  // namespace lynxpp::interposer
