// The part of the session that compiles variants before a launch needs them, and lets launches run the
// original kernel meanwhile (LYNXPP_FIRST_LAUNCH).
#include <algorithm>
#include <chrono>
#include <utility>

#include "interposer/session/session.h"
#include "interposer/session/session_state.h"
#include "ptx/ir/directives.h"
#include "ptx/parser/parser.h"
#include "support/own_stack.h"

namespace lynxpp::interposer {
namespace {

/// A module with more kernels is a library; programs use few of its kernels.
constexpr std::size_t most_kernels_ahead = 16;
constexpr std::size_t longest_text_ahead = std::size_t{4} << 20;

/// A launch whose variant takes longer compiles it itself, in case the compiling thread is blocked.
constexpr std::chrono::seconds longest_wait(60);

constexpr const char* native_way = "made while the variant was being compiled (LYNXPP_FIRST_LAUNCH=native)";

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

}  // namespace

VariantsAhead::Key Session::key_of(const Seen& seen, const InstrumentedKernel& kernel) {
  return {kernel.device,         kernel.image, seen.coverage.kernel,
          kernel.attached.get(), kernel.shape, kernel.learned.wide_counters};
}

engine::Request Session::request_for(const Attached& attached, const device::Device& device,
                                     const std::string& text, std::string kernel,
                                     const Learned& learned) const {
  engine::Request request;
  request.ptx = &text;
  request.kernel = std::move(kernel);
  request.counting.wide = learned.wide_counters;
  request.words.scheme = configuration_.words;
  if (!learned.replays) request.limits.without.insert(ptx::Refinement::replayed_accesses);
  request.specifications = attached.specifications;
  request.streams_traces = streams_.is_on();
  request.device_sm = device.info().compute_capability;
  request.assembler_contracts = device.info().contracts;
  return request;
}

VariantsAhead::Job Session::job_for(VariantsAhead::Key key, std::shared_ptr<const Attached> attached,
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

void Session::compile_others(const Seen& seen, const InstrumentedKernel& kernel, const device::Launch& launch,
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
                      own = seen.coverage.kernel,
                      text = std::make_shared<const std::string>(text)]() -> VariantsAhead::Compiled {
    const Result<ptx::Module> module = ptx::parse_module(*text);
    if (!module) return {};
    const auto is_kernel = [](const ptx::Function& each) { return each.is_entry && !each.is_declaration(); };
    const auto kernels = std::ranges::count_if(module->functions, is_kernel);
    if (static_cast<std::size_t>(kernels) > most_kernels_ahead) return {};
    for (const ptx::Function& each : module->functions) {
      if (!is_kernel(each) || each.name == own) continue;
      const std::string name(each.name);
      {
        const State state(state_);
        if (!selects(name)) continue;
      }
      const Block likely = block_of(*module, each, block);
      VariantsAhead::Key key{device, image, name, attached.get(), engine::shape_of(likely.size), false};
      key.wide_counters = configuration_.counters == CounterWidth::wide;
      ahead_->add(key, job_for(key, attached, *device, text, likely.size), false);
    }
    return {};
  };
  ahead_->add(all, std::move(find_others), false);
}

bool Session::runs_original(State& state, Seen& seen, const InstrumentedKernel& kernel,
                            const device::Launch& launch, const KernelSource& source) {
  if (configuration_.first_launch != FirstLaunch::native || ahead_ == nullptr) return false;
  const VariantsAhead::Key key = key_of(seen, kernel);
  switch (ahead_->state_of(key)) {
    case VariantsAhead::State::done: return false;
    case VariantsAhead::State::unknown: {
      state.unlock();
      Result<KernelPtx> found = source.ptx();
      if (found) {
        auto text = std::make_shared<const std::string>(std::move(found->text));
        ahead_->add(key, job_for(key, kernel.attached, *kernel.device, text, launch.block), true);
        compile_others(seen, kernel, launch, *text);
      } else {
        // A later launch reports why.
        ahead_->add(
            key, [] { return VariantsAhead::Compiled(); }, true);
      }
      state.lock();
      break;
    }
    case VariantsAhead::State::waiting:
    case VariantsAhead::State::running: break;
  }
  ++seen.natively[native_way];
  if (seen.coverage.instrumented_launches == 0)
    seen.coverage.reason = std::string("its launches were ") + native_way;
  return true;
}

Result<std::unique_ptr<device::Variant>> Session::load(const Seen& seen, const InstrumentedKernel& kernel,
                                                       const device::Launch& launch) {
  const engine::Instrumented& made = kernel.instrumented;
  if (ahead_ != nullptr) {
    VariantsAhead::Compiled compiled = ahead_->take(key_of(seen, kernel), longest_wait);
    if (compiled.variant != nullptr && compiled.ptx == made.ptx) {
      return kernel.device->load_compiled(std::move(compiled.variant), made.ptx, made.kernel, launch,
                                          made.traits);
    }
  }
  return kernel.device->load(made.ptx, made.kernel, launch, made.traits);
}

void Session::stop_compiling() {
  if (ahead_ == nullptr) return;
  ahead_->stop({});
  // The driver ends with the process, and its compiler with it.
  ahead_->discard([](const VariantsAhead::Key& key) { return key.device->info().compiles_slowly; },
                  configuration_.patience);
}

}  // namespace lynxpp::interposer
