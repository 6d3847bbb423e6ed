#include "interposer/session/variant_maker.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "interposer/ptx_parts.h"
#include "ptx/ir/directives.h"
#include "ptx/parser/parser.h"
#include "report/kernel_name.h"
#include "support/log.h"
#include "support/own_stack.h"
#include "support/text.h"

namespace lynxpp::interposer {
namespace {

/// A module with more kernels is a library; programs use few of its kernels.
constexpr std::size_t most_kernels_ahead = 16;
constexpr std::size_t longest_text_ahead = std::size_t{4} << 20;

/// A launch whose variant takes longer compiles it itself, in case the compiling thread is blocked.
constexpr std::chrono::seconds longest_wait(60);

struct Block {
  std::uint32_t size[3] = {1, 1, 1};
};

/// Returns the block size that the kernel requires, else `otherwise`.
Block block_of(const ptx::Module& module, const ptx::Function& kernel, const Block& otherwise) {
  const std::vector<std::uint32_t> required = ptx::directive_values(module, kernel, ".reqntid");
  if (required.empty()) return otherwise;
  Block block;
  std::copy_n(required.begin(), std::min<std::size_t>(required.size(), 3), block.size);
  return block;
}

unsigned compiling_threads() {
  constexpr unsigned most = 4;
  return std::clamp(std::thread::hardware_concurrency() / 2, 1U, most);
}

}  // namespace

VariantMaker::VariantMaker(const Configuration& configuration, bool compiles_ahead, VariantCache& variants,
                           Selects selects)
    : configuration_(configuration),
      streams_traces_(!configuration.times_only() && !configuration.trace.empty()),
      variants_(variants),
      selects_(std::move(selects)),
      dump_(configuration.dump),
      ahead_(compiles_ahead ? std::make_unique<VariantsAhead>(compiling_threads()) : nullptr) {}

void VariantMaker::forget(const std::function<bool(const VariantsAhead::Key&)>& is_chosen,
                          std::chrono::milliseconds patience) {
  if (ahead_ != nullptr) ahead_->discard(is_chosen, patience);
}

Learned VariantMaker::make(InstrumentedKernel& kernel, const device::Launch& launch,
                           const KernelSource& source) {
  kernel.name = source.name;
  Learned learned = kernel.learned;
  Status prepared = success();
  try {
    const bool has_stack =
        run_with_stack(compilers_stack, [&] { prepared = prepare(kernel, launch, source, learned); });
    if (!has_stack) prepared = failure("not enough memory for the compiler's stack");
  } catch (const std::exception& error) {
    prepared = failure(std::string("internal failure: ") + error.what());
  }
  if (!prepared) note_problem(kernel, prepared.error());
  return learned;
}

void VariantMaker::note_problem(InstrumentedKernel& kernel, const Failure& failure) {
  kernel.problem = first_message(failure);
  const Diagnostics& diagnostics = failure.diagnostics;
  const bool has_hint = !diagnostics.empty() && !diagnostics.front().hint.empty();
  bool is_new = false;
  {
    const Lock lock(mutex_);
    is_new = warned_problems_.insert(kernel.problem).second;
  }
  // Many kernels of a program share one problem: the report counts them.
  constexpr std::size_t most_characters = 60;
  const std::string name = report::short_kernel_name(demangle(kernel.name), most_characters);
  if (!is_new) return log().info("{} runs uninstrumented: {}", name, kernel.problem);
  log().warn("{} runs uninstrumented: {}{}", name, kernel.problem,
             has_hint ? "; " + diagnostics.front().hint : "");
}

Status VariantMaker::prepare(InstrumentedKernel& kernel, const device::Launch& launch,
                             const KernelSource& source, Learned& learned) {
  device::Device& device = *kernel.device;
  kernel.device_record = std::make_shared<const report::DeviceRecord>(record_of(device));
  const Result<KernelPtx> found = source.ptx();
  kernel.lacks_ptx = !found;
  if (!found) return found.error();
  const std::string* const text = &found->text;
  dump_.original(kernel.name, *text, kernel.dumped);
  compile_others(kernel, launch, *text);
  engine::Request request = request_for(*kernel.attached, device, *text, kernel.name, learned);
  request.launch = kernel.shape;
  request.variable_address = [&](const std::string& name) { return device.variable_address(launch, name); };
  request.inspection.wants_registers = configuration_.timeline || log().shows(LogLevel::debug);
  if (Status made = make_best_variant(kernel, launch, request); !made) return made;
  if (const Status replays = check_replay(kernel, launch); !replays) {
    log().debug("{}: all accesses have probes: {}", demangle(kernel.name), first_message(replays.error()));
    learned.replays = false;
    request.limits.without.insert(ptx::Refinement::replayed_accesses);
    kernel.variant = nullptr;
    kernel.instrumented = {};
    if (Status made = make_best_variant(kernel, launch, request); !made) return made;
  }
  log().info("{}: instrumented, {} basic blocks", demangle(kernel.name),
             kernel.instrumented.size.basic_blocks);
  if (const auto& registers = kernel.instrumented.size.registers) {
    log().debug("{}: live registers {} to {} (estimate)", demangle(kernel.name), registers->original,
                registers->instrumented);
  }
  kernel.ptx_origin = found->origin;
  kernel.idle = engine::idle_specifications(request, kernel.instrumented);
  if (configuration_.ptx && kernel.instrumented.sites != nullptr) {
    kernel.ptx = std::make_shared<const std::vector<report::SitesRecord::PtxPart>>(
        ptx_parts(*text, *kernel.instrumented.sites));
  }
  return success();
}

/// Makes the variant with counters in shared memory if they have room, otherwise without.
Status VariantMaker::make_best_variant(InstrumentedKernel& kernel, const device::Launch& launch,
                                       engine::Request& request) {
  if (make_with_spare_counters(kernel, launch, request)) return success();
  if (Status loaded = make_variant(kernel, launch, request); !loaded) {
    // ptxas 13.0 may find no registers for kernels that call handlers, yet succeed with inlined copies of the
    // same handlers.
    request.limits = engine::without_functions(request.limits);
    const std::string refused = std::exchange(kernel.instrumented.ptx, {});
    if (refused.empty() || !make_variant(kernel, launch, request, refused)) return loaded;
  }
  return keep_occupancy(kernel, launch, request);
}

/// Fails if replay cannot follow the first launch: its counts would be too low.
Status VariantMaker::check_replay(const InstrumentedKernel& kernel, const device::Launch& launch) {
  if (kernel.instrumented.words == nullptr) return success();
  const Result<std::shared_ptr<const LaunchedWords>> words = LaunchedWords::of(
      kernel.instrumented, kernel.attached->specifications, *kernel.device, launch, nullptr);
  return words ? (*words)->check_replay() : Status(words.error());
}

/// Returns false if the kernel counts no words of shared memory, if its scheme specifies where, or if there
/// is no room.
bool VariantMaker::make_with_spare_counters(InstrumentedKernel& kernel, const device::Launch& launch,
                                            engine::Request request) {
  const std::optional<cod::WordScheme> spare = request.words.scheme.spare_counters();
  const bool is_asked = spare && LaunchedWords::count_shared_memory(kernel.attached->specifications);
  if (!is_asked || !kernel.device->resident_blocks(launch, nullptr)) return false;
  request.words.scheme = *spare;
  request.words.is_spare = true;
  const Status made = make_variant(kernel, launch, request);
  const Result<std::string> obstacle =
      made ? obstacle_to_block_counters(kernel, launch) : Result<std::string>(made.error());
  if (obstacle && obstacle->empty()) return true;
  log().debug("{}: counters of shared memory stay in device memory: {}", demangle(kernel.name),
              obstacle ? *obstacle : first_message(obstacle.error()));
  kernel.variant = nullptr;
  kernel.instrumented = {};
  return false;
}

/// Returns why the variant's counters cannot be in shared memory: an SM would hold fewer thread blocks with
/// them. Empty: it would not, or there are no counters.
Result<std::string> VariantMaker::obstacle_to_block_counters(const InstrumentedKernel& kernel,
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
Status VariantMaker::keep_occupancy(InstrumentedKernel& kernel, const device::Launch& launch,
                                    engine::Request& request) {
  const Result<std::string> obstacle = obstacle_to_block_counters(kernel, launch);
  if (!obstacle) return obstacle.error();
  if (obstacle->empty()) return success();
  request.words.scheme.shared_bits = 0;
  kernel.variant = nullptr;
  if (Status made = make_variant(kernel, launch, request); !made) return made;
  kernel.instrumented.notes.push_back("counters of shared memory stay in device memory: " + *obstacle);
  return success();
}

Status VariantMaker::make_variant(InstrumentedKernel& kernel, const device::Launch& launch,
                                  const engine::Request& request, const std::string& refused) {
  Result<engine::Instrumented> instrumented = engine::instrument(request);
  if (!instrumented) return instrumented.error();
  if (instrumented->ptx == refused) return failure("the same PTX has been refused before");
  kernel.instrumented = std::move(*instrumented);
  dump_.instrumented(kernel.instrumented.ptx, kernel.dumped);
  const engine::TimeSpent& spent = kernel.instrumented.spent;
  kernel.spent.parse += spent.parse_ms;
  kernel.spent.instrument += spent.instrument_ms;
  kernel.spent.emit += spent.emit_ms;
  kernel.variant = variants_.same_text(kernel);
  if (kernel.variant != nullptr) return success();
  const auto begin = std::chrono::steady_clock::now();
  Result<std::unique_ptr<device::Variant>> variant = load(kernel, launch);
  kernel.spent.load +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!variant) return variant.error();
  kernel.variant = std::move(*variant);
  return success();
}

VariantsAhead::Key VariantMaker::key_of(const InstrumentedKernel& kernel) {
  return {kernel.device,         kernel.image, kernel.name,
          kernel.attached.get(), kernel.shape, kernel.learned.wide_counters};
}

engine::Request VariantMaker::request_for(const Attached& attached, const device::Device& device,
                                          const std::string& text, std::string kernel,
                                          const Learned& learned) const {
  engine::Request request;
  request.ptx = &text;
  request.kernel = std::move(kernel);
  request.counting.wide = learned.wide_counters;
  request.words.scheme = configuration_.words;
  if (!learned.replays) request.limits.without.insert(ptx::Refinement::replayed_accesses);
  request.specifications = attached.specifications;
  request.streams_traces = streams_traces_;
  request.device_sm = device.info().compute_capability;
  request.assembler_contracts = device.info().contracts;
  return request;
}

VariantsAhead::Job VariantMaker::job_for(VariantsAhead::Key key, std::shared_ptr<const Attached> attached,
                                         device::Device& device, std::shared_ptr<const std::string> text,
                                         const std::uint32_t (&block)[3]) const {
  device::Launch launch;
  std::ranges::copy(block, launch.block);
  return [this, key = std::move(key), attached = std::move(attached), &device, text = std::move(text),
          launch]() -> VariantsAhead::Compiled {
    VariantsAhead::Compiled compiled;
    run_with_stack(compilers_stack, [&] {
      Learned learned;
      learned.wide_counters = key.wide_counters;
      engine::Request request = request_for(*attached, device, *text, key.kernel, learned);
      request.launch = key.shape;
      // No text contains the addresses: the variant gets them when it is loaded.
      request.variable_address = [](const std::string&) { return std::optional<std::uint64_t>(0); };
      const std::optional<cod::WordScheme> spare = request.words.scheme.spare_counters();
      if (spare && attached->counts_shared_memory) {
        request.words.scheme = *spare;
        request.words.is_spare = true;
      }
      Result<engine::Instrumented> made = engine::instrument(request);
      if (!made) return;
      Result<std::unique_ptr<device::Variant>> variant = device.compile(made->ptx, made->kernel, launch);
      if (variant) compiled = {std::move(made->ptx), std::move(*variant)};
    });
    return compiled;
  };
}

void VariantMaker::compile_others(const InstrumentedKernel& kernel, const device::Launch& launch,
                                  const std::string& text) {
  constexpr std::string_view entry = ".entry";
  const bool is_worth_it = kernel.device->info().compiles_slowly && configuration_.timing == Timing::off;
  if (ahead_ == nullptr || !is_worth_it || text.size() > longest_text_ahead) return;
  const std::size_t first = text.find(entry);
  if (first == std::string::npos || text.find(entry, first + 1) == std::string::npos) return;
  const VariantsAhead::Key all{kernel.device, kernel.image, "", kernel.attached.get(), {}, false};
  if (ahead_->state_of(all) != VariantsAhead::State::unknown) return;
  Block block;
  std::ranges::copy(launch.block, block.size);
  auto find_others = [this, block, attached = kernel.attached, device = kernel.device, image = kernel.image,
                      own = kernel.name,
                      text = std::make_shared<const std::string>(text)]() -> VariantsAhead::Compiled {
    const Result<ptx::Module> module = ptx::parse_module(*text);
    if (!module) return {};
    const auto is_kernel = [](const ptx::Function& each) { return each.is_entry && !each.is_declaration(); };
    const auto kernels = std::ranges::count_if(module->functions, is_kernel);
    if (static_cast<std::size_t>(kernels) > most_kernels_ahead) return {};
    for (const ptx::Function& each : module->functions) {
      if (!is_kernel(each) || each.name == own) continue;
      const std::string name(each.name);
      if (!selects_(name)) continue;
      const Block likely = block_of(*module, each, block);
      VariantsAhead::Key key{device, image, name, attached.get(), engine::shape_of(likely.size), false};
      key.wide_counters = configuration_.counters == CounterWidth::wide;
      ahead_->add(key, job_for(key, attached, *device, text, likely.size), false);
    }
    return {};
  };
  ahead_->add(all, std::move(find_others), false);
}

bool VariantMaker::runs_original(const VariantCache::Wanted& wanted, const device::Launch& launch,
                                 const KernelSource& source) {
  if (configuration_.first_launch != FirstLaunch::native || ahead_ == nullptr) return false;
  InstrumentedKernel kernel;
  kernel.name = source.name;
  kernel.device = wanted.device;
  kernel.image = wanted.image;
  kernel.attached = wanted.attached;
  kernel.shape = wanted.shape;
  kernel.learned = wanted.learned;
  const VariantsAhead::Key key = key_of(kernel);
  switch (ahead_->state_of(key)) {
    case VariantsAhead::State::done: return false;
    case VariantsAhead::State::waiting:
    case VariantsAhead::State::running: return true;
    case VariantsAhead::State::unknown: break;
  }
  Result<KernelPtx> found = source.ptx();
  if (found) {
    auto text = std::make_shared<const std::string>(std::move(found->text));
    ahead_->add(key, job_for(key, kernel.attached, *kernel.device, text, launch.block), true);
    compile_others(kernel, launch, *text);
  } else {
    // A later launch reports why.
    ahead_->add(
        key, [] { return VariantsAhead::Compiled(); }, true);
  }
  return true;
}

Result<std::unique_ptr<device::Variant>> VariantMaker::load(const InstrumentedKernel& kernel,
                                                            const device::Launch& launch) {
  const engine::Instrumented& made = kernel.instrumented;
  if (ahead_ != nullptr) {
    VariantsAhead::Compiled compiled = ahead_->take(key_of(kernel), longest_wait);
    if (compiled.variant != nullptr && compiled.ptx == made.ptx) {
      return kernel.device->load_compiled(std::move(compiled.variant), made.ptx, made.kernel, launch,
                                          made.traits);
    }
  }
  return kernel.device->load(made.ptx, made.kernel, launch, made.traits);
}

void VariantMaker::stop() {
  if (ahead_ == nullptr) return;
  ahead_->stop({});
  // The driver ends with the process, and its compiler with it.
  ahead_->discard([](const VariantsAhead::Key& key) { return key.device->info().compiles_slowly; },
                  configuration_.patience);
}

}  // namespace lynxpp::interposer
