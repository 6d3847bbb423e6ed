// The part of the session that launches variants: common properties of a variant's launches are computed
// once.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <utility>

#include "interposer/results/tensor_copy_sizes.h"
#include "interposer/session/session.h"
#include "interposer/session/session_state.h"
#include "interposer/this_process.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

/// Plans per variant: programs that keep changing a kernel's grid must not fill memory.
constexpr std::size_t most_plans = 8;

/// Describes a launch that is about to be made.
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

// ---- plans

BlockRoom Session::room_of(const Attached& attached, const device::Launch& launch) const {
  if (!attached.counts_shared_memory ||
      (configuration_.words.shared_bits == 0 && !configuration_.words.spare_counters()))
    return {};
  return {launch.threads_per_block(), launch.shared_bytes};
}

bool Session::fits(const LaunchPlan& plan, const device::Launch& launch) const {
  return std::ranges::equal(plan.view.grid, launch.grid) &&
         std::ranges::equal(plan.view.block, launch.block) &&
         plan.view.tensor_copies == tensor_copy_sizes(plan.kernel->instrumented, launch, find_tensor_box_);
}

PlanPtr Session::known_plan(const Seen& seen, const device::Device& device, const device::Launch& launch,
                            std::uint64_t image) const {
  const BlockRoom room = room_of(*attached_, launch);
  const auto found = std::ranges::find_if(seen.plans, [&](const PlanPtr& plan) {
    const InstrumentedKernel& kernel = *plan->kernel;
    return kernel.device == &device && kernel.image == image && kernel.room == room &&
           kernel.attached == attached_ && kernel.learned == seen.learned && fits(*plan, launch);
  });
  return found != seen.plans.end() ? *found : nullptr;
}

Result<PlanPtr> Session::plan_for(Seen& seen, const KernelPtr& made, device::Device& device,
                                  const device::Launch& launch, bool keeps_counters) {
  InstrumentedKernel& kernel = *made;
  const auto is_of_kernel = [&](const PlanPtr& plan) { return plan->kernel == made; };
  std::shared_ptr<const LaunchedWords> previous;
  {
    const State state(state_);
    const auto known = std::ranges::find_if(
        seen.plans, [&](const PlanPtr& plan) { return is_of_kernel(plan) && fits(*plan, launch); });
    if (known != seen.plans.end()) return *known;
    previous = kernel.words;
  }
  auto plan = std::make_shared<LaunchPlan>();
  plan->kernel = made;
  plan->attached = kernel.attached;
  plan->seen = &seen;
  plan->module = seen.coverage.module;
  plan->device = device.info();
  plan->device_record = kernel.device_record;
  plan->sites = kernel.sites;
  plan->site_table = kernel.instrumented.sites;
  plan->view.basic_blocks = kernel.instrumented.size.basic_blocks;
  plan->view.instructions = kernel.instrumented.size.instructions;
  plan->view.sms = plan->device.sm_id_limit;
  plan->view.clock_khz = plan->device.clock_khz;
  plan->view.tensor_copies = tensor_copy_sizes(kernel.instrumented, launch, find_tensor_box_);
  std::copy(std::begin(launch.grid), std::end(launch.grid), plan->view.grid);
  std::copy(std::begin(launch.block), std::end(launch.block), plan->view.block);
  plan->counting = kernel.instrumented.counting;
  plan->variant = kernel.variant;
  Result<std::shared_ptr<const LaunchedWords>> words =
      LaunchedWords::of(kernel.instrumented, kernel.attached->specifications, device, launch, previous);
  if (!words) return words.error();
  plan->words = std::move(*words);
  SharedParts parts;
  if (plan->counting != nullptr) parts.counters = plan->counting->plan->slots();
  if (plan->words != nullptr) {
    plan->needs = device.needs(launch);
    plan->view.shared_words = plan->words->shared_words();
    plan->view.counts_exactly = plan->words->counts_exactly();
    plan->view.device_words = plan->words->device_words();
    parts.shared_addresses = plan->words->shared_addresses();
    if (!std::ranges::all_of(plan->words->is_replayed(), std::identity()))
      parts.words = plan->words->word_map();
    parts.allocations = plan->words->allocations();
    parts.is_replayed = plan->words->is_replayed();
    parts.keeps_words = keeps_counters && plan->device.keeps_counters && plan->words->may_keep_counters();
    parts.shared_counters = plan->words->block_counters().first;
    parts.shared_counter_bytes = plan->words->block_counters().bytes_each;
  }
  Result<ProbeLayout> layout =
      lay_out(kernel.attached->specifications, extents_of(launch, plan->view), parts);
  if (!layout) return layout.error();
  plan->layout = std::move(*layout);
  // Counted words depend on the program's current memory and the launch's parameters.
  const State state(state_);
  if (std::ranges::count(plan->view.tensor_copies, 0u, &cod::TensorCopySize::bytes) != 0)
    add_once(seen.coverage_of(*kernel.attached).notes,
             "the bytes of some tensor copies are unknown: this process did not encode their tensor map for "
             "such copies, or the tensor is interleaved");
  kernel.words = plan->words;
  if (plan->words != nullptr || !variants_.holds(seen, kernel)) return PlanPtr(std::move(plan));
  if (std::cmp_equal(std::ranges::count_if(seen.plans, is_of_kernel), most_plans))
    seen.plans.erase(std::ranges::find_if(seen.plans, is_of_kernel));
  seen.plans.push_back(plan);
  return PlanPtr(std::move(plan));
}

// ---- launches

PendingPtr Session::pending_with(PlanPtr plan, device::Device& device, const device::Launch& launch,
                                 report::ActivityRecord& activity) {
  auto pending = std::make_unique<Pending>();
  pending->launch = pending->last = activity.launch->launch;
  pending->place = place_of(device, launch, activity);
  if (plan->attached != nullptr && plan->attached->emits_addresses)
    pending->allocations = device.allocations();
  pending->plan = std::move(plan);
  pending->on = &device;
  pending->begin = std::chrono::steady_clock::now();
  if (configuration_.timeline) {
    pending->activity = activity;
  } else {
    pending->activity = std::move(activity);
  }
  return pending;
}

PendingPtr Session::pending_for(PlanPtr plan, device::Device& device, const device::Launch& launch,
                                report::ActivityRecord& activity) {
  const InstrumentedKernel& kernel = *plan->kernel;
  PendingPtr pending = pending_with(std::move(plan), device, launch, activity);
  if (configuration_.timeline) {
    report::ActivityRecord::Launch& record = *pending->activity.launch;
    note_arrays(record, device, launch, kernel.instrumented.parameters);
    record.registers_are_estimated = !record.registers && kernel.instrumented.size.registers;
    if (record.registers_are_estimated) record.registers = kernel.instrumented.size.registers->original;
  }
  return pending;
}

Status Session::launch_variant(Seen& seen, const KernelPtr& kernel, device::Device& device,
                               const device::Launch& launch, report::ActivityRecord& activity) {
  Result<PlanPtr> plan = plan_for(seen, kernel, device, launch, true);
  if (!plan) return plan.error();
  Outstanding outstanding(seen);
  if (sharing_.shares(**plan, device, launch))
    return launch_shared(*plan, device, launch, activity, outstanding);
  return launch_with(device, launch, pending_for(std::move(*plan), device, launch, activity), outstanding);
}

std::optional<bool> Session::launch_again(device::Device& device, const device::Launch& launch,
                                          const Found& found) {
  const Launching here(*this);
  if (const Result<bool> captured = device.capturing(launch); !captured || *captured) return std::nullopt;
  Seen& known = *found.selected;
  State state(state_);
  if (finished_ || attached_ == nullptr || is_crowded()) return std::nullopt;
  PlanPtr plan = known_plan(known, device, launch, found.image);
  if (plan == nullptr) return std::nullopt;
  known.add_unselected();
  const std::uint64_t number = known.numbers.next(device.info().ordinal);
  if (!wanted(known, number)) return false;
  Outstanding outstanding(known);
  state.unlock();
  const bool is_shared = sharing_.shares(*plan, device, launch);
  report::ActivityRecord activity = timeline_.launch(launch, known.coverage.kernel, number);
  const Status launched =
      is_shared
          ? launch_shared(plan, device, launch, activity, outstanding)
          : launch_with(device, launch, pending_with(std::move(plan), device, launch, activity), outstanding);
  if (launched) return true;
  state.lock();
  note_refusal(known, launched);
  return false;
}

Status Session::begin_streams(Pending& pending, device::Device& device, device::Buffer& buffer,
                              const device::Launch& launch) {
  if (!streams_.is_on()) return success();
  const LaunchPlan& plan = *pending.plan;
  report::TraceDescription description;
  description.kernel = plan.seen->coverage.kernel;
  description.launch = pending.launch;
  description.device = plan.device.name;
  description.ordinal = static_cast<std::uint64_t>(plan.device.ordinal);
  description.process = static_cast<std::uint64_t>(getpid());
  pending.streams = streams_.begin(plan.attached->specifications, device, description);
  if (pending.streams == nullptr) return success();
  for (const device::BufferWrite& each : pending.streams->writes(plan.layout)) {
    if (Status written = device.write(buffer, each.offset, each.bytes, launch); !written) return written;
  }
  return success();
}

Status Session::launch_with(device::Device& device, const device::Launch& launch, PendingPtr pending,
                            Outstanding& outstanding) {
  const LaunchPlan& plan = *pending->plan;
  const InstrumentedKernel& kernel = *plan.kernel;
  Seen& seen = *plan.seen;
  const ProbeLayout& layout = plan.layout;
  std::unique_ptr<device::CallGroup> group;
  if (configuration_.timing != Timing::off) group = device.call_group();
  device::Launch variant_launch = launch;
  if (plan.words != nullptr) plan.words->add_block_counters(variant_launch);
  Result<std::unique_ptr<device::Buffer>> buffer = allocate(seen, device, layout.bytes, launch);
  if (!buffer) return buffer.error();
  if (layout.kept_bytes != 0) {
    Result<std::unique_ptr<device::CounterMemory>> kept =
        keep_counters(seen, device, layout.kept_bytes, launch);
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
  if (configuration_.timing != Timing::off)
    note_resources(seen, device, launch, variant_launch, kernel.variant.get());
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
    log().error("{}: results of a launch are lost: {}", demangle(seen.coverage.kernel), error.what());
  }
  return success();
}

Result<JoinedLaunch> Session::open_shared(const PlanPtr& plan, device::Device& device,
                                          const device::Launch& launch, report::ActivityRecord& activity) {
  const InstrumentedKernel& kernel = *plan->kernel;
  Result<std::unique_ptr<device::Buffer>> buffer = allocate(*plan->seen, device, plan->layout.bytes, launch);
  if (!buffer) return buffer.error();
  std::vector<std::uint64_t> words =
      probe_words(kernel.instrumented.probe, plan->layout, (*buffer)->address());
  return sharing_.open({&device, kernel.image, launch.stream}, pending_with(plan, device, launch, activity),
                       std::move(words), std::move(*buffer));
}

Status Session::launch_shared(const PlanPtr& plan, device::Device& device, const device::Launch& launch,
                              report::ActivityRecord& activity, Outstanding& outstanding) {
  const InstrumentedKernel& kernel = *plan->kernel;
  const std::uint64_t number = activity.launch->launch;
  {
    JoinedLaunch joined = sharing_.join(*plan, launch.stream, activity.ranges);
    if (!joined.has_joined()) {
      Result<JoinedLaunch> opened = open_shared(plan, device, launch, activity);
      if (!opened) return opened.error();
      joined = std::move(*opened);
    }
    Status launched = failure("internal failure");
    try {
      launched = device.launch(*kernel.variant, launch, kernel.instrumented.parameters, joined.words(),
                               joined.buffer());
    } catch (const std::exception& error) {
      launched = failure(error.what());
    }
    if (!launched) return launched;
    joined.launched(number);
    const State state(state_);
    note_instrumented(*plan);
    has_measured_.store(true, std::memory_order_relaxed);
    outstanding.settled_later();
  }
  sharing_.close_after_launch(launch.stream);
  return success();
}

/// Precondition: `state_` is held.
report::CoverageRecord& Session::note_instrumented(const LaunchPlan& plan) {
  report::CoverageRecord& coverage = plan.seen->coverage_of(*plan.attached);
  coverage.instrumented = true;
  coverage.reason.clear();
  ++coverage.instrumented_launches;
  return coverage;
}

void Session::begin_collecting(PendingPtr pending, std::unique_ptr<device::Buffer> buffer,
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
  State state(state_);
  report::CoverageRecord& coverage = note_instrumented(*pending->plan);
  if (readback) {
    state.unlock();
    pending->readback = std::move(*readback);
    return add(std::move(pending), outstanding);
  }
  static_cast<void>(pending->live.release());  // the kernel may still write it
  const std::string reason = first_message(readback.error());
  ++seen.lost;
  add_once(coverage.notes, "results lost: " + reason);
  state.unlock();
  log().error("{}: launch {}: results are lost: {}", demangle(seen.coverage.kernel), pending->launch, reason);
  write(pending->activity);
}

}  // namespace lynxpp::interposer
