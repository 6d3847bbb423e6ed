#include "interposer/session.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "instrumentors/catalogue.h"
#include "interposer/allocations.h"
#include "interposer/emitted.h"
#include "interposer/launch_shape.h"
#include "interposer/launched_words.h"
#include "interposer/probe_buffer.h"
#include "interposer/site_record.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

constexpr std::uint64_t outstanding_bytes_limit = 512ull << 20;
constexpr std::size_t outstanding_launches_limit = 4096;

std::string first_message(const Failure& failure) {
  if (failure.diagnostics.empty()) return "unknown reason";
  const Diagnostic& diagnostic = failure.diagnostics.front();
  std::string text = diagnostic.message;
  if (diagnostic.location.line != 0) text += " (PTX line " + std::to_string(diagnostic.location.line) + ")";
  return text;
}

void add_once(std::vector<std::string>& notes, const std::string& note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

report::KernelResources record_of(const device::KernelResources& resources) {
  return {resources.registers,     resources.local_bytes,  resources.shared_bytes,
          resources.blocks_per_sm, resources.warps_per_sm, resources.most_warps_per_sm};
}

void set_once(std::optional<report::KernelResources>& slot,
              const std::optional<device::KernelResources>& found) {
  if (!slot && found) slot = record_of(*found);
}

}  // namespace

/// A set of specifications, shared by the launches made while it was attached.
struct Session::Attached {
  std::vector<engine::SpecificationPtr> specifications;
  std::vector<std::shared_ptr<const cod::HostReport>> reports;
  // Guarded by the session: variables of the host, and whether a launch has been reported.
  mutable std::vector<std::vector<std::byte>> host;
  mutable bool has_launches = false;

  /// Whether some specification wants a kernel's launch of this number.
  bool samples(std::uint64_t launch) const {
    return std::any_of(
        specifications.begin(), specifications.end(),
        [&](const engine::SpecificationPtr& each) { return launch % each->sampling().launches == 0; });
  }

  Status add(const instrumentors::LoadedSpecification& item) {
    Result<engine::SpecificationPtr> specification = cod::compile(item.source, item.path);
    if (!specification) return specification.error();
    Result<std::shared_ptr<const cod::HostReport>> compiled = (*specification)->compile_host();
    if (!compiled) return compiled.error();
    specifications.push_back(std::move(*specification));
    host.push_back((*compiled)->initial_state());
    reports.push_back(std::move(*compiled));
    return success();
  }
};

/// A kernel of one image on one device, instrumented for launches of one shape or found impossible to
/// instrument.
struct Session::Kernel {
  device::Device* device = nullptr;
  std::uint64_t image = 0;
  std::shared_ptr<const Attached> attached;
  engine::Instrumented instrumented;
  std::size_t sites = 0;                     ///< of Seen::sites, this variant's
  std::shared_ptr<device::Variant> variant;  ///< those with the same text share one
  engine::LaunchShape shape;                 ///< of the launches it is for
  bool wide_counters = false;
  bool replays = true;  ///< accesses that follow from parameters have no probe
  std::string problem;  ///< why it runs uninstrumented; empty when it does not
};

/// Everything known of the kernels of one name. Lives as long as the session.
struct Session::Seen {
  bool wanted = true;  ///< by LYNXPP_KERNELS
  /// Some launch took so long that narrow ones may have wrapped, or an index may have.
  bool wide_counters = false;
  bool replays = true;  ///< false: replaying a launch has failed
  report::CoverageRecord coverage;
  report::TimingRecord timing;
  std::vector<std::unique_ptr<Kernel>> kernels;
  /// The site tables of its variants, each once, and whether the report has it.
  struct Sites {
    std::shared_ptr<const cod::SiteTable> table;
    bool written = false;
  };
  std::vector<Sites> sites;

  std::size_t index_of(const std::shared_ptr<const cod::SiteTable>& table) {
    const auto known =
        std::find_if(sites.begin(), sites.end(), [&](const Sites& each) { return *each.table == *table; });
    if (known != sites.end()) return static_cast<std::size_t>(known - sites.begin());
    sites.push_back({table});
    return sites.size() - 1;
  }
};

/// An instrumented launch whose results (or an original one whose time) are on their way. Holds what the
/// report needs; the variant may be gone by then.
struct Session::Pending {
  std::shared_ptr<const Attached> attached;
  Seen* seen = nullptr;
  std::uint64_t launch = 0;
  std::size_t sites = 0;  ///< of Seen::sites
  device::DeviceInfo device;
  cod::LaunchView view;
  std::shared_ptr<const engine::Counting> counting;
  std::shared_ptr<const LaunchedWords> words;   ///< null: none are counted
  std::vector<std::vector<std::string>> notes;  ///< of each specification, about words
  std::chrono::steady_clock::time_point begin;  ///< before the launch was made
  bool counters_may_have_wrapped = false;
  bool indices_may_have_wrapped = false;
  ProbeLayout layout;
  std::unique_ptr<device::Readback> readback;
};

Session::Session(Configuration configuration, std::unique_ptr<report::Sink> sink)
    : configuration_(std::move(configuration)), sink_(std::move(sink)) {}

Session::~Session() = default;

bool Session::attach(const std::string& list, std::string& problem) {
  auto attached = std::make_shared<Attached>();
  if (!trim(list).empty()) {
    Result<std::vector<instrumentors::LoadedSpecification>> loaded = instrumentors::parse_list(list);
    if (!loaded) {
      problem = render(loaded.error().diagnostics);
      return false;
    }
    for (const instrumentors::LoadedSpecification& item : *loaded) {
      if (Status added = attached->add(item); !added) {
        problem = render(added.error().diagnostics, item.source);
        return false;
      }
    }
  }
  const std::lock_guard lock(mutex_);
  attached_ = attached->specifications.empty() ? nullptr : attached;
  ever_attached_ |= attached_ != nullptr;
  const auto has_end = [](const auto& report) { return report->has_end(); };
  if (std::any_of(attached->reports.begin(), attached->reports.end(), has_end)) ever_.push_back(attached);
  return true;
}

bool Session::attached() {
  const std::lock_guard lock(mutex_);
  return attached_ != nullptr && !finished_;
}

bool Session::launch(device::Device& device, const device::Launch& launch, const KernelSource& source) {
  const std::lock_guard lock(mutex_);
  if (attached_ == nullptr || finished_) return false;
  Seen& known = seen(source.name);
  report::CoverageRecord& coverage = known.coverage;
  const std::uint64_t index = coverage.launches++;
  if (!known.wanted) {
    coverage.reason = "not selected by LYNXPP_KERNELS";
    return false;
  }
  if (!configuration_.launches.wants(index)) {
    if (coverage.instrumented_launches == 0) coverage.reason = "no launch selected by LYNXPP_LAUNCHES";
    return false;
  }
  if (!attached_->samples(index)) {
    if (coverage.instrumented_launches == 0) coverage.reason = "no launch was sampled";
    return false;
  }
  const Result<bool> captured = device.capturing(launch);
  if (!captured || *captured) {
    add_once(coverage.notes, captured ? "launches captured into a graph run uninstrumented"
                                      : "launches run uninstrumented: " + first_message(captured.error()));
    return false;
  }
  drain(false);
  log_allocations(device);
  if (configuration_.timing == Timing::originals) {
    coverage.reason = "its original was timed";
    return static_cast<bool>(time_original(known, device, launch, index));
  }
  Kernel& kernel = kernel_for(known, device, launch, source);
  if (!kernel.problem.empty()) {
    coverage.reason = kernel.problem;
    return false;
  }
  if (Status launched = launch_variant(known, kernel, device, launch, index); !launched) {
    add_once(coverage.notes, first_message(launched.error()));
    if (coverage.instrumented_launches == 0) coverage.reason = first_message(launched.error());
    return false;
  }
  coverage.instrumented = true;
  coverage.reason.clear();
  ++coverage.instrumented_launches;
  return true;
}

void Session::log_allocations(device::Device& device) {
  if (!log().should_log(spdlog::level::trace)) return;
  const std::shared_ptr<const device::LiveAllocations> now = device.allocations();
  if (std::exchange(logged_allocations_, now) == now) return;
  const std::string list = list_allocations(*now);
  for (const std::string_view line : split(list, '\n')) log().trace("{}", line);
}

Session::Seen& Session::seen(const std::string& kernel) {
  std::unique_ptr<Seen>& slot = seen_[kernel];
  if (slot == nullptr) {
    slot = std::make_unique<Seen>();
    slot->coverage.kernel = kernel;
    slot->timing.kernel = kernel;
    slot->wide_counters = configuration_.wide_counters;
    slot->wanted = !configuration_.kernels || std::regex_search(kernel, *configuration_.kernels) ||
                   std::regex_search(demangle(kernel), *configuration_.kernels);
  }
  return *slot;
}

Session::Kernel& Session::kernel_for(Seen& seen, device::Device& device, const device::Launch& launch,
                                     const KernelSource& source) {
  const engine::LaunchShape shape = shape_of(launch);
  const auto found =
      std::find_if(seen.kernels.begin(), seen.kernels.end(), [&](const std::unique_ptr<Kernel>& kernel) {
        return kernel->device == &device && kernel->image == source.image && kernel->shape == shape;
      });
  if (found != seen.kernels.end() && (*found)->attached == attached_ &&
      (*found)->wide_counters == seen.wide_counters && (*found)->replays == seen.replays)
    return **found;
  std::unique_ptr<Kernel>& slot = found != seen.kernels.end() ? *found : seen.kernels.emplace_back();
  slot = std::make_unique<Kernel>();
  slot->device = &device;
  slot->image = source.image;
  slot->attached = attached_;
  slot->shape = shape;
  slot->wide_counters = seen.wide_counters;
  slot->replays = seen.replays;
  if (Status prepared = prepare(seen, *slot, device, launch, source); !prepared) {
    slot->problem = first_message(prepared.error());
    log().warn("{} runs uninstrumented: {}", demangle(source.name), slot->problem);
  }
  return *slot;
}

Status Session::prepare(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                        const KernelSource& source) {
  const Result<std::string> text = source.ptx();
  if (!text) return text.error();
  dump(source.name, ".ptx", *text);
  engine::Request request;
  request.ptx = &*text;
  request.kernel = source.name;
  request.launch = kernel.shape;
  request.wide_counters = seen.wide_counters;
  if (!seen.replays) request.limits.without.emplace(engine::without_replay);
  request.specifications = kernel.attached->specifications;
  request.device_sm = device.info().compute_capability;
  request.assembler_contracts = device.info().contracts;
  request.variable_address = [&](const std::string& name) {
    return device.variable_address(launch.function, name);
  };
  request.wants_register_estimate = log().should_log(spdlog::level::debug);
  Status loaded = make_variant(seen, kernel, device, launch, request);
  if (!loaded) {
    // Seen with ptxas 13.0: it finds no registers for some kernels with calls of handlers, and does for
    // copies of the same handlers.
    request.limits = engine::without_functions(request.limits);
    const std::string refused = std::exchange(kernel.instrumented.ptx, {});
    if (refused.empty() || !make_variant(seen, kernel, device, launch, request, refused)) return loaded;
  }
  log().info("{}: instrumented, {} basic blocks", demangle(source.name),
             kernel.instrumented.size.basic_blocks);
  if (const auto& registers = kernel.instrumented.registers) {
    log().debug("{}: live registers {} to {} (estimate)", demangle(source.name), registers->original,
                registers->instrumented);
  }

  report::CoverageRecord& coverage = seen.coverage;
  for (const std::string& note : kernel.instrumented.notes) add_once(coverage.notes, note);
  coverage.sites = 0;
  for (const std::uint64_t sites : kernel.instrumented.sites_per_handler) coverage.sites += sites;
  if (coverage.sites != 0) {
    for (const std::string& name : engine::idle_specifications(request, kernel.instrumented))
      add_once(coverage.notes, "no place in this kernel matches '" + name + "'");
  }
  return success();
}

Status Session::make_variant(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                             const engine::Request& request, const std::string& refused) {
  Result<engine::Instrumented> instrumented = engine::instrument(request);
  if (!instrumented) return instrumented.error();
  if (instrumented->ptx == refused) return failure("the same text has been refused before");
  kernel.instrumented = std::move(*instrumented);
  kernel.sites = seen.index_of(kernel.instrumented.sites);
  dump(request.kernel, ".instrumented.ptx", kernel.instrumented.ptx);

  report::TimingRecord& timing = seen.timing;
  timing.parse += kernel.instrumented.spent.parse_ms;
  timing.instrument += kernel.instrumented.spent.instrument_ms;
  timing.emit += kernel.instrumented.spent.emit_ms;
  timing.device = device.info().name;
  const auto same =
      std::find_if(seen.kernels.begin(), seen.kernels.end(), [&](const std::unique_ptr<Kernel>& other) {
        return other->variant != nullptr && other->device == &device && other->image == kernel.image &&
               other->instrumented.ptx == kernel.instrumented.ptx;
      });
  if (same != seen.kernels.end()) {
    kernel.variant = (*same)->variant;
    return success();
  }
  const auto begin = std::chrono::steady_clock::now();
  Result<std::unique_ptr<device::Variant>> variant = device.load(
      kernel.instrumented.ptx, kernel.instrumented.kernel, launch, kernel.instrumented.kept_registers);
  const std::chrono::duration<double, std::milli> load = std::chrono::steady_clock::now() - begin;
  timing.load += load.count();
  if (!variant) return variant.error();
  kernel.variant = std::move(*variant);
  return success();
}

Status Session::launch_variant(Seen& seen, Kernel& kernel, device::Device& device,
                               const device::Launch& launch, std::uint64_t index) {
  Pending pending;
  pending.attached = kernel.attached;
  pending.seen = &seen;
  pending.launch = index;
  pending.sites = kernel.sites;
  pending.device = device.info();
  pending.view.basic_blocks = kernel.instrumented.size.basic_blocks;
  pending.view.instructions = kernel.instrumented.size.instructions;
  pending.view.sms = device.info().sm_id_limit;
  pending.view.clock_khz = device.info().clock_khz;
  std::copy(std::begin(launch.grid), std::end(launch.grid), pending.view.grid);
  std::copy(std::begin(launch.block), std::end(launch.block), pending.view.block);

  pending.counting = kernel.instrumented.counting;
  pending.begin = std::chrono::steady_clock::now();
  Result<std::shared_ptr<LaunchedWords>> counted_words =
      LaunchedWords::of(kernel.instrumented, kernel.attached->specifications, device, launch);
  if (!counted_words) return counted_words.error();
  pending.words = std::move(*counted_words);
  SharedParts parts;
  if (pending.counting != nullptr) parts.counters = pending.counting->plan->slots();
  if (pending.words != nullptr) {
    pending.view.shared_words = pending.words->shared_words();
    pending.view.device_words = pending.words->device_words();
    parts.shared_addresses = pending.words->shared_addresses();
    parts.word_map_bytes = pending.words->word_map().size();
  }
  Result<ProbeLayout> layout =
      lay_out(kernel.attached->specifications, extents_of(launch, pending.view), parts);
  if (!layout) return layout.error();
  pending.layout = std::move(*layout);
  const Result<std::uint64_t> address = device.allocate_zeroed(pending.layout.bytes, launch);
  if (!address) return address.error();
  const std::vector<std::uint64_t> words = probe_words(kernel.instrumented.probe, pending.layout, *address);
  if (configuration_.timing != Timing::off) {
    set_once(seen.timing.original, device.resources(launch, nullptr));
    set_once(seen.timing.variant, device.resources(launch, kernel.variant.get()));
  }
  Status launched = success();
  if (parts.word_map_bytes != 0)
    launched = device.write(*address + pending.layout.word_map.first, pending.words->word_map(), launch);
  if (launched) launched = device.launch(*kernel.variant, launch, kernel.instrumented.parameters, words);
  // The buffer is given back by the readback, also when the launch failed.
  Result<std::unique_ptr<device::Readback>> readback =
      device.read_back_and_free(*address, pending.layout.bytes, launch);
  if (!launched) return launched;
  if (!readback) {
    log().error("{}: launch {}: results are lost: {}", demangle(pending.seen->coverage.kernel), index,
                first_message(readback.error()));
    add_once(pending.seen->coverage.notes, "results lost: " + first_message(readback.error()));
    return success();
  }
  pending.readback = std::move(*readback);
  pending_bytes_ += pending.layout.bytes;
  pending_.push_back(std::move(pending));
  return success();
}

Status Session::time_original(Seen& seen, device::Device& device, const device::Launch& launch,
                              std::uint64_t index) {
  seen.timing.device = device.info().name;
  set_once(seen.timing.original, device.resources(launch, nullptr));
  Result<std::unique_ptr<device::Readback>> made = device.launch_original(launch);
  if (!made) return made.error();
  Pending pending;
  pending.seen = &seen;
  pending.launch = index;
  pending.readback = std::move(*made);
  pending_.push_back(std::move(pending));
  return success();
}

void Session::drain(bool wait) {
  while (!pending_.empty()) {
    Pending& front = pending_.front();
    const bool crowded =
        pending_bytes_ > outstanding_bytes_limit || pending_.size() > outstanding_launches_limit;
    if (!wait && !crowded && !front.readback->ready()) return;
    report(front);
    pending_bytes_ -= front.layout.bytes;
    pending_.pop_front();
  }
}

void Session::report(Pending& pending) {
  const Result<std::span<std::byte>> bytes = pending.readback->wait();
  if (!bytes) {
    log().error("{}: launch {}: {}", demangle(pending.seen->coverage.kernel), pending.launch,
                first_message(bytes.error()));
    add_once(pending.seen->coverage.notes, "results lost: " + first_message(bytes.error()));
    return;
  }
  if (const std::optional<double> milliseconds = pending.readback->kernel_milliseconds()) {
    pending.seen->timing.execute += *milliseconds;
    ++pending.seen->timing.launches;
  }
  if (const std::optional<double> milliseconds = pending.readback->buffer_milliseconds())
    pending.seen->timing.buffers = pending.seen->timing.buffers.value_or(0) + *milliseconds;
  if (configuration_.times_only()) return;
  if (pending.counting != nullptr) {
    fill_counted_arrays(pending, *bytes);
    // Where the device knows nothing, the time until the launch was seen to be over is an upper bound.
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - pending.begin;
    pending.counters_may_have_wrapped =
        engine::may_wrap(*pending.counting, pending.readback->most_milliseconds().value_or(passed.count()),
                         pending.device.clock_khz);
    pending.indices_may_have_wrapped =
        engine::may_wrap_indices(*pending.counting, pending.layout.counters_of(*bytes));
    pending.seen->wide_counters |= pending.counters_may_have_wrapped || pending.indices_may_have_wrapped;
  }
  if (pending.words != nullptr) {
    pending.seen->replays &= pending.words->finish(pending.layout, *bytes, pending.attached->specifications,
                                                   pending.view, pending.notes);
  }
  for (std::size_t i = 0; i < pending.attached->specifications.size(); ++i) {
    const bool is_sampled = pending.launch % pending.attached->specifications[i]->sampling().launches == 0;
    if (is_sampled) report_specification(pending, i, *bytes);
  }
}

void Session::fill_counted_arrays(const Pending& pending, std::span<std::byte> bytes) {
  std::vector<std::vector<std::span<std::byte>>> arrays;
  for (std::size_t i = 0; i < pending.layout.specifications.size(); ++i)
    arrays.push_back(pending.layout.arrays_of(i, bytes));
  ptx::LaunchedGrid launched{pending.layout.extents.threads, pending.layout.extents.warps};
  std::copy(std::begin(pending.view.grid), std::end(pending.view.grid), launched.blocks);
  engine::fill_counted_arrays(*pending.counting, pending.attached->specifications,
                              pending.layout.counters_of(bytes), launched, arrays);
}

void Session::report_specification(const Pending& pending, std::size_t index, std::span<std::byte> bytes) {
  report::LaunchRecord record;
  record.kernel = pending.seen->coverage.kernel;
  record.launch = pending.launch;
  record.device = pending.device.name;
  std::copy(std::begin(pending.view.grid), std::end(pending.view.grid), record.grid);
  std::copy(std::begin(pending.view.block), std::end(pending.view.block), record.block);
  record.spec = pending.attached->specifications[index]->name();

  cod::LaunchView view = pending.view;
  view.kernel = record.kernel;
  Seen::Sites& sites = pending.seen->sites[pending.sites];
  view.sites = sites.table.get();
  view.arrays = pending.layout.arrays_of(index, bytes);
  view.device = record.device;
  view.multiprocessors = pending.device.multiprocessors;
  view.compute_capability = static_cast<std::uint32_t>(pending.device.compute_capability);
  view.launch = pending.launch;
  view.host = pending.attached->host[index];
  pending.attached->has_launches = true;
  view.emit = [&](cod::Emitted emitted) { record.results.push_back(result_of(std::move(emitted))); };
  record.sampling =
      sampling_of(pending.attached->specifications[index]->samplings(record.kernel), record.notes);
  view.print = [&](std::string_view text) { record.notes.emplace_back(text); };
  if (std::ranges::any_of(pending.attached->specifications[index]->arrays(), cod::is_of_words))
    record.notes.insert(record.notes.end(), pending.notes[index].begin(), pending.notes[index].end());
  if (const Status ran = pending.attached->reports[index]->run(view); !ran) {
    const std::vector<std::string> mishaps = mishaps_of(ran.error());
    record.notes.insert(record.notes.end(), mishaps.begin(), mishaps.end());
  }
  if (pending.counters_may_have_wrapped && !pending.attached->specifications[index]->counters().empty()) {
    record.notes.emplace_back(
        "counts are an estimate: the launch may have run for so long that a counter wrapped; the kernel's "
        "next launches "
        "count in 64 bits");
  }
  if (pending.indices_may_have_wrapped && !pending.attached->specifications[index]->tallies().empty()) {
    record.notes.emplace_back(
        "sectors are an estimate: an array index of 32 bits may have wrapped around between the lanes of a "
        "warp; the kernel's next launches assume nothing about indices");
  }
  if (const std::uint64_t dropped = pending.layout.dropped(index, bytes); dropped != 0) {
    record.notes.push_back(std::to_string(dropped) + " accesses out of an array's bounds were dropped");
  }
  if (has_values_per_site(record)) {
    record.sites = pending.sites;
    if (!sites.written) sink_->sites(site_record(*sites.table, record.kernel, pending.sites));
    sites.written = true;
  }
  sink_->launch(record);
}

void Session::forget_image(std::uint64_t image) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, seen] : seen_) {
    std::erase_if(seen->kernels,
                  [&](const std::unique_ptr<Kernel>& kernel) { return kernel->image == image; });
  }
}

void Session::save_results(std::span<const device::Device* const> ending) {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  drain(true);
  for (const auto& [name, seen] : seen_) {
    std::erase_if(seen->kernels, [&](const std::unique_ptr<Kernel>& kernel) {
      return std::find(ending.begin(), ending.end(), kernel->device) != ending.end();
    });
  }
}

void Session::report_ends() {
  for (const std::shared_ptr<const Attached>& attached : ever_) {
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

void Session::finish() {
  const std::lock_guard lock(mutex_);
  if (finished_) return;
  drain(true);
  finished_ = true;
  if (!ever_attached_) return;
  report_ends();
  std::vector<const Seen*> sorted;
  for (const auto& [name, seen] : seen_) sorted.push_back(seen.get());
  std::sort(sorted.begin(), sorted.end(),
            [](const Seen* a, const Seen* b) { return a->coverage.kernel < b->coverage.kernel; });
  for (const Seen* seen : sorted) sink_->coverage(seen->coverage);
  for (const Seen* seen : sorted) {
    const bool has_times = seen->coverage.instrumented || seen->timing.launches != 0;
    if (configuration_.timing != Timing::off && has_times) sink_->timing(seen->timing);
  }
  sink_->finish();
}

void Session::dump(const std::string& name, const std::string& suffix, const std::string& text) const {
  if (configuration_.dump.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(configuration_.dump, error);
  const std::string path = configuration_.dump + "/" + name.substr(0, 200) + suffix;
  if (error || !write_file(path, text)) log().warn("cannot write {}", path);
}

}  // namespace lynxpp::interposer
