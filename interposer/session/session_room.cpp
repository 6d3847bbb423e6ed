// Waits, with a limit, until there is room for one more launch.
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "interposer/session/session.h"
#include "interposer/session/session_state.h"
#include "support/check.h"
#include "support/log.h"

namespace lynxpp::interposer {
namespace {

/// Pause between two polls of unfinished launches.
constexpr std::chrono::milliseconds look_again(1);
/// After this time, results of later launches are polled too.
constexpr std::chrono::milliseconds patience_with_first(20);

/// State shared by a thread that may never end and the one that waits for it.
struct Ended {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
};

}  // namespace

bool Session::is_crowded() const {
  LYNXPP_CHECK(state_.is_held_by_caller(), "state_ is not held");
  return pending_bytes_ > outstanding_bytes_limit || pending_.size() > outstanding_launches_limit ||
         streams_.is_crowded();
}

bool Session::take_results_until(const std::function<bool()>& is_enough) {
  if (taking_.is_held_by_caller()) return is_enough();
  const auto begin = std::chrono::steady_clock::now();
  auto last = begin;  // when a result was collected
  while (!finished_ && !ending_) {
    const std::uint64_t before = settled_;
    const auto now = std::chrono::steady_clock::now();
    if (std::unique_lock taking(taking_, look_again); taking) {
      looks_past_first_ = before == waited_till_ || now - last > patience_with_first;
      drain(Settled::arrived);
      looks_past_first_ = false;
      const bool is_nothing_left = [&] {
        const State state(state_);
        return pending_.empty();
      }();
      taking.unlock();
      if (is_enough()) return true;
      if (is_nothing_left) return false;
    }
    if (settled_ != before) {
      last = now;
      continue;
    }
    if (before == waited_till_ || now - last > configuration_.patience) {
      waited_till_ = before;
      return false;
    }
    std::this_thread::sleep_for(look_again);
  }
  return false;
}

bool Session::has_room_for_launches() {
  return take_results_until([&] {
    const State state(state_);
    return !is_crowded();
  });
}

bool Session::makes_room() {
  {
    const State state(state_);
    if (!is_crowded()) return true;
  }
  return has_room_for_launches();
}

template <typename Taken>
Result<Taken> Session::allocate(Seen& seen, std::uint64_t bytes, const std::function<Result<Taken>()>& take) {
  const std::uint64_t settled = settled_;
  Result<Taken> memory = take();
  if (memory) return memory;
  const Status taken = take_memory_after_collecting(memory.error(), settled, [&] {
    memory = take();
    return memory ? success() : Status(memory.error());
  });
  if (taken) return memory;
  const State state(state_);
  seen.no_room.add(bytes, first_message(taken.error()));
  return failure("not enough memory for its counters");
}

Result<std::unique_ptr<device::Buffer>> Session::allocate(Seen& seen, device::Device& device,
                                                          std::uint64_t bytes, const device::Launch& launch) {
  using Taken = std::unique_ptr<device::Buffer>;
  return allocate<Taken>(seen, bytes, [&] { return device.allocate_zeroed(bytes, launch); });
}

Result<std::unique_ptr<device::CounterMemory>> Session::keep_counters(Seen& seen, device::Device& device,
                                                                      std::uint64_t bytes,
                                                                      const device::Launch& launch) {
  using Taken = std::unique_ptr<device::CounterMemory>;
  return allocate<Taken>(seen, bytes, [&] { return device.counter_memory(bytes, launch); });
}

Status Session::take_memory(const std::function<Status()>& take) {
  const std::uint64_t settled = settled_;
  Status taken = take();
  return taken ? taken : take_memory_after_collecting(std::move(taken), settled, take);
}

Status Session::take_memory_after_collecting(Status taken, std::uint64_t settled,
                                             const std::function<Status()>& take) {
  close_shared([](const Shared&) { return true; });
  take_results_until([&] {
    if (std::exchange(settled, settled_.load()) != settled_) taken = take();
    return taken.ok();
  });
  return taken;
}

bool Session::ends(std::function<void()> work, std::chrono::milliseconds patience) {
  auto ended = std::make_shared<Ended>();
  const auto body = [this, ended, work = std::move(work)] {
    try {
      work();
    } catch (const std::exception& error) {
      log().error("internal failure while results were collected: {}", error.what());
    }
    {
      const std::lock_guard lock(ended->mutex);
      ended->is_over = true;
    }
    ended->changed.notify_all();
    --helpers_;
  };
  ++helpers_;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool is_started = true;
  try {
    std::thread(body).detach();
  } catch (const std::system_error&) {
    is_started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!is_started) body();
  std::unique_lock lock(ended->mutex);
  std::uint64_t settled = settled_;
  while (!ended->changed.wait_for(lock, patience, [&] { return ended->is_over; })) {
    if (std::exchange(settled, settled_.load()) == settled_) return false;
  }
  return true;
}

}  // namespace lynxpp::interposer
