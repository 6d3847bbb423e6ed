// Host threads that run the thread blocks of launches.
#pragma once

#include <functional>

namespace lynxpp::device::cpu {

/// Calls work(0) … work(count - 1), work(0) on the calling thread, and returns when all have returned.
/// Several threads may call at once. The threads are started when first needed and are never joined: the
/// process may end at any time.
void run_on_workers(unsigned count, const std::function<void(unsigned)>& work);

/// Calls work() on a thread of its own, some time later; here, when the system gives no thread.
void run_in_background(const std::function<void()>& work);

}  // namespace lynxpp::device::cpu
