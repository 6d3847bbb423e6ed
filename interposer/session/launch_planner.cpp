#include "interposer/session/launch_planner.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "interposer/results/tensor_copy_sizes.h"

namespace lynxpp::interposer {
namespace {

using State = KnownKernels::State;

/// Plans per variant: programs that keep changing a kernel's grid must not fill memory.
constexpr std::size_t most_plans = 8;

/// Returns a kernel that is not instrumented for this reason.
KernelPtr deferred() {
  auto kernel = std::make_shared<InstrumentedKernel>();
  kernel->is_made = true;
  kernel->problem = "launched at most twice, after variants had taken the compile budget";
  return kernel;
}

}  // namespace

// ---- variants

bool LaunchPlanner::is_deferred(const Seen& seen, const device::Device& device) const {
  // Autotuners launch each of many candidates, which have the same name, once or twice.
  constexpr std::uint64_t hardly_launched = 2;
  constexpr std::size_t few_of_a_name = 3;
  constexpr double share_of_candidates = 0.2;
  const bool may_be_candidate = kernels_.modules_of_name(seen.name) > few_of_a_name;
  const bool is_exhausted =
      configuration_.compile_budget &&
      variants_.making() >= *configuration_.compile_budget * (may_be_candidate ? share_of_candidates : 1.0);
  // Runs on the cpu device repeat exactly: what they measure must not depend on time.
  return is_exhausted && seen.coverage.launches <= hardly_launched && device.info().name != "cpu";
}

KernelPtr LaunchPlanner::kernel_for(Seen& seen, const std::shared_ptr<const Attached>& attached,
                                    device::Device& device, const device::Launch& launch,
                                    const KernelSource& source) {
  State state(kernels_);
  const VariantCache::Wanted wanted = {
      &seen,    &device,     source.image, engine::shape_of(launch.block), room_of(*attached, launch),
      attached, seen.learned};
  const VariantCache::Known known = variants_.known(wanted);
  if (known == VariantCache::Known::no && is_deferred(seen, device)) return deferred();
  state.unlock();
  if (known != VariantCache::Known::yes && maker_.runs_original(wanted, launch, source)) {
    state.lock();
    const std::string way = "made while the variant was being compiled (LYNXPP_FIRST_LAUNCH=native)";
    ++seen.natively[way];
    if (seen.coverage.instrumented_launches == 0) seen.coverage.reason = "its launches were " + way;
    return nullptr;
  }
  return variants_.get(wanted, [&](InstrumentedKernel& made) {
    const Learned learned = maker_.make(made, launch, source);
    note_made(seen, made, learned);
    return learned;
  });
}

void LaunchPlanner::note_made(Seen& seen, InstrumentedKernel& kernel, const Learned& learned) {
  std::vector<PlanPtr> outdated;  // unloaded after the lock is released
  const State state(kernels_);
  report::TimingRecord& timing = seen.timing;
  timing.device = kernel.device->info().name;
  timing.parse += kernel.spent.parse;
  timing.instrument += kernel.spent.instrument;
  timing.emit += kernel.spent.emit;
  timing.load += kernel.spent.load;
  seen.learned.replays &= learned.replays;
  drop_plans(seen, outdated, [&](const InstrumentedKernel& each) { return !variants_.holds(seen, each); });
  if (!kernel.problem.empty()) return;
  kernel.sites = seen.index_of(kernel.instrumented.sites);
  if (kernel.ptx != nullptr) seen.sites[kernel.sites].ptx = kernel.ptx;
  report::CoverageRecord& coverage = seen.coverage_of(*kernel.attached);
  coverage.ptx_origin = kernel.ptx_origin;
  for (const std::string& note : kernel.instrumented.notes) add_once(coverage.notes, note);
  coverage.sites = 0;
  for (const std::uint64_t sites : kernel.instrumented.sites_per_handler) coverage.sites += sites;
  if (coverage.sites == 0) return;
  for (const std::string& name : kernel.idle)
    add_once(coverage.notes, "no site in this kernel matches '" + name + "'");
}

void LaunchPlanner::drop_plans(Seen& seen, std::vector<PlanPtr>& dropped,
                               const std::function<bool(const InstrumentedKernel&)>& is_dropped) {
  const auto rest = std::ranges::stable_partition(
      seen.plans, [&](const PlanPtr& plan) { return !is_dropped(*plan->kernel); });
  dropped.insert(dropped.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  seen.plans.erase(rest.begin(), rest.end());
}

void LaunchPlanner::drop(const std::function<bool(const InstrumentedKernel&)>& is_dropped) {
  variants_.drop(is_dropped);
  std::vector<PlanPtr> dropped;  // unloaded after the lock is released
  const State state(kernels_);
  for (Seen* const seen : kernels_.all()) drop_plans(*seen, dropped, is_dropped);
}

// ---- plans

BlockRoom LaunchPlanner::room_of(const Attached& attached, const device::Launch& launch) const {
  if (!attached.counts_shared_memory ||
      (configuration_.words.shared_bits == 0 && !configuration_.words.spare_counters()))
    return {};
  return {launch.threads_per_block(), launch.shared_bytes};
}

bool LaunchPlanner::fits(const LaunchPlan& plan, const device::Launch& launch) const {
  return std::ranges::equal(plan.view.grid, launch.grid) &&
         std::ranges::equal(plan.view.block, launch.block) &&
         plan.view.tensor_copies == tensor_copy_sizes(plan.kernel->instrumented, launch, find_tensor_box_);
}

PlanPtr LaunchPlanner::known_plan(const Seen& seen, const device::Device& device,
                                  const device::Launch& launch, std::uint64_t image) const {
  const BlockRoom room = room_of(*kernels_.attached_now(), launch);
  const auto found =
      std::ranges::find_if(seen.plans, [&](const PlanPtr& plan) LYNXPP_REQUIRES(kernels_state) {
        const InstrumentedKernel& kernel = *plan->kernel;
        return kernel.device == &device && kernel.image == image && kernel.room == room &&
               kernel.attached == kernels_.attached_now() && kernel.learned == seen.learned &&
               fits(*plan, launch);
      });
  return found != seen.plans.end() ? *found : nullptr;
}

Result<PlanPtr> LaunchPlanner::plan_for(Seen& seen, const KernelPtr& made, device::Device& device,
                                        const device::Launch& launch, bool keeps_counters) {
  InstrumentedKernel& kernel = *made;
  const auto is_of_kernel = [&](const PlanPtr& plan) { return plan->kernel == made; };
  std::shared_ptr<const LaunchedWords> previous;
  std::string module;
  {
    const State state(kernels_);
    const auto known = std::ranges::find_if(
        seen.plans, [&](const PlanPtr& plan) { return is_of_kernel(plan) && fits(*plan, launch); });
    if (known != seen.plans.end()) return *known;
    previous = kernel.words;
    module = seen.coverage.module;
  }
  auto plan = std::make_shared<LaunchPlan>();
  plan->kernel = made;
  plan->attached = kernel.attached;
  plan->seen = &seen;
  plan->module = std::move(module);
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
  const State state(kernels_);
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

}  // namespace lynxpp::interposer
