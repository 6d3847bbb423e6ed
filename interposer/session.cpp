#include "interposer/session.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "interposer/allocations.h"
#include "interposer/launch_shape.h"
#include "interposer/session_state.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

report::KernelResources record_of(const device::KernelResources& resources) {
  return {resources.registers,     resources.local_bytes,  resources.shared_bytes,
          resources.blocks_per_sm, resources.warps_per_sm, resources.most_warps_per_sm};
}

void set_once(std::optional<report::KernelResources>& slot,
              const std::optional<device::KernelResources>& found) {
  if (!slot && found) slot = record_of(*found);
}

}  // namespace

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
  const std::unique_lock launching = enter();
  const std::lock_guard state(state_);
  attached_ = attached->specifications.empty() ? nullptr : attached;
  ever_attached_ |= attached_ != nullptr;
  const auto has_end = [](const auto& report) { return report->has_end(); };
  if (std::any_of(attached->reports.begin(), attached->reports.end(), has_end)) ever_.push_back(attached);
  return true;
}

bool Session::attached() {
  const std::lock_guard state(state_);
  return attached_ != nullptr && !finished_;
}

std::unique_lock<OwnedMutex> Session::enter() {
  constexpr std::chrono::milliseconds step(50);
  std::unique_lock launching(launching_, std::defer_lock);
  while (!launching.try_lock_for(step)) {
    // Whoever holds it may never come back: the program was ended inside of its launch.
    if (finished_) return {};
  }
  if (finished_) return {};
  return launching;
}

bool Session::launch(device::Device& device, const device::Launch& launch, const KernelSource& source) {
  const std::unique_lock launching = enter();
  if (!launching) return false;
  const std::lock_guard state(state_);
  if (attached_ == nullptr) return false;
  has_seen_launches_ = true;
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
  log_allocations(device);
  if (configuration_.timing == Timing::originals) {
    coverage.reason = "its original was timed";
    const Status timed = time_original(known, device, launch, index);
    drain(false);
    return timed.ok();
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
  drain(false);  // on the cpu device this launch's results, else those of launches that are over by now
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
    const Diagnostics& diagnostics = prepared.error().diagnostics;
    const bool has_hint = !diagnostics.empty() && !diagnostics.front().hint.empty();
    if (std::exchange(seen.logged_problem, slot->problem) != slot->problem) {
      log().warn("{} runs uninstrumented: {}{}", demangle(source.name), slot->problem,
                 has_hint ? "; " + diagnostics.front().hint : "");
    }
  }
  return *slot;
}

Status Session::prepare(Seen& seen, Kernel& kernel, device::Device& device, const device::Launch& launch,
                        const KernelSource& source) {
  const Result<std::string> text = away(source.ptx);
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
  Result<engine::Instrumented> instrumented = away([&] { return engine::instrument(request); });
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
  Result<std::unique_ptr<device::Variant>> variant = away([&] {
    return device.load(kernel.instrumented.ptx, kernel.instrumented.kernel, launch,
                       kernel.instrumented.kept_registers);
  });
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
  ++seen.outstanding;
  if (launched) {
    launched =
        away([&] { return device.launch(*kernel.variant, launch, kernel.instrumented.parameters, words); });
  }
  // The buffer is given back by the readback, also when the launch failed.
  Result<std::unique_ptr<device::Readback>> readback =
      device.read_back_and_free(*address, pending.layout.bytes, launch);
  if (!launched || !readback) --seen.outstanding;
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
  ++seen.outstanding;
  Result<std::unique_ptr<device::Readback>> made = away([&] { return device.launch_original(launch); });
  if (!made) --seen.outstanding;
  if (!made) return made.error();
  Pending pending;
  pending.seen = &seen;
  pending.launch = index;
  pending.readback = std::move(*made);
  pending_.push_back(std::move(pending));
  return success();
}

void Session::forget_image(std::uint64_t image) {
  const std::unique_lock launching = enter();
  if (!launching) return;
  const std::lock_guard state(state_);
  for (const auto& [name, seen] : seen_) {
    std::erase_if(seen->kernels,
                  [&](const std::unique_ptr<Kernel>& kernel) { return kernel->image == image; });
  }
}

void Session::dump(const std::string& name, const std::string& suffix, const std::string& text) const {
  if (configuration_.dump.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(configuration_.dump, error);
  const std::string path = configuration_.dump + "/" + name.substr(0, 200) + suffix;
  if (error || !write_file(path, text)) log().warn("cannot write {}", path);
}

}  // namespace lynxpp::interposer
