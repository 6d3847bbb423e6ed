#include "interposer/session/known_kernels.h"

#include <algorithm>
#include <utility>

#include "support/check.h"

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

// ---- a kernel's coverage

void Seen::begin_coverage(const std::vector<std::string>& specs) {
  if (specs == coverage.specs) return;
  add_unselected();
  close_coverage();
  report::CoverageRecord next;
  next.kernel = name;
  next.module = coverage.module;
  next.specs = specs;
  const auto known = std::ranges::find(earlier, specs, &report::CoverageRecord::specs);
  if (known != earlier.end()) {
    next = std::move(*known);
    earlier.erase(known);
  }
  if (coverage.launches != 0 || !coverage.notes.empty()) earlier.push_back(std::move(coverage));
  coverage = std::move(next);
}

void Seen::close_coverage() {
  if (const LackOfMemory& missed = no_room; missed.launches != 0) {
    coverage.notes.push_back(std::to_string(missed.launches) +
                             (missed.launches == 1 ? " launch" : " launches") +
                             " ran uninstrumented for lack of memory (up to " + std::to_string(missed.bytes) +
                             " bytes): " + missed.why);
  }
  no_room = {};
  for (const auto& [way, launches] : natively)
    coverage.notes.push_back(std::to_string(launches) + (launches == 1 ? " launch " : " launches ") + way +
                             (launches == 1 ? " was" : " were") + " not counted");
  natively.clear();
}

// ---- what is attached

void KnownKernels::attach(std::shared_ptr<const Attached> attached, std::optional<NamePattern> kernels) {
  const State state(*this);
  if (kernels_ || kernels) {
    kernels_ = std::move(kernels);
    for (const auto& [key, seen] : seen_) seen->wanted = is_selected(key.kernel);
  }
  attached_ = std::move(attached);
  choices_.fetch_add(1, std::memory_order_release);
  if (attached_ == nullptr) return;
  for (const auto& [key, seen] : seen_) seen->begin_coverage(attached_->names);
  ever_attached_ = true;
  keep_for_end(attached_);
}

void KnownKernels::inherit(const KnownKernels& parent, std::shared_ptr<const Attached> attached) {
  const State state(*this);
  kernels_ = parent.kernels_;
  ever_attached_ = parent.ever_attached_.load();
  attached_ = std::move(attached);
  if (attached_ != nullptr) keep_for_end(attached_);
}

void KnownKernels::keep_for_end(const std::shared_ptr<const Attached>& attached) {
  const auto has_end = [](const auto& report) { return report->has_end(); };
  if (std::ranges::any_of(attached->reports, has_end)) with_ends_.push_back(attached);
}

std::shared_ptr<const Attached> KnownKernels::attached() {
  const State state(*this);
  return is_over_ ? nullptr : attached_;
}

std::string KnownKernels::filter() const {
  return kernels_ ? kernels_->text() : configuration_.kernels_text();
}

bool KnownKernels::is_selected(const std::string& kernel) const {
  const std::optional<NamePattern>& pattern = kernels_ ? kernels_ : configuration_.kernels;
  return !pattern || pattern->matches(kernel);
}

bool KnownKernels::selects(const std::string& kernel) {
  const State state(*this);
  return is_selected(kernel);
}

// ---- kernels

std::optional<std::string> KnownKernels::module_of(const KernelSource& source) {
  State state(*this);
  if (is_over_ || attached_ == nullptr) return std::nullopt;
  if (const auto known = modules_.find(source.image); known != modules_.end()) return known->second;
  if (!source.content) return "";
  state.unlock();
  std::string content = source.content();
  state.lock();
  return modules_.try_emplace(source.image, std::move(content)).first->second;
}

Seen& KnownKernels::seen(std::string_view kernel, const std::string& module) {
  if (const auto known = seen_.find(KernelKey::View(kernel, module)); known != seen_.end())
    return *known->second;
  // Launches that were only counted so far belong to the first module that becomes known.
  const auto first = first_of_name_.find(kernel);
  if (first != first_of_name_.end()) {
    const Seen& only_counted = *first->second;
    if (only_counted.coverage.module.empty() && only_counted.numbers.by_device.empty()) {
      auto node = seen_.extract(seen_.find(KernelKey::View(kernel, "")));
      node.key().module = module;
      node.mapped()->coverage.module = module;
      return *seen_.insert(std::move(node)).position->second;
    }
  }
  auto made = std::make_unique<Seen>(std::string(kernel));
  made->coverage.module = module;
  if (attached_ != nullptr) made->coverage.specs = attached_->names;
  made->learned.wide_counters = configuration_.counters == CounterWidth::wide;
  made->wanted = is_selected(made->name);
  KernelKey key{made->name, module};
  Seen& added = *seen_.emplace(std::move(key), std::move(made)).first->second;
  first_of_name_.try_emplace(added.name, &added);
  ++modules_of_name_[added.name];
  return added;
}

Seen& KnownKernels::first_of_name(std::string_view kernel) { return *first_of_name_.at(kernel); }

std::vector<Seen*> KnownKernels::all() {
  std::vector<Seen*> kernels;
  for (const auto& [key, seen] : seen_) kernels.push_back(seen.get());
  return kernels;
}

void KnownKernels::forget_image(std::uint64_t image) {
  const State state(*this);
  modules_.erase(image);
}

// ---- launches

bool KnownKernels::wanted(Seen& seen, std::uint64_t number) const {
  report::CoverageRecord& coverage = seen.coverage;
  ++coverage.launches;
  // Usually the reason is set already, so this is nearly free.
  const auto because = [&coverage](const char* reason) LYNXPP_REQUIRES(kernels_state) {
    if (coverage.instrumented_launches == 0 && coverage.reason != reason) coverage.reason = reason;
    return false;
  };
  if (!seen.wanted) return because(kernels_ ? "not selected by -k" : "not selected by LYNXPP_KERNELS");
  if (!configuration_.launches.wants(number)) return because("no launch selected by LYNXPP_LAUNCHES");
  if (!attached_->samples(number)) return because("no launch was sampled");
  return true;
}

void KnownKernels::count_natively(Seen& seen, std::uint64_t launches, const std::string& way) {
  seen.natively[way] += launches;
  seen.numbers.elsewhere += launches;
  seen.coverage.launches += launches;
  if (seen.coverage.instrumented_launches == 0) seen.coverage.reason = "launched " + way;
}

void KnownKernels::launched_natively(std::string_view kernel, std::uint64_t launches,
                                     const std::string& way) {
  const State state(*this);
  if (is_over_ || attached_ == nullptr) return;
  has_seen_launches_ = true;
  const auto first = first_of_name_.find(kernel);
  count_natively(first != first_of_name_.end() ? *first->second : seen(kernel, ""), launches, way);
}

report::CoverageRecord& KnownKernels::note_instrumented(const LaunchPlan& plan) {
  report::CoverageRecord& coverage = plan.seen->coverage_of(*plan.attached);
  coverage.instrumented = true;
  coverage.reason.clear();
  ++coverage.instrumented_launches;
  return coverage;
}

void KnownKernels::note_refusal(Seen& seen, const Status& launched) {
  const std::string reason = first_message(launched.error());
  add_once(seen.coverage.notes, reason);
  if (seen.coverage.instrumented_launches == 0) seen.coverage.reason = reason;
}

void KnownKernels::note_unmeasured(Seen& seen, const InstrumentedKernel& kernel, device::Device& device,
                                   const device::Launch& launch) {
  State state(*this);
  seen.coverage.lacks_ptx |= kernel.lacks_ptx;
  if (seen.coverage.shape) {
    seen.coverage.shape->differs |= !std::ranges::equal(seen.coverage.shape->grid, launch.grid) ||
                                    !std::ranges::equal(seen.coverage.shape->block, launch.block);
    return;
  }
  report::CoverageRecord::Shape& shape = seen.coverage.shape.emplace(report::CoverageRecord::Shape{});
  std::ranges::copy(launch.grid, shape.grid);
  std::ranges::copy(launch.block, shape.block);
  state.unlock();
  const std::optional<device::KernelResources> resources = device.resources(launch, nullptr);
  state.lock();
  if (resources && seen.coverage.shape) seen.coverage.shape->registers = resources->registers;
}

void KnownKernels::note_resources(Seen& seen, device::Device& device, const device::Launch& launch,
                                  const device::Launch& variant_launch, const device::Variant* variant) {
  const std::optional<device::KernelResources> original = device.resources(launch, nullptr);
  std::optional<device::KernelResources> of_variant;
  if (variant != nullptr) of_variant = device.resources(variant_launch, variant);
  const State state(*this);
  set_once(seen.timing.original, original);
  seen.most_warps_per_sm = device.limits().threads_per_sm / 32;
  set_once(seen.timing.variant, of_variant);
}

void KnownKernels::learn(Seen& seen, const Learned& shown) {
  if (shown == Learned{}) return;
  const State state(*this);
  seen.learned.wide_counters |= shown.wide_counters;
  seen.learned.replays &= shown.replays;
}

}  // namespace lynxpp::interposer
