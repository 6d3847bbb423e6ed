#include "interposer/session/variant_cache.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace lynxpp::interposer {

KernelPtr* VariantCache::find(const Wanted& wanted) {
  const auto all = kernels_.find(wanted.kernel);
  if (all == kernels_.end()) return nullptr;
  const auto found = std::ranges::find_if(all->second, [&](const KernelPtr& each) {
    return each->device == wanted.device && each->image == wanted.image && each->shape == wanted.shape &&
           each->room == wanted.room;
  });
  return found != all->second.end() ? &*found : nullptr;
}

bool VariantCache::is_current(const InstrumentedKernel& kernel, const Wanted& wanted) {
  return kernel.attached == wanted.attached && kernel.learned == wanted.learned;
}

VariantCache::Known VariantCache::known(const Wanted& wanted) {
  const Lock lock(mutex_);
  const KernelPtr* const place = find(wanted);
  if (place == nullptr) return Known::no;
  return is_current(**place, wanted) ? Known::yes : Known::outdated;
}

KernelPtr VariantCache::get(const Wanted& wanted, const Make& make) {
  constexpr std::chrono::milliseconds step(50);
  Lock lock(mutex_);
  KernelPtr* const place = find(wanted);
  if (place != nullptr && is_current(**place, wanted)) {
    const KernelPtr kernel = *place;
    // The creating thread may never return, if the program ended meanwhile.
    while (!kernel->is_made && !is_over_) changed_.wait_for(lock, step);
    return kernel->is_made ? kernel : nullptr;
  }
  auto kernel = std::make_shared<InstrumentedKernel>();
  kernel->device = wanted.device;
  kernel->image = wanted.image;
  kernel->attached = wanted.attached;
  kernel->shape = wanted.shape;
  kernel->room = wanted.room;
  kernel->learned = wanted.learned;
  KernelPtr before;  // unloaded after the lock is released
  if (place != nullptr) {
    before = std::exchange(*place, kernel);
  } else {
    kernels_[wanted.kernel].push_back(kernel);
  }
  lock.unlock();
  before.reset();
  const auto begin = std::chrono::steady_clock::now();
  std::optional<Learned> learned;
  try {
    learned = make(*kernel);
  } catch (const std::exception& error) {
    kernel->problem = std::string("internal failure: ") + error.what();
  }
  lock.lock();
  making_ += std::chrono::steady_clock::now() - begin;
  if (learned) kernel->learned = *learned;
  kernel->is_made = true;
  changed_.notify_all();
  return kernel;
}

std::shared_ptr<device::Variant> VariantCache::same_text(const InstrumentedKernel& kernel) {
  const auto is_same = [&](const KernelPtr& other) {
    return other->is_made && other->variant != nullptr && other->device == kernel.device &&
           other->image == kernel.image && other->name == kernel.name &&
           other->instrumented.ptx == kernel.instrumented.ptx;
  };
  const Lock lock(mutex_);
  for (const auto& [seen, kernels] : kernels_) {
    const auto found = std::ranges::find_if(kernels, is_same);
    if (found != kernels.end()) return (*found)->variant;
  }
  return nullptr;
}

bool VariantCache::holds(const Seen& seen, const InstrumentedKernel& kernel) {
  const Lock lock(mutex_);
  return std::ranges::any_of(kernels_[&seen], [&](const KernelPtr& each) { return each.get() == &kernel; });
}

std::chrono::duration<double> VariantCache::making() const {
  const Lock lock(mutex_);
  return making_;
}

void VariantCache::drop(const std::function<bool(const InstrumentedKernel&)>& is_dropped) {
  std::vector<KernelPtr> dropped;  // unloaded after the lock is released
  const Lock lock(mutex_);
  for (auto& [seen, kernels] : kernels_) {
    const auto rest =
        std::ranges::stable_partition(kernels, [&](const KernelPtr& kernel) { return !is_dropped(*kernel); });
    dropped.insert(dropped.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
    kernels.erase(rest.begin(), rest.end());
  }
}

}  // namespace lynxpp::interposer
