#include "interposer/session/recorder.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "interposer/allocations.h"
#include "interposer/results/emitted.h"
#include "interposer/results/site_record.h"
#include "interposer/results/timeline.h"
#include "interposer/session/missed_selection.h"
#include "interposer/this_process.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

using State = KnownKernels::State;

report::LaunchResources resources_of(const device::KernelNeeds& needs, std::uint64_t dynamic_shared_bytes,
                                     const device::MultiprocessorLimits& limits) {
  return {needs.registers,
          needs.shared_bytes,
          dynamic_shared_bytes,
          {limits.threads, limits.blocks, limits.registers, limits.shared_bytes, limits.shared_unit,
           limits.reserved_shared_bytes, limits.block_shared_bytes}};
}

std::optional<report::ModelledTime> modelled_time_of(device::Readback& readback) {
  const std::optional<device::ModelledTime> time = readback.modelled();
  if (!time) return std::nullopt;
  report::ModelledTime told{time->machine,       time->cycles,       time->seconds,
                            time->blocks_per_sm, time->warps_per_sm, time->partitions};
  if (time->l1) told.l1 = {time->l1->hits, time->l1->misses};
  if (time->l2) told.l2 = {time->l2->hits, time->l2->misses};
  return told;
}

/// Returns an upper bound of the time that the launch ran. If the device has none, it is the time since just
/// before the launch was made, which includes waiting in its stream and for this thread.
double max_milliseconds(device::Readback& readback, std::chrono::steady_clock::time_point begin) {
  if (const std::optional<double> bound = readback.max_milliseconds()) return *bound;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// If no kernel was wanted, says so and puts those nearest to `pattern` first.
void name_nearest(std::vector<Seen*>& sorted, const std::string& pattern) LYNXPP_REQUIRES(kernels_state) {
  const auto is_wanted = [](const Seen* each) LYNXPP_REQUIRES(kernels_state) { return each->wanted; };
  if (sorted.empty() || std::ranges::any_of(sorted, is_wanted)) return;
  std::vector<std::string> kernels;
  for (const Seen* each : sorted) kernels.push_back(each->name);
  std::vector<Seen*> nearest;
  std::vector<std::string> names;
  for (const std::size_t index : nearest_first(pattern, kernels)) {
    nearest.push_back(sorted[index]);
    const std::string& name = kernels[index];
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  sorted = std::move(nearest);
  log().warn("{}", missed_selection(pattern, names));
}

/// Copies the summary of counters that stay in device memory.
Status take_pages(const auto& pending, std::vector<CounterPage>& pages) {
  if (pending.kept == nullptr) return success();
  Result<std::vector<CounterPage>> taken = pending.kept->pages();
  if (!taken) return taken.error();
  pages = std::move(*taken);
  return success();
}

/// Returns true if the kernel's next launches should avoid the overflow.
bool note_wrapped_words(Pending& pending, double milliseconds) {
  const LaunchPlan& plan = *pending.plan;
  bool may_wrap = false;
  if (plan.words == nullptr) return may_wrap;
  for (std::size_t i = 0; i < pending.words.notes.size(); ++i) {
    const cod::Specification& specification = *plan.attached->specifications[i];
    if (!plan.words->may_wrap(specification, i, milliseconds, plan.device.clock_khz)) continue;
    may_wrap = true;
    pending.words.notes[i].emplace_back(
        "word counts have 32 bits, and one may have wrapped around in this long launch; counts of the "
        "kernel's next launches stop at 4294967295");
  }
  return may_wrap;
}

void fill_counted_arrays(const Pending& pending, std::span<std::byte> bytes) {
  const LaunchPlan& plan = *pending.plan;
  std::vector<std::vector<std::span<std::byte>>> arrays;
  for (std::size_t i = 0; i < plan.layout.specifications.size(); ++i)
    arrays.push_back(plan.layout.arrays_of(i, bytes));
  engine::fill_counted_arrays(
      *plan.counting, plan.attached->specifications, plan.layout.counters_of(bytes),
      {pending.launches * plan.layout.extents.threads, pending.launches * plan.layout.extents.warps}, arrays);
}

void note_estimates(const Pending& pending, const cod::Specification& specification,
                    std::vector<std::string>& notes) {
  if (pending.counters_may_have_wrapped && !specification.counters().empty()) {
    notes.emplace_back(
        "counts are an estimate: " +
        std::string(pending.launches == 1 ? "the launch" : "one of the launches") +
        " may have run long enough for a counter to wrap around; the kernel's next launches use 64-bit "
        "counters");
  }
  if (pending.indices_may_have_wrapped && !specification.tallies().empty()) {
    notes.emplace_back(
        "sectors are an estimate: a 32-bit array index may have wrapped around between the lanes of a "
        "warp; the kernel's next launches assume nothing about indices");
  }
}

}  // namespace

void Recorder::settle(Pending& pending, const Result<std::span<std::byte>>& bytes) {
  constexpr std::chrono::milliseconds patience(1000);
  if (!is_interrupted_()) {
    const Lock records(mutex_);
    return settle_held(pending, bytes);
  }
  // This thread may hold the lock, or another thread, which waits for this one.
  if (mutex_.is_held_by_caller() || !mutex_.try_lock_for(patience)) return;
  const Lock records(mutex_, std::adopt_lock);
  settle_held(pending, bytes);
}

void Recorder::settle_held(Pending& pending, const Result<std::span<std::byte>>& bytes) {
  if (kernels_.is_over()) return;
  // The time of an instrumented kernel says nothing about the original's.
  if (bytes && configuration_.timeline && pending.plan->variant == nullptr) {
    pending.activity.launch->milliseconds = pending.readback->kernel_milliseconds();
    if (const auto modelled = pending.readback->modelled())
      pending.activity.launch->memory_bytes = modelled->memory_bytes;
  }
  if (configuration_.timeline) sink_->activity(pending.activity);
  if (pending.streams != nullptr)
    pending.streams->finish(pending.plan->layout, bytes ? *bytes : std::span<std::byte>());
  std::vector<CounterPage> pages;
  const Status arrived = bytes ? take_pages(pending, pages) : Status(bytes.error());
  if (pending.trial) {
    if (pending.plan->device_record != nullptr) tell(*pending.plan->device_record);
    trials_->add(*pending.trial, bytes ? pending.readback.get() : nullptr);
  } else if (arrived) {
    report(pending, *bytes, pages);
  }
  if (!arrived) {
    log().error("{}: launch {}: {}", demangle(pending.plan->seen->name), pending.launch,
                first_message(arrived.error()));
  }
  if (!arrived) return lose(pending, first_message(arrived.error()));
  pending.plan->seen->outstanding -= pending.launches;
}

void Recorder::lose(const Pending& pending, const std::string& reason) {
  Seen& seen = *pending.plan->seen;
  seen.outstanding -= pending.launches;
  const State state(kernels_);
  seen.lost += pending.launches;
  // If the original was timed, it ran without specifications.
  report::CoverageRecord& coverage =
      pending.plan->attached != nullptr ? seen.coverage_of(*pending.plan->attached) : seen.coverage;
  add_once(coverage.notes, "results lost: " + reason);
}

void Recorder::report(Pending& pending, std::span<std::byte> bytes, std::span<const CounterPage> pages) {
  const LaunchPlan& plan = *pending.plan;
  add_times(pending);
  if (pending.live != nullptr) pending.live->copy_to(bytes);
  if (pending.plan->variant == nullptr) return;  // an original that was timed
  if (configuration_.times_only()) return;
  const double milliseconds = max_milliseconds(*pending.readback, pending.begin);
  if (plan.counting != nullptr) {
    fill_counted_arrays(pending, bytes);
    pending.counters_may_have_wrapped = engine::may_wrap(*plan.counting, milliseconds, plan.device.clock_khz);
    pending.indices_may_have_wrapped =
        engine::may_wrap_indices(*plan.counting, plan.layout.counters_of(bytes));
  }
  pending.place.end_us = host_clock_us();
  if (!pending.readback->modelled()) pending.place.device_ms = pending.readback->kernel_milliseconds();
  if (plan.device_record != nullptr) tell(*plan.device_record);
  cod::LaunchView view = plan.view;
  if (plan.words != nullptr)
    pending.words = plan.words->finish(plan.layout, bytes, plan.attached->specifications,
                                       {pending.kept.get(), pages}, view);
  const bool words_may_have_wrapped = note_wrapped_words(pending, milliseconds);
  const bool may_have_wrapped =
      pending.counters_may_have_wrapped || pending.indices_may_have_wrapped || words_may_have_wrapped;
  kernels_.learn(*plan.seen, {may_have_wrapped && configuration_.counters != CounterWidth::narrow,
                              pending.words.is_complete});
  for (std::size_t i = 0; i < plan.attached->specifications.size(); ++i) {
    const bool is_sampled = pending.launch % plan.attached->specifications[i]->sampling().launches == 0;
    if (is_sampled) report_specification(pending, i, bytes, view);
  }
}

void Recorder::add_times(const Pending& pending) {
  if (configuration_.timing == Timing::off) return;
  const std::optional<double> kernel = pending.readback->kernel_milliseconds();
  const std::optional<double> buffers = pending.readback->buffer_milliseconds();
  const std::optional<device::ModelledTime> modelled = pending.readback->modelled();
  const State state(kernels_);
  report::TimingRecord& timing = pending.plan->seen->timing;
  // The original ran while the variant was deferred: only launches of one kind have an average.
  const bool is_deferred = pending.plan->variant == nullptr && configuration_.timing == Timing::stages &&
                           pending.plan->seen->coverage.instrumented_launches != 0;
  if (is_deferred) return;
  if (modelled) timing.modelled = modelled->machine;
  timing.device = pending.plan->device.name;
  if (kernel) {
    timing.execute += *kernel;
    ++timing.launches;
    log().debug("{}: launch {}: {:.4f} ms on the device", timing.kernel, pending.launch, *kernel);
  }
  if (buffers) timing.buffers = timing.buffers.value_or(0) + *buffers;
}

cod::LaunchView Recorder::view_of(const Pending& pending, std::size_t index, std::span<std::byte> bytes,
                                  const cod::LaunchView& launched) {
  const LaunchPlan& plan = *pending.plan;
  cod::LaunchView view = launched;
  view.kernel = plan.seen->name;
  view.sites = plan.site_table.get();
  view.arrays = plan.layout.arrays_of(index, bytes);
  view.device = plan.device.name;
  view.multiprocessors = plan.device.multiprocessors;
  view.compute_capability = static_cast<std::uint32_t>(plan.device.compute_capability);
  view.launch = pending.launch;
  view.launches = pending.launches;
  return view;
}

void Recorder::report_specification(const Pending& pending, std::size_t index, std::span<std::byte> bytes,
                                    const cod::LaunchView& launched) {
  const LaunchPlan& plan = *pending.plan;
  report::LaunchRecord record;
  record.kernel = plan.seen->name;
  record.launch = pending.launch;
  if (pending.launches > 1) record.shared = {pending.launches, pending.last};
  record.device = plan.device.name;
  std::copy(std::begin(plan.view.grid), std::end(plan.view.grid), record.grid);
  std::copy(std::begin(plan.view.block), std::end(plan.view.block), record.block);
  record.spec = plan.attached->specifications[index]->name();
  record.ranges = pending.activity.ranges;
  record.place = pending.place;
  record.place->module = plan.module;

  cod::LaunchView view = view_of(pending, index, bytes, launched);
  view.host = plan.attached->host[index];
  plan.attached->has_launches = true;
  view.emit = [&](cod::Emitted emitted) { record.results.push_back(result_of(std::move(emitted))); };
  record.sampling = sampling_of(plan.attached->specifications[index]->samplings(record.kernel), record.notes);
  view.print = [&](std::string_view text) { record.notes.emplace_back(text); };
  if (std::ranges::any_of(plan.attached->specifications[index]->arrays(), cod::is_of_words)) {
    const std::vector<std::string>& notes = pending.words.notes[index];
    record.notes.insert(record.notes.end(), notes.begin(), notes.end());
    view.sources = pending.words.sources[index];
    if (plan.needs && plan.device.limits)
      record.resources = resources_of(*plan.needs, plan.words->dynamic_shared_bytes(), *plan.device.limits);
  }
  if (const Status ran = plan.attached->reports[index]->run(view); !ran) {
    const std::vector<std::string> mishaps = mishaps_of(ran.error());
    record.notes.insert(record.notes.end(), mishaps.begin(), mishaps.end());
  }
  for (const auto& [array, source] : view.sources) {
    if (source->problem().empty()) continue;
    record.results.clear();
    add_once(record.notes, "results lost: " + source->problem());
  }
  if (pending.allocations != nullptr)
    record.allocations = allocations_named_in(record.results, *pending.allocations);
  note_estimates(pending, *plan.attached->specifications[index], record.notes);
  if (pending.streams != nullptr) {
    const std::vector<std::string> notes = pending.streams->notes(index);
    record.notes.insert(record.notes.end(), notes.begin(), notes.end());
  }
  add_drops(*plan.attached->specifications[index], plan.layout.dropped(index, bytes), record.notes);
  record.modelled = modelled_time_of(*pending.readback);
  if (has_values_per_site(record)) record.sites = number_of_sites(plan);
  sink_->launch(record);
}

std::uint64_t Recorder::number_of_sites(const LaunchPlan& plan) {
  const std::string& kernel = plan.seen->name;
  Seen::Sites sites;
  {
    const State state(kernels_);
    Seen::Sites& known = plan.seen->sites[plan.sites];
    if (known.number) return *known.number;
    known.number = kernels_.first_of_name(kernel).written_sites++;
    sites = known;
  }
  report::SitesRecord places = site_record(*sites.table, kernel, *sites.number);
  if (sites.ptx != nullptr) places.ptx = *sites.ptx;
  sink_->sites(places);
  return *sites.number;
}

void Recorder::write_ends() {
  for (const std::shared_ptr<const Attached>& attached : kernels_.with_ends()) {
    for (std::size_t i = 0; i < attached->reports.size() && attached->has_launches; ++i) {
      if (!attached->reports[i]->has_end()) continue;
      report::TotalRecord record;
      record.spec = attached->specifications[i]->name();
      static_cast<void>(sampling_of(attached->specifications[i]->samplings(""), record.notes));
      cod::LaunchView view;
      view.host = attached->host[i];
      view.emit = [&](cod::Emitted emitted) { record.results.push_back(result_of(std::move(emitted))); };
      view.print = [&](std::string_view text) { record.notes.emplace_back(text); };
      if (const Status ran = attached->reports[i]->end(view); !ran) {
        const std::vector<std::string> mishaps = mishaps_of(ran.error());
        record.notes.insert(record.notes.end(), mishaps.begin(), mishaps.end());
      }
      sink_->total(record);
    }
  }
}

void Recorder::note_missing_results() {
  for (Seen* const seen : kernels_.all()) {
    const std::uint64_t outstanding = seen->outstanding;
    if (outstanding == 0) continue;
    report::CoverageRecord& coverage = seen->coverage;
    // For a kernel that cannot be instrumented, only times are outstanding.
    if (coverage.shape && coverage.instrumented_launches == 0) continue;
    const std::string many = std::to_string(outstanding);
    coverage.notes.push_back("the program ended before " + many + " launch" + (outstanding == 1 ? "" : "es") +
                             " finished; the results are missing");
    if (!coverage.instrumented) coverage.reason = "the program ended before its first launch finished";
  }
}

void Recorder::finish(const std::function<void()>& stop) {
  const Lock records(mutex_);
  if (!kernels_.is_over()) write_final_records(stop);
}

void Recorder::finish_within(std::chrono::milliseconds patience, const std::function<void()>& stop) {
  if (!mutex_.try_lock_for(patience)) return;
  const Lock records(mutex_, std::adopt_lock);
  if (kernels_.is_over()) return;
  const State state(kernels_, patience);
  if (state.is_held()) write_final_records(stop);
}

void Recorder::write_final_records(const std::function<void()>& stop) {
  kernels_.stop();
  stop();
  const State state(kernels_);
  if (!kernels_.ever_attached() || !kernels_.has_seen_launches()) return;
  write_ends();
  if (trials_ != nullptr) {
    for (const report::TrialRecord& record : trials_->records()) sink_->trial(record);
  }
  note_missing_results();
  std::vector<Seen*> sorted = kernels_.all();
  for (Seen* const seen : sorted) {
    seen->add_unselected();
    seen->close_coverage();
  }
  std::ranges::sort(sorted, {}, [](const Seen* each) LYNXPP_REQUIRES(kernels_state) {
    return std::pair<std::string_view, std::string_view>(each->name, each->coverage.module);
  });
  name_nearest(sorted, kernels_.filter());
  for (const Seen* seen : sorted) {
    for (const report::CoverageRecord& each : seen->earlier) sink_->coverage(each);
    if (seen->coverage.launches != 0 || seen->earlier.empty()) sink_->coverage(seen->coverage);
  }
  for (const Seen* seen : sorted) {
    const bool was_instrumented = seen->coverage.instrumented ||
                                  std::ranges::any_of(seen->earlier, &report::CoverageRecord::instrumented);
    const bool has_times = was_instrumented || seen->timing.launches != 0;
    if (configuration_.timing != Timing::off && has_times) sink_->timing(seen->timing);
  }
  sink_->finish();
}

// ---- activities and devices

void Recorder::note_device(device::Device& device, const device::Launch& launch,
                           report::ActivityRecord& activity) {
  if (!configuration_.timeline) return;
  activity.launch->shared_bytes += device.static_shared_bytes(launch);
  if (const auto resources = device.resources(launch, nullptr))
    activity.launch->registers = resources->registers;
  note_device(device);
}

void Recorder::note_device(device::Device& device) {
  const report::DeviceRecord record = record_of(device);
  const Lock records(mutex_);
  if (!kernels_.is_over()) tell(record);
}

void Recorder::tell(const report::DeviceRecord& device) {
  std::pair<std::uint64_t, std::string> key(device.ordinal, device.device);
  if (std::ranges::count(told_devices_, key) != 0) return;
  told_devices_.push_back(std::move(key));
  sink_->device(device);
}

void Recorder::write(const report::ActivityRecord& activity) {
  if (!configuration_.timeline) return;
  const Lock records(mutex_);
  if (!kernels_.is_over()) sink_->activity(activity);
}

}  // namespace lynxpp::interposer
