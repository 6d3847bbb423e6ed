// A launch whose results are outstanding.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "device/device.h"
#include "interposer/results/launched_words.h"
#include "interposer/results/live_arrays.h"
#include "interposer/results/trace_streams.h"
#include "interposer/session/kernel_state.h"
#include "interposer/trials/trials.h"
#include "report/record.h"
#include "support/recycled.h"

namespace lynxpp::interposer {

/// An instrumented launch whose results (or an original launch whose time) are outstanding, or several that
/// shared counters.
struct Pending : Recycled<Pending> {
  std::shared_ptr<const LaunchPlan> plan;
  std::uint64_t launch = 0;
  std::uint64_t last = 0;  ///< several: the greatest number; `launch` is the least
  std::uint64_t launches = 1;
  report::ActivityRecord activity;
  report::LaunchPlace place;                                   ///< without its module
  const device::Device* on = nullptr;                          ///< compared only
  std::unique_ptr<device::CounterMemory> kept;                 ///< null: none. Destroyed after the readback
  LaunchedWords::Finished words;                               ///< its word counts and notes
  std::shared_ptr<const device::LiveAllocations> allocations;  ///< null unless results contain addresses
  std::chrono::steady_clock::time_point begin;                 ///< before the launch was made
  bool counters_may_have_wrapped = false;
  bool indices_may_have_wrapped = false;
  std::optional<Trials::Run> trial;        ///< the launch only has a time
  std::unique_ptr<LaunchStreams> streams;  ///< null: none. Destroyed after the readback
  std::unique_ptr<LiveArrays> live;        ///< likewise
  std::unique_ptr<device::Readback> readback;
  Pending* previous = nullptr;  ///< used by ResultsPipeline
};

using PendingPtr = std::unique_ptr<Pending>;

/// Describes a launch that is about to be made: everything but its readback. Copies `activity` if activities
/// are recorded, and moves it otherwise.
PendingPtr pending_of(PlanPtr plan, device::Device& device, const device::Launch& launch,
                      report::ActivityRecord& activity, bool records_activities);
/// Same, for a variant. Recorded activities then include the kernel's arrays and registers.
PendingPtr pending_variant(PlanPtr plan, device::Device& device, const device::Launch& launch,
                           report::ActivityRecord& activity, bool records_activities);

}  // namespace lynxpp::interposer
