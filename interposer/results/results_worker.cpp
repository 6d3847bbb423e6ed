#include "interposer/results/results_worker.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "interposer/owned_mutex.h"
#include "support/background_thread.h"
#include "support/log.h"

namespace lynxpp::interposer {
namespace {

/// Pause between two polls of unfinished launches. A poll costs the driver a few microseconds.
constexpr std::chrono::microseconds shortest_pause(500);
constexpr std::chrono::microseconds longest_pause(4000);

}  // namespace

struct ResultsWorker::Shared {
  explicit Shared(std::function<bool()> collect) : collect_all(std::move(collect)) {}

  void run() {
    Lock lock(mutex);
    while (!is_over) {
      wanted.wait(lock, [&]() LYNXPP_REQUIRES(mutex) { return is_wanted.load() || is_over; });
      for (std::chrono::microseconds pause = shortest_pause; !is_over;
           pause = std::min(2 * pause, longest_pause)) {
        is_wanted = false;
        lock.unlock();
        const bool is_done = collect_all();
        lock.lock();
        if (is_done || is_over) break;
        wanted.wait_for(lock, pause, [&]() LYNXPP_REQUIRES(mutex) { return is_over; });
      }
    }
    is_through = true;
    wanted.notify_all();
  }

  const std::function<bool()> collect_all;
  std::atomic<bool> is_wanted = false;
  OwnedMutex<std::mutex> mutex{LockRank::leaf};
  std::condition_variable_any wanted;
  bool is_started LYNXPP_GUARDED_BY(mutex) = false;
  bool is_over LYNXPP_GUARDED_BY(mutex) = false;
  bool is_through LYNXPP_GUARDED_BY(mutex) = false;
};

ResultsWorker::ResultsWorker(std::function<bool()> collect)
    : shared_(std::make_shared<Shared>(std::move(collect))) {}

ResultsWorker::~ResultsWorker() {
  Lock lock(shared_->mutex);
  shared_->is_over = true;
  shared_->wanted.notify_all();
  if (shared_->is_started)
    shared_->wanted.wait(lock, [&]() LYNXPP_REQUIRES(shared_->mutex) { return shared_->is_through; });
}

void ResultsWorker::wake() {
  if (shared_->is_wanted.exchange(true)) return;
  const Lock lock(shared_->mutex);
  shared_->wanted.notify_all();
  if (std::exchange(shared_->is_started, true)) return;
  const Status started = start_background_thread([shared = shared_] { shared->run(); });
  if (started) return;
  // Launching threads collect results if too many are outstanding, and finish() collects the rest.
  log().warn("cannot start the thread that collects results: {}",
             started.error().diagnostics.front().message);
  shared_->is_through = true;
}

}  // namespace lynxpp::interposer
