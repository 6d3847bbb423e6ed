#include "interposer/trials/trial_variants.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <iterator>
#include <utility>

#include "interposer/trials/register_setting.h"
#include "support/own_stack.h"

namespace lynxpp::interposer {
namespace {

/// Calls `work` with room for a compiler, which recurses; threads that launch may have less.
Status contained(const std::function<Status()>& work) {
  constexpr std::size_t compilers_stack = std::size_t{1} << 20;
  Status result = success();
  try {
    if (!run_with_stack(compilers_stack, [&] { result = work(); }))
      return failure("not enough memory for the compiler's stack");
  } catch (const std::exception& error) {
    return failure(std::string("internal failure: ") + error.what());
  }
  return result;
}

/// Changes the limits of registers if that is what the variant does.
Status set_registers(engine::Instrumented& variant, device::Device& device, const device::Launch& launch,
                     const std::optional<ptx::Perturbation>& perturbation) {
  if (!perturbation) return success();
  if (perturbation->operation == ptx::Operation::more_registers)
    return remove_register_limits(variant.ptx, variant.traits.directives);
  if (perturbation->operation == ptx::Operation::fewer_registers)
    return limit_registers(variant.ptx, variant.traits.directives, device, launch);
  return success();
}

}  // namespace

std::shared_ptr<TrialVariants::Entry> TrialVariants::entry(
    device::Device& device, const device::Launch& launch, const KernelSource& source,
    const std::optional<ptx::Perturbation>& perturbation) {
  Key key{&device, source.image, std::string(source.name), engine::shape_of(launch.block),
          perturbation ? ptx::to_text(*perturbation) : std::string()};
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(entries_, [&](const auto& each) { return each->key == key; });
  if (known != entries_.end()) return *known;
  auto made = std::make_shared<Entry>();
  made->key = std::move(key);
  return entries_.emplace_back(std::move(made));
}

void TrialVariants::make(Entry& entry, device::Device& device, const device::Launch& launch,
                         const KernelSource& source, const std::optional<ptx::Perturbation>& perturbation) {
  if (entry.variant != nullptr || entry.problem) return;
  const Status made = contained([&]() -> Status {
    const Result<KernelPtx> found = source.ptx();
    if (!found) return found.error();
    engine::Request request;
    request.ptx = &found->text;
    request.kernel = std::string(source.name);
    if (perturbation && ptx::adds_code(perturbation->operation)) request.perturbation = perturbation;
    request.launch = entry.key.shape;
    request.device_sm = device.info().compute_capability;
    request.assembler_contracts = device.info().contracts;
    request.variable_address = [&](const std::string& name) { return device.variable_address(launch, name); };
    Result<engine::Instrumented> instrumented = engine::instrument(request);
    if (!instrumented) return instrumented.error();
    if (Status set = set_registers(*instrumented, device, launch, perturbation); !set) return set.error();
    entry.variant = std::make_shared<TrialVariant>(TrialVariant{std::move(*instrumented), nullptr});
    return success();
  });
  if (!made) entry.problem = made.error();
}

Result<std::vector<ptx::PerturbedSite>> TrialVariants::sites(device::Device& device,
                                                             const device::Launch& launch,
                                                             const KernelSource& source,
                                                             const ptx::Perturbation& perturbation) {
  const std::shared_ptr<Entry> found = entry(device, launch, source, perturbation);
  const std::lock_guard lock(found->mutex);
  make(*found, device, launch, source, perturbation);
  if (found->problem) return *found->problem;
  return found->variant->instrumented.perturbed;
}

Result<std::shared_ptr<const TrialVariant>> TrialVariants::loaded(
    device::Device& device, const device::Launch& launch, const KernelSource& source,
    const std::optional<ptx::Perturbation>& perturbation) {
  const std::shared_ptr<Entry> found = entry(device, launch, source, perturbation);
  const std::lock_guard lock(found->mutex);
  make(*found, device, launch, source, perturbation);
  if (!found->problem && found->variant->loaded == nullptr) {
    const Status loaded = contained([&]() -> Status {
      engine::Instrumented& instrumented = found->variant->instrumented;
      Result<std::unique_ptr<device::Variant>> variant =
          device.load(instrumented.ptx, instrumented.kernel, launch, instrumented.traits);
      if (!variant) return variant.error();
      found->variant->loaded = std::move(*variant);
      instrumented.ptx = {};
      return success();
    });
    if (!loaded) found->problem = loaded.error();
  }
  if (found->problem) return *found->problem;
  return std::shared_ptr<const TrialVariant>(found->variant);
}

void TrialVariants::forget(const std::function<bool(const Key&)>& is_dropped) {
  std::vector<std::shared_ptr<Entry>> dropped;  // unloaded after the lock is released
  const std::lock_guard lock(mutex_);
  const auto rest =
      std::ranges::stable_partition(entries_, [&](const auto& each) { return !is_dropped(each->key); });
  dropped.assign(std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  entries_.erase(rest.begin(), rest.end());
}

void TrialVariants::forget_image(std::uint64_t image) {
  forget([&](const Key& key) { return key.image == image; });
}

void TrialVariants::forget_devices(std::span<const device::Device* const> devices) {
  forget([&](const Key& key) { return std::ranges::find(devices, key.device) != devices.end(); });
}

}  // namespace lynxpp::interposer
