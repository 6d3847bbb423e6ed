#include "interposer/preload/graphs.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>

namespace lynxpp::preload {

void Graphs::add(void* executable, std::vector<GraphKernel> kernels) {
  const std::lock_guard lock(mutex_);
  by_executable_[executable] = std::move(kernels);
}

void Graphs::forget(void* executable) {
  const std::lock_guard lock(mutex_);
  by_executable_.erase(executable);
}

void Graphs::set_kernel(void* executable, void* node, KernelPtr kernel) {
  const std::lock_guard lock(mutex_);
  const auto found = by_executable_.find(executable);
  if (found == by_executable_.end()) return;
  for (GraphKernel& each : found->second) {
    if (each.node == node) each.kernel = kernel;
  }
}

void Graphs::set_enabled(void* executable, void* node, bool is_enabled) {
  const std::lock_guard lock(mutex_);
  const auto found = by_executable_.find(executable);
  if (found == by_executable_.end()) return;
  for (GraphKernel& each : found->second) {
    if (each.node == node) each.is_enabled = is_enabled;
  }
}

void Graphs::set_child(void* executable, void* child, std::vector<GraphKernel> kernels) {
  const std::lock_guard lock(mutex_);
  const auto found = by_executable_.find(executable);
  if (found == by_executable_.end()) return;
  std::erase_if(found->second, [&](const GraphKernel& each) { return each.child == child; });
  for (GraphKernel& each : kernels) {
    each.child = child;
    found->second.push_back(std::move(each));
  }
}

bool Graphs::launched_by(void* executable, std::vector<std::pair<KernelPtr, std::uint64_t>>& kernels) const {
  const std::shared_lock lock(mutex_);
  const auto found = by_executable_.find(executable);
  if (found == by_executable_.end()) return false;
  for (const GraphKernel& each : found->second) {
    if (!each.is_enabled) continue;
    const auto known = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const auto& pair) { return pair.first->name == each.kernel->name; });
    if (known != kernels.end()) {
      ++known->second;
    } else {
      kernels.emplace_back(each.kernel, 1);
    }
  }
  return true;
}

Graphs& graphs() {
  alignas(Graphs) static std::byte storage[sizeof(Graphs)];
  static Graphs* const instance = new (storage) Graphs;
  return *instance;
}

}  // namespace lynxpp::preload
