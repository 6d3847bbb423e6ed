// The part of the session that receives launches and keeps what is known of their kernels.
#include "interposer/session/session.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "interposer/allocations.h"
#include "interposer/session/session_state.h"
#include "support/check.h"
#include "support/log.h"
#include "support/own_stack.h"
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

bool Session::launch(device::Device& device, const device::Launch& launch, const KernelSource& source,
                     Found* found) {
  const Launching here(*this);
  const Result<bool> captured = device.capturing(launch);
  State state(state_);
  if (finished_ || attached_ == nullptr) return false;
  const std::string module = module_of(state, source);
  if (finished_ || attached_ == nullptr) return false;
  has_seen_launches_ = true;
  Seen& known = seen(source.name, module);
  if (captured && *captured) {
    // The graph's launches are counted separately.
    if (known.coverage.instrumented_launches == 0) known.coverage.reason = "captured into a graph";
    return false;
  }
  known.add_unselected();
  const std::uint64_t number = known.numbers.next(device.info().ordinal);
  const bool is_wanted = wanted(known, number);
  if (found != nullptr && captured && !configuration_.timeline) note_found(*found, known, device, source);
  // Specifications attached or detached meanwhile apply after this launch.
  const std::shared_ptr<const Attached> attached = attached_;
  state.unlock();
  if (!is_wanted && !configuration_.timeline) return false;
  report::ActivityRecord activity = timeline_.launch(launch, known.coverage.kernel, number);
  note_device(device, launch, activity);
  bool made = false;
  if (is_wanted && !captured) {
    state.lock();
    add_once(known.coverage.notes, "launches run uninstrumented: " + first_message(captured.error()));
    state.unlock();
  } else if (is_wanted) {
    made = make_launch(known, attached, device, launch, source, activity);
  }
  if (!made) write(activity);
  return made;
}

void Session::note_found(Found& found, Seen& known, const device::Device& device,
                         const KernelSource& source) const {
  found.image = source.image;
  if (!known.wanted) {
    found.unselected = &known.unselected[device.info().ordinal];
  } else if (configuration_.timing == Timing::off && !log().shows(LogLevel::trace)) {
    found.selected = &known;
  }
}

void Session::launched_natively(std::string_view kernel, std::uint64_t launches, const std::string& way) {
  const State state(state_);
  if (finished_ || attached_ == nullptr) return;
  has_seen_launches_ = true;
  const auto first = first_of_name_.find(kernel);
  count_natively(first != first_of_name_.end() ? *first->second : seen(kernel, ""), launches, way);
}

void Session::count_natively(Seen& known, std::uint64_t launches, const std::string& way) {
  LYNXPP_CHECK(state_.is_held_by_caller(), "state_ is not held");
  known.natively[way] += launches;
  known.numbers.elsewhere += launches;
  known.coverage.launches += launches;
  if (known.coverage.instrumented_launches == 0) known.coverage.reason = "launched " + way;
}

void Session::note_device(device::Device& device, const device::Launch& launch,
                          report::ActivityRecord& activity) {
  if (!configuration_.timeline) return;
  activity.launch->shared_bytes += device.static_shared_bytes(launch);
  if (const auto resources = device.resources(launch, nullptr))
    activity.launch->registers = resources->registers;
  const report::DeviceRecord record = record_of(device);
  const std::lock_guard records(records_);
  if (!finished_) tell(record);
}

void Session::tell(const report::DeviceRecord& device) {
  LYNXPP_CHECK(records_.is_held_by_caller(), "records_ is not held");
  std::pair<std::uint64_t, std::string> key(device.ordinal, device.device);
  if (std::ranges::count(told_devices_, key) != 0) return;
  told_devices_.push_back(std::move(key));
  sink_->device(device);
}

void Session::write(const report::ActivityRecord& activity) {
  if (!configuration_.timeline) return;
  const std::lock_guard records(records_);
  if (!finished_) sink_->activity(activity);
}

void Session::copied(const CopyCall& call) {
  if (configuration_.timeline && attached()) write(timeline_.copy(call));
}

bool Session::make_launch(Seen& known, const std::shared_ptr<const Attached>& attached,
                          device::Device& device, const device::Launch& launch, const KernelSource& source,
                          report::ActivityRecord& activity) {
  State state(state_);
  report::CoverageRecord& coverage = known.coverage;
  log_allocations(device);
  if (is_crowded()) {
    state.unlock();
    const bool has_room = makes_room();
    state.lock();
    if (!has_room) {
      ++known.natively["made while results of too many others were outstanding"];
      return false;
    }
  }
  if (attached->is_of_trials()) {
    coverage.reason = "its launches were trials";
    state.unlock();
    return launch_trials(known, device, launch, source, activity);
  }
  if (configuration_.timing == Timing::originals) {
    coverage.reason = "the original kernel was timed";
    state.unlock();
    return time_original(known, device, launch, activity).ok();
  }
  const KernelPtr kernel = kernel_for(state, known, attached, device, launch, source);
  if (kernel == nullptr) return false;
  state.unlock();
  if (!kernel->problem.empty()) return launch_unmeasured(known, *kernel, device, launch, activity);
  const Status launched = launch_variant(known, kernel, device, launch, activity);
  if (launched) return true;
  state.lock();
  note_refusal(known, launched);
  return false;
}

void Session::note_refusal(Seen& seen, const Status& launched) {
  const std::string reason = first_message(launched.error());
  add_once(seen.coverage.notes, reason);
  if (seen.coverage.instrumented_launches == 0) seen.coverage.reason = reason;
}

bool Session::wanted(Seen& seen, std::uint64_t index) const {
  LYNXPP_CHECK(state_.is_held_by_caller(), "state_ is not held");
  report::CoverageRecord& coverage = seen.coverage;
  ++coverage.launches;
  // Usually the reason is set already, so this is nearly free.
  const auto because = [&](const char* reason) {
    if (coverage.instrumented_launches == 0 && coverage.reason != reason) coverage.reason = reason;
    return false;
  };
  if (!seen.wanted) return because(kernels_ ? "not selected by -k" : "not selected by LYNXPP_KERNELS");
  if (!configuration_.launches.wants(index)) return because("no launch selected by LYNXPP_LAUNCHES");
  if (!attached_->samples(index)) return because("no launch was sampled");
  return true;
}

void Session::log_allocations(device::Device& device) {
  if (!log().shows(LogLevel::trace)) return;
  const std::shared_ptr<const device::LiveAllocations> now = device.allocations();
  if (std::exchange(logged_allocations_, now) == now) return;
  const std::string list = list_allocations(*now);
  for (const std::string_view line : split(list, '\n')) log().trace("{}", line);
}

std::string Session::module_of(State& state, const KernelSource& source) {
  if (const auto known = modules_.find(source.image); known != modules_.end()) return known->second;
  if (!source.content) return "";
  state.unlock();
  std::string content = source.content();
  state.lock();
  return modules_.try_emplace(source.image, std::move(content)).first->second;
}

Seen& Session::seen(std::string_view kernel, const std::string& module) {
  LYNXPP_CHECK(state_.is_held_by_caller(), "state_ is not held");
  if (const auto known = seen_.find(KernelKey::View(kernel, module)); known != seen_.end())
    return *known->second;
  // Launches that were only counted so far belong to the first module that becomes known.
  const auto first = first_of_name_.find(kernel);
  if (first != first_of_name_.end() && first->second->coverage.module.empty() &&
      first->second->numbers.by_device.empty()) {
    auto node = seen_.extract(seen_.find(KernelKey::View(kernel, "")));
    node.key().module = module;
    node.mapped()->coverage.module = module;
    return *seen_.insert(std::move(node)).position->second;
  }
  auto made = std::make_unique<Seen>();
  const std::string name(kernel);
  made->coverage.kernel = name;
  made->coverage.module = module;
  if (attached_ != nullptr) made->coverage.specs = attached_->names;
  made->timing.kernel = name;
  made->learned.wide_counters = configuration_.counters == CounterWidth::wide;
  made->wanted = selects(name);
  Seen& added = *seen_.emplace(KernelKey{name, module}, std::move(made)).first->second;
  first_of_name_.try_emplace(added.coverage.kernel, &added);
  ++modules_of_name_[added.coverage.kernel];
  return added;
}

bool Session::is_deferred(const Seen& seen, const device::Device& device) const {
  LYNXPP_CHECK(state_.is_held_by_caller(), "state_ is not held");
  // Autotuners launch each of many candidates, which have the same name, once or twice.
  constexpr std::uint64_t hardly_launched = 2;
  constexpr std::size_t few_of_a_name = 3;
  constexpr double share_of_candidates = 0.2;
  const auto of_name = modules_of_name_.find(seen.coverage.kernel);
  const bool may_be_candidate = of_name != modules_of_name_.end() && of_name->second > few_of_a_name;
  const bool is_exhausted =
      configuration_.compile_budget &&
      variants_.making() >= *configuration_.compile_budget * (may_be_candidate ? share_of_candidates : 1.0);
  // Runs on the cpu device repeat exactly: what they measure must not depend on time.
  return is_exhausted && seen.coverage.launches <= hardly_launched && device.info().name != "cpu";
}

KernelPtr Session::deferred() {
  auto kernel = std::make_shared<InstrumentedKernel>();
  kernel->is_made = true;
  kernel->problem = "launched at most twice, after variants had taken the compile budget";
  return kernel;
}

KernelPtr Session::kernel_for(State& state, Seen& seen, const std::shared_ptr<const Attached>& attached,
                              device::Device& device, const device::Launch& launch,
                              const KernelSource& source) {
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
  KernelPtr kernel = variants_.get(wanted, [&](InstrumentedKernel& made) {
    const Learned learned = maker_.make(made, launch, source);
    note_made(seen, made, learned);
    return learned;
  });
  state.lock();
  return kernel;
}

void Session::note_made(Seen& seen, InstrumentedKernel& kernel, const Learned& learned) {
  std::vector<PlanPtr> outdated;  // unloaded after the lock is released
  const State state(state_);
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

void Session::drop_plans(Seen& seen, std::vector<PlanPtr>& dropped,
                         const std::function<bool(const InstrumentedKernel&)>& is_dropped) {
  const auto rest = std::ranges::stable_partition(
      seen.plans, [&](const PlanPtr& plan) { return !is_dropped(*plan->kernel); });
  dropped.insert(dropped.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  seen.plans.erase(rest.begin(), rest.end());
}

void Session::note_resources(Seen& seen, device::Device& device, const device::Launch& launch,
                             const device::Launch& variant_launch, const device::Variant* variant) {
  const std::optional<device::KernelResources> original = device.resources(launch, nullptr);
  std::optional<device::KernelResources> of_variant;
  if (variant != nullptr) of_variant = device.resources(variant_launch, variant);
  const State state(state_);
  set_once(seen.timing.original, original);
  seen.most_warps_per_sm = device.limits().threads_per_sm / 32;
  set_once(seen.timing.variant, of_variant);
}

/// Records the properties of a kernel that cannot be instrumented.
void Session::note_unmeasured(Seen& seen, const InstrumentedKernel& kernel, device::Device& device,
                              const device::Launch& launch) {
  State state(state_);
  report::CoverageRecord& coverage = seen.coverage;
  coverage.lacks_ptx |= kernel.lacks_ptx;
  if (coverage.shape) {
    coverage.shape->differs |= !std::ranges::equal(coverage.shape->grid, launch.grid) ||
                               !std::ranges::equal(coverage.shape->block, launch.block);
    return;
  }
  coverage.shape = report::CoverageRecord::Shape{};
  report::CoverageRecord::Shape& shape = *coverage.shape;
  std::ranges::copy(launch.grid, shape.grid);
  std::ranges::copy(launch.block, shape.block);
  state.unlock();
  const std::optional<device::KernelResources> resources = device.resources(launch, nullptr);
  state.lock();
  if (resources) coverage.shape->registers = resources->registers;
}

/// Called if the kernel cannot be instrumented. Returns true if its original was launched and is timed. Times
/// the first launches and then increasingly fewer, so that timing is nearly free.
bool Session::launch_unmeasured(Seen& seen, const InstrumentedKernel& kernel, device::Device& device,
                                const device::Launch& launch, report::ActivityRecord& activity) {
  constexpr std::uint64_t first_launches = 4;
  note_unmeasured(seen, kernel, device, launch);
  std::uint64_t number = 0;
  {
    const State state(state_);
    seen.coverage.reason = kernel.problem;
    number = seen.unmeasured++;
  }
  const bool is_timed =
      configuration_.timing == Timing::stages && (number < first_launches || std::has_single_bit(number));
  return is_timed && time_original(seen, device, launch, activity).ok();
}

Status Session::time_original(Seen& seen, device::Device& device, const device::Launch& launch,
                              report::ActivityRecord& activity) {
  note_resources(seen, device, launch, launch, nullptr);
  Outstanding outstanding(seen);
  Result<std::unique_ptr<device::Readback>> made = device.launch_original(launch);
  if (!made) return made.error();
  auto plan = std::make_shared<LaunchPlan>();
  plan->seen = &seen;
  plan->device = device.info();
  PendingPtr pending = pending_with(std::move(plan), device, launch, activity);
  pending->readback = std::move(*made);
  add(std::move(pending), outstanding);
  return success();
}

void Session::add(PendingPtr pending, Outstanding& outstanding) {
  // The time of an original that could not be instrumented was not requested.
  if (pending->plan->variant != nullptr || pending->trial || configuration_.timing == Timing::originals)
    has_measured_.store(true, std::memory_order_relaxed);
  outstanding.settled_later();
  results_.add(std::move(pending));
}

void Session::forget_image(std::uint64_t image) {
  {
    const State state(state_);
    modules_.erase(image);
  }
  if (trials_ != nullptr) trials_->forget_image(image);
  sharing_.close([&](const SharingOwner& owner) { return owner.image == image; });
  drop_graphs([&](const Graph& graph) {
    return std::ranges::any_of(graph.made,
                               [&](const Graph::Made& made) { return made.kernel->image == image; });
  });
  maker_.forget([&](const VariantsAhead::Key& key) { return key.image == image; }, {});
  drop_kernels([&](const InstrumentedKernel& kernel) { return kernel.image == image; });
}

void Session::drop_graphs(const std::function<bool(const Graph&)>& is_dropped) {
  std::vector<std::shared_ptr<Graph>> dropped;  // destroyed after all locks are released
  const State state(state_);
  std::erase_if(graphs_, [&](auto& entry) {
    const bool is_it = is_dropped(*entry.second);
    if (is_it) dropped.push_back(std::move(entry.second));
    return is_it;
  });
}

void Session::drop_kernels(const std::function<bool(const InstrumentedKernel&)>& is_dropped) {
  variants_.drop(is_dropped);
  std::vector<PlanPtr> dropped;  // unloaded after the lock is released
  const State state(state_);
  for (const auto& [key, seen] : seen_) drop_plans(*seen, dropped, is_dropped);
}

}  // namespace lynxpp::interposer
