// The launch session: what happens to a kernel launch while specifications are attached.
//
//   launch ▶ wanted? ▶ instrument once per (device, image, kernel, shape) ▶ buffers ▶ launch
//   the variant ▶ results on their way back
//   results ready ▶ ON_REPORT ▶ launch record ▶ sinks
//
// Nothing here waits for the device before finish(), unless a great many results are outstanding.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cod/specification.h"
#include "device/device.h"
#include "engine/instrument.h"
#include "interposer/configuration.h"
#include "report/record.h"

namespace lynxpp::interposer {

/// The kernel a launch names.
struct KernelSource {
  std::string name;         ///< mangled
  std::uint64_t image = 0;  ///< identity of the program image
  /// The text of the module that defines the kernel; called for each variant that is made. Failure: why there
  /// is none.
  std::function<Result<std::string>()> ptx;
};

/// A mutex that knows whether the calling thread holds it.
class OwnedMutex {
 public:
  bool try_lock() { return owned(mutex_.try_lock()); }
  bool try_lock_for(std::chrono::milliseconds patience) { return owned(mutex_.try_lock_for(patience)); }
  void unlock() {
    owner_ = std::thread::id();
    mutex_.unlock();
  }
  bool is_held_by_caller() const { return owner_ == std::this_thread::get_id(); }

 private:
  bool owned(bool locked) {
    if (locked) owner_ = std::this_thread::get_id();
    return locked;
  }

  std::timed_mutex mutex_;
  std::atomic<std::thread::id> owner_;
};

/// Unlocks a mutex for a while.
class Unlocked {
 public:
  explicit Unlocked(std::timed_mutex& mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~Unlocked() { mutex_.lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  std::timed_mutex& mutex_;
};

/// Thread safe.
class Session {
 public:
  Session(Configuration configuration, std::unique_ptr<report::Sink> sink);
  ~Session();

  /// Replaces the attached specifications: names or paths, separated by commas; empty detaches. False:
  /// nothing changed; `problem` is the rendered diagnostics, source lines and carets included.
  bool attach(const std::string& list, std::string& problem);
  bool attached();

  /// Makes the launch with the instrumented variant. False: the caller makes the original one (the reason
  /// stands in the coverage record).
  bool launch(device::Device& device, const device::Launch& launch, const KernelSource& source);

  /// Writes the records of launches that are over. Waits for nothing.
  void collect();

  /// Drops variants of an image that is going away.
  void forget_image(std::uint64_t image);

  /// Waits for outstanding results and writes their records, and drops the variants of devices whose contexts
  /// end.
  void save_results(std::span<const device::Device* const> ending);

  /// Waits for outstanding results and writes every record. Later launches are not instrumented. A launch
  /// that some thread is in the midst of is not waited for longer than a second.
  void finish();

  /// Whether the program launched anything while specifications were attached.
  bool has_seen_launches() const { return has_seen_launches_; }

  /// The same as finish() from anywhere, while other threads, or this one, are in the midst of a launch:
  /// writes what is complete, and what is missing as a note. Waits at most a second.
  void finish_now();

 private:
  struct Attached;
  struct Kernel;
  struct Pending;
  struct Seen;

  Seen& seen(const std::string& kernel);
  Kernel& kernel_for(Seen& seen, device::Device& device, const device::Launch& launch,
                     const KernelSource& source);
  Status prepare(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                 const KernelSource& source);
  /// Instruments and loads, unless the text is that which was `refused`.
  Status make_variant(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                      const engine::Request& request, const std::string& refused = {});
  Status launch_variant(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                        std::uint64_t index);
  Status time_original(Seen& seen, device::Device& device, const device::Launch& launch, std::uint64_t index);
  /// The right to launch, to attach and to take results; empty when the session has finished.
  std::unique_lock<OwnedMutex> enter();
  /// Lets finish_now() at the records while `work`, which touches none of them, may take long.
  template <typename Work>
  auto away(const Work& work) {
    const Unlocked unlocked(state_);
    return work();
  }
  void drain(bool wait);
  /// Writes the records of a launch, or that they are lost.
  void settle(Pending& pending, const Result<std::span<std::byte>>& bytes);
  void report(Pending& pending, std::span<std::byte> bytes);
  static void fill_counted_arrays(const Pending& pending, std::span<std::byte> bytes);
  void report_specification(const Pending& pending, std::size_t index, std::span<std::byte> bytes);
  void report_ends();
  void close_books();
  /// At level trace, what memory the program has, where that has changed since the last launch.
  void log_allocations(device::Device& device);
  void dump(const std::string& name, const std::string& suffix, const std::string& text) const;

  // Held by whoever launches or takes results, from beginning to end.
  OwnedMutex launching_;
  std::atomic<bool> finished_ = false;
  std::atomic<bool> has_seen_launches_ = false;
  // Guards what follows; held by the same thread except where the compiler or the device works.
  std::timed_mutex state_;
  Configuration configuration_;
  std::unique_ptr<report::Sink> sink_;
  std::shared_ptr<const Attached> attached_;
  std::vector<std::shared_ptr<const Attached>> ever_;  // those with an ON_END
  bool ever_attached_ = false;
  std::unordered_map<std::string, std::unique_ptr<Seen>> seen_;  // by kernel name
  std::deque<Pending> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::shared_ptr<const device::LiveAllocations> logged_allocations_;
};

}  // namespace lynxpp::interposer
