// Host threads that run the thread blocks of launches.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace lynxpp::device::cpu {

/// Calls work(0) … work(count - 1), work(0) on the calling thread, and returns when all have returned.
/// Several threads may call at once. The threads are started when first needed and are never joined: the
/// process may end at any time.
void run_on_workers(unsigned count, const std::function<void(unsigned)>& work);

/// How long a thread that waits stays awake: about what it takes to fall asleep and be woken. Zero where
/// there is no other processor that could bring about what it waits for.
std::chrono::nanoseconds time_awake();

/// Whether `holds()` comes true while a thread that waits for it stays awake.
template <typename Condition>
bool soon(const Condition& holds) {
  if (holds()) return true;
  const auto end = std::chrono::steady_clock::now() + time_awake();
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
    if (holds()) return true;
  }
  return false;
}

/// Calls work() on a thread of its own, some time later; here, when the system gives no thread.
void run_in_background(const std::function<void()>& work);

}  // namespace lynxpp::device::cpu
