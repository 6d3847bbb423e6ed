#include "support/background_thread.h"

#include <pthread.h>

#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace lynxpp {

Status start_background_thread(std::function<void()> work) {
  Status started = success();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(std::move(work)).detach();
  } catch (const std::system_error& error) {
    started = failure(error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

std::optional<bool> ends_within(std::chrono::milliseconds patience, std::function<bool()> work,
                                const std::function<std::uint64_t()>& progress) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<bool> result;
  };
  const auto shared = std::make_shared<Shared>();
  const Status started = start_background_thread([shared, work = std::move(work)] {
    const bool result = work();
    const std::lock_guard lock(shared->mutex);
    shared->result = result;
    shared->changed.notify_all();
  });
  if (!started) return std::nullopt;
  std::uint64_t before = progress ? progress() : 0;
  std::unique_lock lock(shared->mutex);
  while (!shared->changed.wait_for(lock, patience, [&] { return shared->result.has_value(); })) {
    if (!progress || std::exchange(before, progress()) == before) return false;
  }
  return *shared->result;
}

}  // namespace lynxpp
