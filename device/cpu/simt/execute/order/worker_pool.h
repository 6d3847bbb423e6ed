// Host threads that run the thread blocks of launches.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace lynxpp::device::cpu {

/// Calls work(0) … work(count - 1), with work(0) on the calling thread, and returns when all have returned.
/// Several threads may call it concurrently. Worker threads start on demand and are never joined, so the
/// process may exit at any time.
void run_on_workers(unsigned count, const std::function<void(unsigned)>& work);

/// Returns how long a waiting thread polls before it sleeps: about the time to fall asleep and wake up. Zero
/// on a single processor, where no other thread could make progress meanwhile.
std::chrono::nanoseconds time_awake();

/// Polls `holds()` while a waiting thread stays awake; true if it came true.
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

/// Calls work() on another thread some time later, or here if the system provides no thread.
void run_in_background(const std::function<void()>& work);

}  // namespace lynxpp::device::cpu
