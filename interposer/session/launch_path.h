// The path of a kernel's launch: wanted? ▶ variant ▶ buffers ▶ the variant's launch ▶ readback of results.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "device/device.h"
#include "interposer/graph_launch.h"
#include "interposer/owned_mutex.h"
#include "interposer/session/launch_parts.h"

namespace lynxpp::interposer {

/// Cached result of a launch of a kernel on a device. Both pointers are null if later launches may differ.
struct FoundKernel {
  std::atomic<std::uint64_t>* unselected = nullptr;  ///< no filter selects it: counts its launches
  Seen* selected = nullptr;
  std::uint64_t image = 0;  ///< KernelSource::image
};

/// Thread safe. Threads launch concurrently: no lock is held while the compiler or a device works.
class LaunchPath {
 public:
  /// The parts must outlive the object.
  explicit LaunchPath(const LaunchParts& parts) : parts_(parts) {}

  /// See Session::launch() and Session::launch_again().
  bool launch(device::Device& device, const device::Launch& launch, const KernelSource& source,
              FoundKernel* found);
  std::optional<bool> launch_again(device::Device& device, const device::Launch& launch,
                                   const FoundKernel& found);

 private:
  void note_found(FoundKernel& found, Seen& seen, const device::Device& device,
                  const KernelSource& source) const LYNXPP_REQUIRES(kernels_state);
  /// Returns true if the launch, which is wanted, was made with the variant or timed; its activity is then
  /// written later.
  bool make_launch(Seen& seen, const std::shared_ptr<const Attached>& attached, device::Device& device,
                   const device::Launch& launch, const KernelSource& source,
                   report::ActivityRecord& activity);
  Status launch_variant(Seen& seen, const KernelPtr& kernel, device::Device& device,
                        const device::Launch& launch, report::ActivityRecord& activity);
  /// Starts streaming the launch's traces if this is requested and possible.
  Status begin_streams(Pending& pending, device::Device& device, device::Buffer& buffer,
                       const device::Launch& launch);
  Status launch_with(device::Device& device, const device::Launch& launch, PendingPtr pending,
                     Outstanding& outstanding);
  /// Launches with counters that other launches share.
  Status launch_shared(const PlanPtr& plan, device::Device& device, const device::Launch& launch,
                       report::ActivityRecord& activity, Outstanding& outstanding);
  Result<JoinedLaunch> open_shared(const PlanPtr& plan, device::Device& device, const device::Launch& launch,
                                   report::ActivityRecord& activity);
  /// Begins collecting the results of a variant that was launched.
  void begin_collecting(PendingPtr pending, std::unique_ptr<device::Buffer> buffer, device::Device& device,
                        const device::Launch& launch, Outstanding& outstanding);
  /// Called if the kernel cannot be instrumented. Returns true if its original was launched and is timed.
  /// Times the first launches and then increasingly fewer, so that timing is nearly free.
  bool launch_unmeasured(Seen& seen, const InstrumentedKernel& kernel, device::Device& device,
                         const device::Launch& launch, report::ActivityRecord& activity);
  Status time_original(Seen& seen, device::Device& device, const device::Launch& launch,
                       report::ActivityRecord& activity);
  /// Returns true if the launch was made as a trial.
  bool launch_trials(Seen& seen, device::Device& device, const device::Launch& launch,
                     const KernelSource& source, const report::ActivityRecord& activity);
  /// At level trace, logs the program's allocations if they have changed since the last launch.
  void log_allocations(device::Device& device);
  bool records_activities() const { return parts_.configuration.timeline; }

  const LaunchParts parts_;
  OwnedMutex<std::mutex> mutex_{LockRank::leaf};
  std::shared_ptr<const device::LiveAllocations> logged_allocations_ LYNXPP_GUARDED_BY(mutex_);
};

}  // namespace lynxpp::interposer
