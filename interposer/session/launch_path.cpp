#include "interposer/session/launch_path.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <utility>

#include "interposer/allocations.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

using State = KnownKernels::State;

}  // namespace

bool LaunchPath::launch(device::Device& device, const device::Launch& launch, const KernelSource& source,
                        FoundKernel* found) {
  const Launches::Here here(parts_.launches);
  const Result<bool> captured = device.capturing(launch);
  const std::optional<std::string> module = parts_.kernels.module_of(source);
  if (!module) return false;
  State state(parts_.kernels);
  // Specifications attached or detached meanwhile apply after this launch.
  const std::shared_ptr<const Attached> attached = parts_.kernels.attached_now();
  if (parts_.kernels.is_over() || attached == nullptr) return false;
  parts_.kernels.launches_seen();
  Seen& known = parts_.kernels.seen(source.name, *module);
  if (captured && *captured) {
    // The graph's launches are counted separately.
    if (known.coverage.instrumented_launches == 0) known.coverage.reason = "captured into a graph";
    return false;
  }
  known.add_unselected();
  const std::uint64_t number = known.numbers.next(device.info().ordinal);
  const bool is_wanted = parts_.kernels.wanted(known, number);
  if (found != nullptr && captured && !parts_.configuration.timeline)
    note_found(*found, known, device, source);
  state.unlock();
  if (!is_wanted && !parts_.configuration.timeline) return false;
  report::ActivityRecord activity = parts_.timeline.launch(launch, known.name, number);
  parts_.recorder.note_device(device, launch, activity);
  bool made = false;
  if (is_wanted && !captured) {
    state.lock();
    add_once(known.coverage.notes, "launches run uninstrumented: " + first_message(captured.error()));
    state.unlock();
  } else if (is_wanted) {
    made = make_launch(known, attached, device, launch, source, activity);
  }
  if (!made) parts_.recorder.write(activity);
  return made;
}

void LaunchPath::note_found(FoundKernel& found, Seen& known, const device::Device& device,
                            const KernelSource& source) const {
  found.image = source.image;
  if (!known.wanted) {
    found.unselected = &known.unselected[device.info().ordinal];
  } else if (parts_.configuration.timing == Timing::off && !log().shows(LogLevel::trace)) {
    found.selected = &known;
  }
}

bool LaunchPath::make_launch(Seen& known, const std::shared_ptr<const Attached>& attached,
                             device::Device& device, const device::Launch& launch, const KernelSource& source,
                             report::ActivityRecord& activity) {
  log_allocations(device);
  if (parts_.room.is_crowded() && !parts_.room.makes_room()) {
    const State state(parts_.kernels);
    ++known.natively["made while results of too many others were outstanding"];
    return false;
  }
  const auto runs_original = [&](const char* reason) {
    const State state(parts_.kernels);
    known.coverage.reason = reason;
  };
  if (attached->is_of_trials()) {
    runs_original("its launches were trials");
    return launch_trials(known, device, launch, source, activity);
  }
  if (parts_.configuration.timing == Timing::originals) {
    runs_original("the original kernel was timed");
    return time_original(known, device, launch, activity).ok();
  }
  const KernelPtr kernel = parts_.planner.kernel_for(known, attached, device, launch, source);
  if (kernel == nullptr) return false;
  if (!kernel->problem.empty()) return launch_unmeasured(known, *kernel, device, launch, activity);
  const Status launched = launch_variant(known, kernel, device, launch, activity);
  if (launched) return true;
  const State state(parts_.kernels);
  KnownKernels::note_refusal(known, launched);
  return false;
}

void LaunchPath::log_allocations(device::Device& device) {
  if (!log().shows(LogLevel::trace)) return;
  const std::shared_ptr<const device::LiveAllocations> now = device.allocations();
  {
    const Lock lock(mutex_);
    if (std::exchange(logged_allocations_, now) == now) return;
  }
  const std::string list = list_allocations(*now);
  for (const std::string_view line : split(list, '\n')) log().trace("{}", line);
}

// ---- variants

Status LaunchPath::launch_variant(Seen& seen, const KernelPtr& kernel, device::Device& device,
                                  const device::Launch& launch, report::ActivityRecord& activity) {
  Result<PlanPtr> plan = parts_.planner.plan_for(seen, kernel, device, launch, true);
  if (!plan) return plan.error();
  Outstanding outstanding(seen);
  if (parts_.sharing.shares(**plan, device, launch))
    return launch_shared(*plan, device, launch, activity, outstanding);
  return launch_with(device, launch,
                     pending_variant(std::move(*plan), device, launch, activity, records_activities()),
                     outstanding);
}

std::optional<bool> LaunchPath::launch_again(device::Device& device, const device::Launch& launch,
                                             const FoundKernel& found) {
  const Launches::Here here(parts_.launches);
  if (const Result<bool> captured = device.capturing(launch); !captured || *captured) return std::nullopt;
  Seen& known = *found.selected;
  State state(parts_.kernels);
  if (parts_.kernels.is_over() || parts_.kernels.attached_now() == nullptr || parts_.room.is_crowded())
    return std::nullopt;
  PlanPtr plan = parts_.planner.known_plan(known, device, launch, found.image);
  if (plan == nullptr) return std::nullopt;
  known.add_unselected();
  const std::uint64_t number = known.numbers.next(device.info().ordinal);
  if (!parts_.kernels.wanted(known, number)) return false;
  Outstanding outstanding(known);
  state.unlock();
  const bool is_shared = parts_.sharing.shares(*plan, device, launch);
  report::ActivityRecord activity = parts_.timeline.launch(launch, known.name, number);
  const Status launched =
      is_shared ? launch_shared(plan, device, launch, activity, outstanding)
                : launch_with(device, launch,
                              pending_of(std::move(plan), device, launch, activity, records_activities()),
                              outstanding);
  if (launched) return true;
  state.lock();
  KnownKernels::note_refusal(known, launched);
  return false;
}

Status LaunchPath::begin_streams(Pending& pending, device::Device& device, device::Buffer& buffer,
                                 const device::Launch& launch) {
  if (!parts_.streams.is_on()) return success();
  const LaunchPlan& plan = *pending.plan;
  report::TraceDescription description;
  description.kernel = plan.seen->name;
  description.launch = pending.launch;
  description.device = plan.device.name;
  description.ordinal = static_cast<std::uint64_t>(plan.device.ordinal);
  description.process = static_cast<std::uint64_t>(getpid());
  pending.streams = parts_.streams.begin(plan.attached->specifications, device, description);
  if (pending.streams == nullptr) return success();
  for (const device::BufferWrite& each : pending.streams->writes(plan.layout)) {
    if (Status written = device.write(buffer, each.offset, each.bytes, launch); !written) return written;
  }
  return success();
}

Status LaunchPath::launch_with(device::Device& device, const device::Launch& launch, PendingPtr pending,
                               Outstanding& outstanding) {
  const LaunchPlan& plan = *pending->plan;
  const InstrumentedKernel& kernel = *plan.kernel;
  Seen& seen = *plan.seen;
  const ProbeLayout& layout = plan.layout;
  std::unique_ptr<device::CallGroup> group;
  if (parts_.configuration.timing != Timing::off) group = device.call_group();
  device::Launch variant_launch = launch;
  if (plan.words != nullptr) plan.words->add_block_counters(variant_launch);
  Result<std::unique_ptr<device::Buffer>> buffer = parts_.room.allocate(seen, device, layout.bytes, launch);
  if (!buffer) return buffer.error();
  if (layout.kept_bytes != 0) {
    Result<std::unique_ptr<device::CounterMemory>> kept =
        parts_.room.keep_counters(seen, device, layout.kept_bytes, launch);
    if (!kept) return kept.error();
    pending->kept = std::move(*kept);
  }
  const std::uint64_t kept = pending->kept == nullptr ? 0 : pending->kept->address();
  const std::vector<engine::ProbeWord>& asked = kernel.instrumented.probe;
  std::array<std::uint64_t, 64> few;
  std::vector<std::uint64_t> many(asked.size() > few.size() ? asked.size() : 0);
  const std::span<std::uint64_t> words = many.empty() ? std::span(few).first(asked.size()) : std::span(many);
  Result<std::unique_ptr<LiveArrays>> live = LiveArrays::make(plan.attached->specifications, layout, device);
  if (!live) return live.error();
  std::ranges::transform(asked, words.begin(), [&](const engine::ProbeWord& word) {
    const std::uint64_t value = probe_word(word, layout, (*buffer)->address(), kept);
    return *live == nullptr ? value : (*live)->word(word, value);
  });
  if (parts_.configuration.timing != Timing::off)
    parts_.kernels.note_resources(seen, device, launch, variant_launch, kernel.variant.get());
  for (const device::BufferWrite& each : layout.writes()) {
    if (Status written = device.write(**buffer, each.offset, each.bytes, launch); !written) return written;
  }
  if (Status begun = begin_streams(*pending, device, **buffer, launch); !begun) return begun;
  pending->live = std::move(*live);
  Status launched =
      device.launch(*kernel.variant, variant_launch, kernel.instrumented.parameters, words, **buffer);
  if (!launched) return launched;
  // The launch has been made, whatever fails from here on.
  try {
    if (pending->kept != nullptr) pending->kept->launched();
    begin_collecting(std::move(pending), std::move(*buffer), device, launch, outstanding);
  } catch (const std::exception& error) {
    log().error("{}: results of a launch are lost: {}", demangle(seen.name), error.what());
  }
  return success();
}

Result<JoinedLaunch> LaunchPath::open_shared(const PlanPtr& plan, device::Device& device,
                                             const device::Launch& launch, report::ActivityRecord& activity) {
  const InstrumentedKernel& kernel = *plan->kernel;
  Result<std::unique_ptr<device::Buffer>> buffer =
      parts_.room.allocate(*plan->seen, device, plan->layout.bytes, launch);
  if (!buffer) return buffer.error();
  std::vector<std::uint64_t> words =
      probe_words(kernel.instrumented.probe, plan->layout, (*buffer)->address());
  return parts_.sharing.open({&device, kernel.image, launch.stream},
                             pending_of(plan, device, launch, activity, records_activities()),
                             std::move(words), std::move(*buffer));
}

Status LaunchPath::launch_shared(const PlanPtr& plan, device::Device& device, const device::Launch& launch,
                                 report::ActivityRecord& activity, Outstanding& outstanding) {
  const InstrumentedKernel& kernel = *plan->kernel;
  const std::uint64_t number = activity.launch->launch;
  {
    JoinedLaunch joined = parts_.sharing.join(*plan, launch.stream, activity.ranges);
    if (!joined.has_joined()) {
      Result<JoinedLaunch> opened = open_shared(plan, device, launch, activity);
      if (!opened) return opened.error();
      joined = std::move(*opened);
    }
    const auto make_launch = [&]() -> Status {
      try {
        return device.launch(*kernel.variant, launch, kernel.instrumented.parameters, joined.words(),
                             joined.buffer());
      } catch (const std::exception& error) {
        return failure(error.what());
      }
    };
    if (Status launched = make_launch(); !launched) return launched;
    joined.launched(number);
    const State state(parts_.kernels);
    KnownKernels::note_instrumented(*plan);
    parts_.room.measured();
    outstanding.settled_later();
  }
  parts_.sharing.close_after_launch(launch.stream);
  return success();
}

void LaunchPath::begin_collecting(PendingPtr pending, std::unique_ptr<device::Buffer> buffer,
                                  device::Device& device, const device::Launch& launch,
                                  Outstanding& outstanding) {
  const auto read_back = [&]() -> Result<std::unique_ptr<device::Readback>> {
    try {
      return device.read_back(std::move(buffer), launch);
    } catch (const std::exception& error) {
      return failure(error.what());
    }
  };
  Result<std::unique_ptr<device::Readback>> readback = read_back();
  Seen& seen = *pending->plan->seen;
  State state(parts_.kernels);
  report::CoverageRecord& coverage = KnownKernels::note_instrumented(*pending->plan);
  if (readback) {
    state.unlock();
    pending->readback = std::move(*readback);
    return parts_.room.add(std::move(pending), outstanding);
  }
  static_cast<void>(pending->live.release());  // the kernel may still write it
  const std::string reason = first_message(readback.error());
  ++seen.lost;
  add_once(coverage.notes, "results lost: " + reason);
  state.unlock();
  log().error("{}: launch {}: results are lost: {}", demangle(seen.name), pending->launch, reason);
  parts_.recorder.write(pending->activity);
}

// ---- originals

bool LaunchPath::launch_unmeasured(Seen& seen, const InstrumentedKernel& kernel, device::Device& device,
                                   const device::Launch& launch, report::ActivityRecord& activity) {
  constexpr std::uint64_t first_launches = 4;
  parts_.kernels.note_unmeasured(seen, kernel, device, launch);
  std::uint64_t number = 0;
  {
    const State state(parts_.kernels);
    seen.coverage.reason = kernel.problem;
    number = seen.unmeasured++;
  }
  const bool is_timed = parts_.configuration.timing == Timing::stages &&
                        (number < first_launches || std::has_single_bit(number));
  return is_timed && time_original(seen, device, launch, activity).ok();
}

Status LaunchPath::time_original(Seen& seen, device::Device& device, const device::Launch& launch,
                                 report::ActivityRecord& activity) {
  parts_.kernels.note_resources(seen, device, launch, launch, nullptr);
  Outstanding outstanding(seen);
  Result<std::unique_ptr<device::Readback>> made = device.launch_original(launch);
  if (!made) return made.error();
  auto plan = std::make_shared<LaunchPlan>();
  plan->seen = &seen;
  plan->device = device.info();
  PendingPtr pending = pending_of(std::move(plan), device, launch, activity, records_activities());
  pending->readback = std::move(*made);
  parts_.room.add(std::move(pending), outstanding);
  return success();
}

bool LaunchPath::launch_trials(Seen& seen, device::Device& device, const device::Launch& launch,
                               const KernelSource& source, const report::ActivityRecord& activity) {
  std::string module;
  {
    const State state(parts_.kernels);
    module = seen.coverage.module;
  }
  Trials::Launched launched = parts_.trials->launch(module, device, launch, source);
  // The launches have been made, whatever fails from here on.
  try {
    parts_.recorder.note_device(device);
    for (Trials::Made& made : launched.outstanding) {
      Outstanding outstanding(seen);
      auto plan = std::make_shared<LaunchPlan>();
      plan->seen = &seen;
      plan->device = device.info();
      plan->device_record = std::make_shared<const report::DeviceRecord>(record_of(device));
      plan->variant = std::move(made.variant);
      report::ActivityRecord own = activity;
      PendingPtr pending = pending_of(std::move(plan), device, launch, own, records_activities());
      pending->trial = made.run;
      pending->readback = std::move(made.readback);
      parts_.room.add(std::move(pending), outstanding);
    }
  } catch (const std::exception& error) {
    log().error("{}: times of trials are lost: {}", demangle(seen.name), error.what());
  }
  return launched.is_made;
}

}  // namespace lynxpp::interposer
