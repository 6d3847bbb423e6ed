// Writes the session's records: evaluates the results of finished launches and passes them to the sink.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "interposer/configuration.h"
#include "interposer/owned_mutex.h"
#include "interposer/session/known_kernels.h"
#include "interposer/session/pending.h"
#include "interposer/trials/trials.h"
#include "report/record.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Thread safe. Its lock is held while reports run and records are written, and orders the records.
class Recorder {
 public:
  using Mutex = OwnedMutex<std::timed_mutex>;

  /// `is_interrupted`: true if a signal handler interrupted the calling thread while it held a lock. `trials`
  /// may be null. The arguments must outlive the object.
  Recorder(const Configuration& configuration, std::unique_ptr<report::Sink> sink, KnownKernels& kernels,
           Trials* trials, std::function<bool()> is_interrupted)
      : configuration_(configuration),
        kernels_(kernels),
        trials_(trials),
        is_interrupted_(std::move(is_interrupted)),
        sink_(std::move(sink)) {}

  /// Writes the records of a launch that is over, or that its results are lost.
  void settle(Pending& pending, const Result<std::span<std::byte>>& bytes);
  /// Notes that the results of its launches are lost.
  void lose(const Pending& pending, const std::string& reason);

  /// Write an activity, and the device's record before the first one of the device, if activities are
  /// recorded. note_device() also completes the activity of a launch that is about to be made.
  void write(const report::ActivityRecord& activity);
  void note_device(device::Device& device, const device::Launch& launch, report::ActivityRecord& activity);
  /// Writes the device's record once.
  void note_device(device::Device& device);

  /// Returns a specification's view of the launch, without the functions that receive what it emits.
  static cod::LaunchView view_of(const Pending& pending, std::size_t index, std::span<std::byte> bytes,
                                 const cod::LaunchView& launched);

  /// Writes the last records, once; `stop` ends everything else. Waits for the thread that is writing
  /// records, the second at most `patience`.
  void finish(const std::function<void()>& stop);
  void finish_within(std::chrono::milliseconds patience, const std::function<void()>& stop);
  bool is_held_by_caller() const { return mutex_.is_held_by_caller(); }

 private:
  void settle_held(Pending& pending, const Result<std::span<std::byte>>& bytes) LYNXPP_REQUIRES(mutex_);
  void report(Pending& pending, std::span<std::byte> bytes, std::span<const CounterPage> pages)
      LYNXPP_REQUIRES(mutex_);
  void report_specification(const Pending& pending, std::size_t index, std::span<std::byte> bytes,
                            const cod::LaunchView& launched) LYNXPP_REQUIRES(mutex_);
  void add_times(const Pending& pending);
  /// Writes the device's record once.
  void tell(const report::DeviceRecord& device) LYNXPP_REQUIRES(mutex_);
  /// Returns the number of its site table, which is written once.
  std::uint64_t number_of_sites(const LaunchPlan& plan) LYNXPP_REQUIRES(mutex_);
  void write_ends() LYNXPP_REQUIRES(mutex_, kernels_state);
  void note_missing_results() LYNXPP_REQUIRES(kernels_state);
  void write_final_records(const std::function<void()>& stop) LYNXPP_REQUIRES(mutex_);

  const Configuration& configuration_;
  KnownKernels& kernels_;
  Trials* const trials_;
  const std::function<bool()> is_interrupted_;
  Mutex mutex_{LockRank::records};
  const std::unique_ptr<report::Sink> sink_;  ///< used only while mutex_ is held
  /// Ordinals and names of the devices whose records are written.
  std::vector<std::pair<std::uint64_t, std::string>> told_devices_ LYNXPP_GUARDED_BY(mutex_);
};

}  // namespace lynxpp::interposer
