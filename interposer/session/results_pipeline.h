// Launches whose results are outstanding, and the collection of their results.
//
//   add() ▶ queue, in the order of the launches ▶ results on the host ▶ Receiver::settle
//
// A thread of the pipeline collects while the program runs; other threads may collect too. Results are
// settled in the order of their launches, except at the end of a context or of the process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "interposer/owned_mutex.h"
#include "interposer/results/results_worker.h"
#include "interposer/session/pending.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Thread safe. add(), is_crowded(), size() and settled() neither lock nor wait. Launches that are added
/// while a thread collects are collected later.
class ResultsPipeline {
 public:
  /// Receives each launch once. Neither function may collect results.
  struct Receiver {
    /// The launch is over; its results have arrived or are lost. Called without a lock of this class except
    /// the one that keeps the order, by one thread at a time unless the process or a context ends.
    std::function<void(Pending&, const Result<std::span<std::byte>>&)> settle;
    /// Its results will never arrive.
    std::function<void(const Pending&, const std::string& reason)> lose;
  };
  /// The launches that collect() settles, up to the first of another kind.
  enum class Which : std::uint8_t {
    arrived,  ///< their results are on the host
    ended,    ///< they are over; waits for copies of their results
    all,      ///< waits for the launches
  };

  /// `patience`: time without any result after which the pipeline stops waiting for results.
  ResultsPipeline(Receiver receiver, std::chrono::milliseconds patience)
      : receiver_(std::move(receiver)), patience_(patience) {}
  /// Waits for threads that ends() started and for the worker.
  ~ResultsPipeline();
  ResultsPipeline(const ResultsPipeline&) = delete;
  ResultsPipeline& operator=(const ResultsPipeline&) = delete;

  /// Starts collecting in the background. The pipeline's thread, once woken, calls `collect` every few
  /// milliseconds until it returns true. Call it before the first add().
  void use_worker(std::function<bool()> collect);
  bool has_worker() const { return worker_ != nullptr; }
  void wake() {
    if (worker_ != nullptr) worker_->wake();
  }

  /// Adds a launch whose readback has begun, and wakes the worker.
  void add(PendingPtr pending);
  /// Drops the launch: its results will never arrive.
  void lose(const Pending& pending, const std::string& reason) { receiver_.lose(pending, reason); }
  /// Number of launches whose results nobody has collected.
  std::size_t size() const { return size_; }
  /// Launches settled so far.
  std::uint64_t settled() const { return settled_; }
  /// True if so much is outstanding that another launch should wait for results.
  bool is_crowded() const;

  /// Settles launches of this kind. Returns false, without doing so, if another thread collects for longer
  /// than `patience`; without `patience` it waits.
  bool collect(Which which, std::optional<std::chrono::milliseconds> patience = std::nullopt);
  /// True if the calling thread is collecting.
  bool is_collecting_here() const { return taking_.is_held_by_caller(); }
  /// Collects results until `is_enough`, which may be called several times. Returns false if no more arrived,
  /// now or while another thread waited for them.
  bool collect_until(const std::function<bool()>& is_enough);
  /// Settles every launch that has ended, in any order, although another thread may be collecting. Waits for
  /// locks at most `patience`.
  void collect_completed(std::chrono::milliseconds patience);

  /// Calls `visit` for each outstanding launch. No launch is settled meanwhile. Returns false if another
  /// thread collects for longer than `patience`.
  bool visit(std::chrono::milliseconds patience, const std::function<void(Pending&)>& visit);

  /// Settles the launches on these devices, whose contexts end (none: on all devices), then calls `close`,
  /// which may add launches, and settles those too. Returns false if results did not arrive in time: they are
  /// lost.
  bool settle_ending(std::span<const device::Device* const> ending, const std::function<void()>& close);

  /// Runs `work` on a separate thread. Returns false if it has not finished and no result was collected for
  /// `patience`.
  bool ends(const std::function<void()>& work, std::chrono::milliseconds patience);

  /// From now on, only collect(Which::all) and collect_completed() settle launches.
  void begin_end() { is_ending_ = true; }
  bool is_ending() const { return is_ending_; }
  /// From now on, no launch is settled.
  void stop() { is_over_ = true; }

 private:
  using Mutex = OwnedMutex<std::recursive_timed_mutex>;
  struct Together;
  struct Ending;

  /// Moves added launches to the queue.
  void admit() LYNXPP_REQUIRES(mutex_);
  /// Returns null if the queue is empty or the end has come.
  PendingPtr pop();
  void drain(Which which) LYNXPP_REQUIRES(taking_);
  /// Returns the first outstanding launch of this kind, or of those that follow if looks_past_first_.
  PendingPtr take(Which which, Together& together) LYNXPP_REQUIRES(taking_);
  void settle(PendingPtr pending);
  /// The launch no longer counts as outstanding.
  void remove(const Pending& pending);
  std::deque<PendingPtr> take_all_of(std::span<const device::Device* const> ending);

  const Receiver receiver_;
  const std::chrono::milliseconds patience_;
  std::atomic<Pending*> added_ = nullptr;  ///< a list from the last to the first, not yet in the queue
  std::atomic<std::size_t> size_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;  ///< of the outstanding launches' results
  std::atomic<std::uint64_t> settled_ = 0;
  std::atomic<std::uint64_t> waited_till_ = ~std::uint64_t{0};  ///< value of `settled_` when no more arrived
  std::atomic<int> helpers_ = 0;                                ///< threads of ends()
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> is_over_ = false;
  OwnedMutex<std::timed_mutex> taking_{LockRank::taking};     ///< held while collecting, to keep the order
  bool looks_past_first_ LYNXPP_GUARDED_BY(taking_) = false;  ///< the first outstanding launch does not end
  // Recursive, because a signal handler may end the program while its thread holds it.
  Mutex mutex_{LockRank::results};
  std::deque<PendingPtr> queue_ LYNXPP_GUARDED_BY(mutex_);
  std::deque<PendingPtr> given_up_
      LYNXPP_GUARDED_BY(mutex_);  ///< not accessed again: their contexts have ended
  std::unique_ptr<ResultsWorker> worker_;
};

}  // namespace lynxpp::interposer
