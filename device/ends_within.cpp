#include "device/ends_within.h"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace lynxpp::device {

bool ends_within(std::chrono::milliseconds patience, std::function<bool()> work) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<bool> result;
  };
  const auto shared = std::make_shared<Shared>();
  const auto body = [shared, work = std::move(work)] {
    const bool result = work();
    const std::lock_guard lock(shared->mutex);
    shared->result = result;
    shared->changed.notify_all();
  };
  // The program's signals are for its own threads.
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
  if (!is_started) return false;
  std::unique_lock lock(shared->mutex);
  shared->changed.wait_for(lock, patience, [&] { return shared->result.has_value(); });
  return shared->result.value_or(false);
}

}  // namespace lynxpp::device
