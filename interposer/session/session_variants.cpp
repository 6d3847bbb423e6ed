// The part of the session that creates variants. No lock is held while the compiler works.
#include <chrono>
#include <utility>

#include "interposer/ptx_parts.h"
#include "interposer/session/session.h"
#include "interposer/session/session_state.h"
#include "report/kernel_name.h"
#include "support/log.h"
#include "support/own_stack.h"
#include "support/text.h"

namespace lynxpp::interposer {

void Session::make(Seen& seen, InstrumentedKernel& kernel, const device::Launch& launch,
                   const KernelSource& source) {
  Status prepared = success();
  try {
    const bool has_stack =
        run_with_stack(compilers_stack, [&] { prepared = prepare(seen, kernel, launch, source); });
    if (!has_stack) prepared = failure("not enough memory for the compiler's stack");
  } catch (const std::exception& error) {
    prepared = failure(std::string("internal failure: ") + error.what());
  }
  if (prepared) return;
  kernel.problem = first_message(prepared.error());
  const Diagnostics& diagnostics = prepared.error().diagnostics;
  const bool has_hint = !diagnostics.empty() && !diagnostics.front().hint.empty();
  bool is_new = false;
  {
    const State state(state_);
    is_new = warned_problems_.insert(kernel.problem).second;
  }
  // Many kernels of a program share one problem: the report counts them.
  constexpr std::size_t most_characters = 60;
  const std::string name = report::short_kernel_name(demangle(seen.coverage.kernel), most_characters);
  if (!is_new) return log().info("{} runs uninstrumented: {}", name, kernel.problem);
  log().warn("{} runs uninstrumented: {}{}", name, kernel.problem,
             has_hint ? "; " + diagnostics.front().hint : "");
}

Status Session::prepare(Seen& seen, InstrumentedKernel& kernel, const device::Launch& launch,
                        const KernelSource& source) {
  device::Device& device = *kernel.device;
  kernel.device_record = std::make_shared<const report::DeviceRecord>(record_of(device));
  const Result<KernelPtx> found = source.ptx();
  kernel.lacks_ptx = !found;
  if (!found) return found.error();
  const std::string* const text = &found->text;
  dump_.original(seen.coverage.kernel, *text, kernel.dumped);
  compile_others(seen, kernel, launch, *text);
  engine::Request request =
      request_for(*kernel.attached, device, *text, std::string(source.name), kernel.learned);
  request.launch = kernel.shape;
  request.variable_address = [&](const std::string& name) { return device.variable_address(launch, name); };
  request.inspection.wants_registers = configuration_.timeline || log().shows(LogLevel::debug);
  if (Status made = make_best_variant(seen, kernel, launch, request); !made) return made;
  if (const Status replays = check_replay(kernel, launch); !replays) {
    log().debug("{}: all accesses have probes: {}", demangle(seen.coverage.kernel),
                first_message(replays.error()));
    learn(seen, {false, false});
    kernel.learned.replays = false;
    request.limits.without.insert(ptx::Refinement::replayed_accesses);
    kernel.variant = nullptr;
    kernel.instrumented = {};
    if (Status made = make_best_variant(seen, kernel, launch, request); !made) return made;
  }
  log().info("{}: instrumented, {} basic blocks", demangle(seen.coverage.kernel),
             kernel.instrumented.size.basic_blocks);
  if (const auto& registers = kernel.instrumented.size.registers) {
    log().debug("{}: live registers {} to {} (estimate)", demangle(seen.coverage.kernel), registers->original,
                registers->instrumented);
  }

  note_made(seen, kernel, request, *found);
  return success();
}

/// Makes the variant with counters in shared memory if they have room, otherwise without.
Status Session::make_best_variant(Seen& seen, InstrumentedKernel& kernel, const device::Launch& launch,
                                  engine::Request& request) {
  if (make_with_spare_counters(seen, kernel, launch, request)) return success();
  if (Status loaded = make_variant(seen, kernel, launch, request); !loaded) {
    // ptxas 13.0 may find no registers for kernels that call handlers, yet succeed with inlined copies of the
    // same handlers.
    request.limits = engine::without_functions(request.limits);
    const std::string refused = std::exchange(kernel.instrumented.ptx, {});
    if (refused.empty() || !make_variant(seen, kernel, launch, request, refused)) return loaded;
  }
  return keep_occupancy(seen, kernel, launch, request);
}

/// Fails if replay cannot follow the first launch: its counts would be too low.
Status Session::check_replay(const InstrumentedKernel& kernel, const device::Launch& launch) {
  if (kernel.instrumented.words == nullptr) return success();
  const Result<std::shared_ptr<const LaunchedWords>> words = LaunchedWords::of(
      kernel.instrumented, kernel.attached->specifications, *kernel.device, launch, nullptr);
  return words ? (*words)->check_replay() : Status(words.error());
}

/// Records a newly created variant in coverage.
void Session::note_made(Seen& seen, const InstrumentedKernel& kernel, const engine::Request& request,
                        const KernelPtx& ptx) {
  std::shared_ptr<const std::vector<report::SitesRecord::PtxPart>> parts;
  if (configuration_.ptx && kernel.instrumented.sites != nullptr) {
    parts = std::make_shared<const std::vector<report::SitesRecord::PtxPart>>(
        ptx_parts(ptx.text, *kernel.instrumented.sites));
  }
  const State state(state_);
  if (parts != nullptr) seen.sites[kernel.sites].ptx = std::move(parts);
  report::CoverageRecord& coverage = seen.coverage_of(*kernel.attached);
  coverage.ptx_origin = ptx.origin;
  for (const std::string& note : kernel.instrumented.notes) add_once(coverage.notes, note);
  coverage.sites = 0;
  for (const std::uint64_t sites : kernel.instrumented.sites_per_handler) coverage.sites += sites;
  if (coverage.sites != 0) {
    for (const std::string& name : engine::idle_specifications(request, kernel.instrumented))
      add_once(coverage.notes, "no site in this kernel matches '" + name + "'");
  }
}

/// Returns false if the kernel counts no words of shared memory, if its scheme specifies where, or if there
/// is no room.
bool Session::make_with_spare_counters(Seen& seen, InstrumentedKernel& kernel, const device::Launch& launch,
                                       engine::Request request) {
  const std::optional<cod::WordScheme> spare = request.words.scheme.spare_counters();
  const bool is_asked = spare && LaunchedWords::count_shared_memory(kernel.attached->specifications);
  if (!is_asked || !kernel.device->resident_blocks(launch, nullptr)) return false;
  request.words.scheme = *spare;
  request.words.is_spare = true;
  const Status made = make_variant(seen, kernel, launch, request);
  const Result<std::string> obstacle =
      made ? obstacle_to_block_counters(kernel, launch) : Result<std::string>(made.error());
  if (obstacle && obstacle->empty()) return true;
  log().debug("{}: counters of shared memory stay in device memory: {}", demangle(seen.coverage.kernel),
              obstacle ? *obstacle : first_message(obstacle.error()));
  kernel.variant = nullptr;
  kernel.instrumented = {};
  return false;
}

/// Returns why the variant's counters cannot be in shared memory: an SM would hold fewer thread blocks with
/// them. Empty: it would not, or there are no counters.
Result<std::string> Session::obstacle_to_block_counters(const InstrumentedKernel& kernel,
                                                        const device::Launch& launch) {
  device::Device& device = *kernel.device;
  Result<std::shared_ptr<const LaunchedWords>> words =
      LaunchedWords::of(kernel.instrumented, kernel.attached->specifications, device, launch, nullptr);
  if (!words) return words.error();
  if (*words == nullptr || (*words)->block_counters().dynamic_bytes == 0) return std::string();
  device::Launch larger = launch;
  (*words)->add_block_counters(larger);
  const std::optional<std::uint32_t> before = device.resident_blocks(launch, nullptr);
  const std::optional<std::uint32_t> after = device.resident_blocks(larger, kernel.variant.get());
  if (!before || !after) return std::string("the device's occupancy is unknown");
  if (*after >= *before && *after > 0) return std::string();
  return "with them an SM would hold " + std::to_string(*after) + " thread blocks instead of " +
         std::to_string(*before);
}

/// Puts the counters that the scheme requests into shared memory if there is room, else into device memory.
Status Session::keep_occupancy(Seen& seen, InstrumentedKernel& kernel, const device::Launch& launch,
                               engine::Request& request) {
  const Result<std::string> obstacle = obstacle_to_block_counters(kernel, launch);
  if (!obstacle) return obstacle.error();
  if (obstacle->empty()) return success();
  request.words.scheme.shared_bits = 0;
  kernel.variant = nullptr;
  if (Status made = make_variant(seen, kernel, launch, request); !made) return made;
  kernel.instrumented.notes.push_back("counters of shared memory stay in device memory: " + *obstacle);
  return success();
}

Status Session::make_variant(Seen& seen, InstrumentedKernel& kernel, const device::Launch& launch,
                             const engine::Request& request, const std::string& refused) {
  Result<engine::Instrumented> instrumented = engine::instrument(request);
  if (!instrumented) return instrumented.error();
  if (instrumented->ptx == refused) return failure("the same PTX has been refused before");
  kernel.instrumented = std::move(*instrumented);
  dump_.instrumented(kernel.instrumented.ptx, kernel.dumped);
  if (share_variant(seen, kernel)) return success();
  const auto begin = std::chrono::steady_clock::now();
  Result<std::unique_ptr<device::Variant>> variant = load(seen, kernel, launch);
  const std::chrono::duration<double, std::milli> load = std::chrono::steady_clock::now() - begin;
  const State state(state_);
  seen.timing.load += load.count();
  if (!variant) return variant.error();
  kernel.variant = std::move(*variant);
  return success();
}

bool Session::share_variant(Seen& seen, InstrumentedKernel& kernel) {
  const State state(state_);
  kernel.sites = seen.index_of(kernel.instrumented.sites);
  report::TimingRecord& timing = seen.timing;
  timing.parse += kernel.instrumented.spent.parse_ms;
  timing.instrument += kernel.instrumented.spent.instrument_ms;
  timing.emit += kernel.instrumented.spent.emit_ms;
  timing.device = kernel.device->info().name;
  const auto same = std::ranges::find_if(seen.kernels, [&](const KernelPtr& other) {
    return other->is_made && other->variant != nullptr && other->device == kernel.device &&
           other->image == kernel.image && other->instrumented.ptx == kernel.instrumented.ptx;
  });
  if (same == seen.kernels.end()) return false;
  kernel.variant = (*same)->variant;
  return true;
}

}  // namespace lynxpp::interposer
