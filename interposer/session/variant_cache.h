// The kernels that have been instrumented for launches, or found impossible to instrument.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "interposer/owned_mutex.h"
#include "interposer/session/kernel_state.h"

namespace lynxpp::interposer {

/// Thread safe. Variants are created without a lock, each by one thread; others that want it wait for that
/// thread. A kernel that cannot be instrumented is remembered like others, with its problem.
class VariantCache {
 public:
  /// The variant that a launch wants. The first five members identify it; a variant with other specifications
  /// or other learned properties is replaced.
  struct Wanted {
    const Seen* kernel = nullptr;  ///< compared only
    device::Device* device = nullptr;
    std::uint64_t image = 0;
    engine::LaunchShape shape;
    BlockRoom room;
    std::shared_ptr<const Attached> attached;
    Learned learned;
  };
  enum class Known : std::uint8_t {
    no,
    outdated,  ///< its specifications or learned properties are others
    yes,       ///< it exists or is being created
  };
  /// Instruments the kernel: fills the members that the cache has not filled. Returns what is known after
  /// that. An exception becomes the kernel's problem.
  using Make = std::function<Learned(InstrumentedKernel& kernel)>;

  Known known(const Wanted& wanted);
  /// Returns the kernel, after creating it with `make` or waiting for the thread that is creating it. Null
  /// after stop(), if that thread has not finished.
  KernelPtr get(const Wanted& wanted, const Make& make);
  /// True if the calling thread was interrupted while it held the lock.
  bool is_held_by_caller() const { return mutex_.is_held_by_caller(); }
  /// True if it has not been dropped or replaced.
  bool holds(const Seen& seen, const InstrumentedKernel& kernel);
  /// Returns the loaded variant of a kernel of the same name, device and image with the same text, else null.
  std::shared_ptr<device::Variant> same_text(const InstrumentedKernel& kernel);
  /// Total time that threads have spent on creating.
  std::chrono::duration<double> making() const;

  /// Drops the chosen kernels. They are unloaded when nothing uses them.
  void drop(const std::function<bool(const InstrumentedKernel&)>& is_dropped);
  /// From now on, no thread waits for another: the creating one may never return.
  void stop() { is_over_ = true; }

 private:
  /// Returns null if the variant does not exist.
  KernelPtr* find(const Wanted& wanted) LYNXPP_REQUIRES(mutex_);
  static bool is_current(const InstrumentedKernel& kernel, const Wanted& wanted);

  std::atomic<bool> is_over_ = false;
  // Recursive, because a signal handler may end the program while its thread holds it.
  mutable OwnedMutex<std::recursive_timed_mutex> mutex_{LockRank::variants};
  std::condition_variable_any changed_;  ///< a kernel was created
  std::unordered_map<const Seen*, std::vector<KernelPtr>> kernels_ LYNXPP_GUARDED_BY(mutex_);
  std::chrono::duration<double> making_ LYNXPP_GUARDED_BY(mutex_) = {};
};

}  // namespace lynxpp::interposer
