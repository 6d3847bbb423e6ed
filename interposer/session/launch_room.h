// Room for launches: memory for their counters, and the number whose results may be outstanding.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/device.h"
#include "interposer/results/trace_streams.h"
#include "interposer/session/counter_sharing.h"
#include "interposer/session/known_kernels.h"
#include "interposer/session/results_pipeline.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Thread safe, without a lock of its own. If room is short, collects results of other launches first, with a
/// limit (Configuration::patience).
class LaunchRoom {
 public:
  /// The arguments must outlive the object.
  LaunchRoom(const Configuration& configuration, KnownKernels& kernels, const TraceStreams& streams,
             CounterSharing& sharing, ResultsPipeline& results)
      : configuration_(configuration),
        kernels_(kernels),
        streams_(streams),
        sharing_(sharing),
        results_(results) {}

  /// True if another launch should wait for results.
  bool is_crowded() const { return results_.is_crowded() || streams_.is_crowded(); }
  /// Waits until few enough launches are outstanding. Returns false if there are still too many.
  bool makes_room();

  /// Allocates the buffer of a launch's counters. A failure counts as lack of memory for the kernel.
  Result<std::unique_ptr<device::Buffer>> allocate(Seen& seen, device::Device& device, std::uint64_t bytes,
                                                   const device::Launch& launch);
  /// Same, for counters that stay in device memory.
  Result<std::unique_ptr<device::CounterMemory>> keep_counters(Seen& seen, device::Device& device,
                                                               std::uint64_t bytes,
                                                               const device::Launch& launch);
  /// Calls `take` to allocate, and again after results of other launches were collected.
  Status take_memory(const std::function<Status()>& take);

  /// Gives a launch that was made to the pipeline.
  void add(PendingPtr pending, Outstanding& outstanding);
  /// A variant was launched, or an original timed if that was requested.
  void measured() { has_measured_.store(true, std::memory_order_relaxed); }
  bool has_measured() const { return has_measured_; }

 private:
  template <typename Taken>
  Result<Taken> allocate(Seen& seen, std::uint64_t bytes, const std::function<Result<Taken>()>& take);
  /// Continues after an allocation failed with `taken`, when ResultsPipeline::settled() was `settled`.
  Status take_memory_after_collecting(Status taken, std::uint64_t settled,
                                      const std::function<Status()>& take);

  const Configuration& configuration_;
  KnownKernels& kernels_;
  const TraceStreams& streams_;
  CounterSharing& sharing_;
  ResultsPipeline& results_;
  std::atomic<bool> has_measured_ = false;
};

}  // namespace lynxpp::interposer
