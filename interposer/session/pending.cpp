#include "interposer/session/pending.h"

#include <utility>

#include "interposer/results/timeline.h"
#include "interposer/this_process.h"

namespace lynxpp::interposer {
namespace {

report::LaunchPlace place_of(const device::Device& device, const device::Launch& launch,
                             const report::ActivityRecord& activity) {
  report::LaunchPlace place;
  place.correlation = launch.correlation;
  place.ordinal = static_cast<std::uint64_t>(device.info().ordinal);
  place.context = device.info().context;
  place.stream = activity.stream;
  place.thread = this_thread();
  place.begin_us = host_clock_us();
  return place;
}

}  // namespace

PendingPtr pending_of(PlanPtr plan, device::Device& device, const device::Launch& launch,
                      report::ActivityRecord& activity, bool records_activities) {
  auto pending = std::make_unique<Pending>();
  pending->launch = pending->last = activity.launch->launch;
  pending->place = place_of(device, launch, activity);
  if (plan->attached != nullptr && plan->attached->emits_addresses)
    pending->allocations = device.allocations();
  pending->plan = std::move(plan);
  pending->on = &device;
  pending->begin = std::chrono::steady_clock::now();
  if (records_activities) {
    pending->activity = activity;
  } else {
    pending->activity = std::move(activity);
  }
  return pending;
}

PendingPtr pending_variant(PlanPtr plan, device::Device& device, const device::Launch& launch,
                           report::ActivityRecord& activity, bool records_activities) {
  const InstrumentedKernel& kernel = *plan->kernel;
  PendingPtr pending = pending_of(std::move(plan), device, launch, activity, records_activities);
  if (records_activities) {
    report::ActivityRecord::Launch& record = *pending->activity.launch;
    note_arrays(record, device, launch, kernel.instrumented.parameters);
    record.registers_are_estimated = !record.registers && kernel.instrumented.size.registers;
    if (record.registers_are_estimated) record.registers = kernel.instrumented.size.registers->original;
  }
  return pending;
}

}  // namespace lynxpp::interposer
