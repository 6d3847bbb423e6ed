// The attached specifications, and the state of the kernels that the program has launched.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "interposer/configuration.h"
#include "interposer/graph_launch.h"
#include "interposer/owned_mutex.h"
#include "interposer/session/kernel_state.h"
#include "support/text.h"

namespace lynxpp::interposer {

/// Thread safe. The session's threads share one lock for the state of all kernels: it is never held while a
/// compiler or a device works.
class KnownKernels {
 public:
  /// Recursive, because a signal handler may end the program in the middle of a launch.
  using Mutex = OwnedMutex<std::recursive_timed_mutex>;

  /// Holds the state until its end, or until unlock().
  class LYNXPP_SCOPED_CAPABILITY State {
   public:
    explicit State(KnownKernels& kernels) LYNXPP_ACQUIRE(kernels_state) : mutex_(kernels.mutex_) {
      mutex_.lock();
    }
    /// Waits at most `patience`; then is_held() is false.
    State(KnownKernels& kernels, std::chrono::milliseconds patience) LYNXPP_ACQUIRE(kernels_state)
        : mutex_(kernels.mutex_), is_held_(mutex_.try_lock_for(patience)) {}
    ~State() LYNXPP_RELEASE() {
      if (is_held_) mutex_.unlock();
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    bool is_held() const { return is_held_; }
    void lock() LYNXPP_ACQUIRE() {
      mutex_.lock();
      is_held_ = true;
    }
    void unlock() LYNXPP_RELEASE() {
      is_held_ = false;
      mutex_.unlock();
    }

   private:
    Mutex& mutex_;
    bool is_held_ = true;
  };

  /// `configuration` must outlive the object.
  explicit KnownKernels(const Configuration& configuration) : configuration_(configuration) {}

  bool is_held_by_caller() const { return mutex_.is_held_by_caller(); }

  // ---- what is attached

  /// Attaches the specifications; null detaches. `kernels` overrides the configuration's filter until the
  /// next call.
  void attach(std::shared_ptr<const Attached> attached, std::optional<NamePattern> kernels);
  /// Same, for the child of a fork, in which no other thread exists.
  std::shared_ptr<const Attached> attached_of_child() const LYNXPP_UNANALYSED { return attached_; }
  /// Continues with the parent's choices in the child of a fork, without its launches.
  void inherit(const KnownKernels& parent, std::shared_ptr<const Attached> attached);
  /// Returns null if nothing is attached or the session is over.
  std::shared_ptr<const Attached> attached();
  /// Same, without the end of the session.
  const std::shared_ptr<const Attached>& attached_now() const LYNXPP_REQUIRES(kernels_state) {
    return attached_;
  }
  /// Changes whenever specifications are attached or detached, or other kernels are selected.
  std::uint64_t choices() const { return choices_.load(std::memory_order_acquire); }
  bool ever_attached() const { return ever_attached_; }
  /// Returns everything attached so far that has an ON_END.
  const std::vector<std::shared_ptr<const Attached>>& with_ends() const LYNXPP_REQUIRES(kernels_state) {
    return with_ends_;
  }
  /// Returns the filter's text.
  std::string filter() const LYNXPP_REQUIRES(kernels_state);
  /// True if the kernel of this (mangled) name passes the filter.
  bool selects(const std::string& kernel);

  // ---- kernels

  /// Returns LaunchPlace::module of the kernel's image; nullopt if nothing is attached.
  std::optional<std::string> module_of(const KernelSource& source);
  Seen& seen(std::string_view kernel, const std::string& module) LYNXPP_REQUIRES(kernels_state);
  /// Returns the first kernel of this name, in whichever module.
  Seen& first_of_name(std::string_view kernel) LYNXPP_REQUIRES(kernels_state);
  /// Returns the number of modules with a kernel of this name.
  std::size_t modules_of_name(std::string_view kernel) const LYNXPP_REQUIRES(kernels_state) {
    const auto found = modules_of_name_.find(kernel);
    return found != modules_of_name_.end() ? found->second : 0;
  }
  /// Returns all kernels, in no order.
  std::vector<Seen*> all() LYNXPP_REQUIRES(kernels_state);
  void forget_image(std::uint64_t image);

  // ---- launches

  /// True if the launch with this number is wanted; counts it. Precondition: something is attached.
  bool wanted(Seen& seen, std::uint64_t number) const LYNXPP_REQUIRES(kernels_state);
  static void count_natively(Seen& seen, std::uint64_t launches, const std::string& way)
      LYNXPP_REQUIRES(kernels_state);
  /// Counts launches of the kernel that are never instrumented ("by graphs").
  void launched_natively(std::string_view kernel, std::uint64_t launches, const std::string& way);
  /// Counts the launch of a variant, and returns the coverage that does.
  static report::CoverageRecord& note_instrumented(const LaunchPlan& plan) LYNXPP_REQUIRES(kernels_state);
  static void note_refusal(Seen& seen, const Status& launched) LYNXPP_REQUIRES(kernels_state);
  /// Records the properties of a kernel that cannot be instrumented.
  void note_unmeasured(Seen& seen, const InstrumentedKernel& kernel, device::Device& device,
                       const device::Launch& launch);
  /// Records the kernels' use of SM resources; `variant` may be null.
  void note_resources(Seen& seen, device::Device& device, const device::Launch& launch,
                      const device::Launch& variant_launch, const device::Variant* variant);
  /// Applies to later variants of the kernel.
  void learn(Seen& seen, const Learned& shown);
  /// The program launched something while specifications were attached.
  void launches_seen() { has_seen_launches_ = true; }
  bool has_seen_launches() const { return has_seen_launches_; }

  // ---- the end

  /// From now on, launches are not instrumented.
  void stop() { is_over_ = true; }
  bool is_over() const { return is_over_; }

 private:
  bool is_selected(const std::string& kernel) const LYNXPP_REQUIRES(kernels_state);
  void keep_for_end(const std::shared_ptr<const Attached>& attached) LYNXPP_REQUIRES(kernels_state);

  const Configuration& configuration_;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> has_seen_launches_ = false;
  std::atomic<bool> ever_attached_ = false;
  std::atomic<std::uint64_t> choices_ = 0;
  Mutex mutex_{LockRank::state};
  std::shared_ptr<const Attached> attached_ LYNXPP_GUARDED_BY(kernels_state);
  std::vector<std::shared_ptr<const Attached>> with_ends_ LYNXPP_GUARDED_BY(kernels_state);
  /// nullopt: the configuration's.
  std::optional<NamePattern> kernels_ LYNXPP_GUARDED_BY(kernels_state);
  std::unordered_map<KernelKey, std::unique_ptr<Seen>, KernelKey::Hash, KernelKey::Equal> seen_
      LYNXPP_GUARDED_BY(kernels_state);
  /// Kernels in `seen_`, by name.
  std::unordered_map<std::string_view, Seen*> first_of_name_ LYNXPP_GUARDED_BY(kernels_state);
  /// Entries of `seen_`, by name.
  std::unordered_map<std::string_view, std::size_t> modules_of_name_ LYNXPP_GUARDED_BY(kernels_state);
  /// By image.
  std::unordered_map<std::uint64_t, std::string> modules_ LYNXPP_GUARDED_BY(kernels_state);
};

}  // namespace lynxpp::interposer
