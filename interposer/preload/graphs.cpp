#include "interposer/preload/graphs.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <new>

#include "interposer/preload/engine_client.h"
#include "support/check.h"

namespace lynxpp::preload {

bool ExecutableGraph::is_enabled(const GraphKernel& kernel) const {
  return std::find(disabled.begin(), disabled.end(), kernel.given) == disabled.end();
}

std::vector<std::pair<KernelPtr, std::uint64_t>> ExecutableGraph::launches() const {
  std::vector<std::pair<KernelPtr, std::uint64_t>> launched;
  for (const GraphKernel& each : kernels) {
    if (!is_enabled(each)) continue;
    const auto known = std::find_if(launched.begin(), launched.end(),
                                    [&](const auto& pair) { return pair.first->name == each.kernel->name; });
    if (known != launched.end()) {
      ++known->second;
    } else {
      launched.emplace_back(each.kernel, 1);
    }
  }
  return launched;
}

void ExecutableGraph::become(void* graph, GraphContents contents) {
  LYNXPP_CHECK(Passthrough::active(), "calls the driver through the hooks");
  ++version;
  clone.reset();
  obstacle = contents.obstacle;
  // The program still refers to the nodes of the graph that it instantiated, in the same order.
  const std::vector<GraphKernel> before = std::exchange(kernels, {});
  const bool is_same_size = before.size() == contents.kernels.size();
  for (std::size_t i = 0; i < contents.kernels.size(); ++i) {
    GraphContents::KernelNode& each = contents.kernels[i];
    const NodeName node = name_of(each.node);
    const NodeName child = is_same_size ? before[i].child : name_of(each.child);
    kernels.push_back({node, is_same_size ? before[i].given : node, child, std::move(each.kernel)});
  }
  if (obstacle != nullptr || kernels.empty()) return;
  clone = GraphClone::of(graph);
  const auto has_twin = [&](const GraphKernel& each) { return twin_of(each.node) != nullptr; };
  if (clone == nullptr || !std::all_of(kernels.begin(), kernels.end(), has_twin))
    give_up("by graphs that cannot be copied");
}

NodeName ExecutableGraph::name_in_clone(NodeName given) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const GraphKernel& each) { return each.given == given; });
  return found != kernels.end() ? found->node : given;
}

void ExecutableGraph::give_up(const char* why) {
  LYNXPP_CHECK(Passthrough::active(), "calls the driver through the hooks");
  ++version;
  clone.reset();
  if (obstacle == nullptr) obstacle = why;
}

void ExecutableGraph::replace_child(NodeName child, const GraphContents& contents) {
  LYNXPP_CHECK(Passthrough::active(), "calls the driver through the hooks");
  const auto is_inside = [&](const GraphKernel& each) { return each.child == child; };
  kernels.erase(std::remove_if(kernels.begin(), kernels.end(), is_inside), kernels.end());
  for (const GraphContents::KernelNode& each : contents.kernels) {
    const NodeName name = clone != nullptr ? clone->invent_name(each.node) : NodeName{};
    kernels.push_back({name, name, child, each.kernel});
  }
}

ExecutableGraphPtr Graphs::add(void* executable) {
  const Lock lock(mutex_);
  auto graph = std::make_shared<ExecutableGraph>();
  graph->id = next_id_++;
  by_executable_[executable] = graph;
  return graph;
}

ExecutableGraphPtr Graphs::find(void* executable) const {
  const SharedLock lock(mutex_);
  const auto found = by_executable_.find(executable);
  return found != by_executable_.end() ? found->second : nullptr;
}

ExecutableGraphPtr Graphs::remove(void* executable) {
  const Lock lock(mutex_);
  const auto found = by_executable_.find(executable);
  if (found == by_executable_.end()) return nullptr;
  ExecutableGraphPtr graph = std::move(found->second);
  by_executable_.erase(found);
  return graph;
}

std::vector<ExecutableGraphPtr> Graphs::remove_all_of(void* context) {
  const Lock lock(mutex_);
  std::vector<ExecutableGraphPtr> removed;
  for (auto entry = by_executable_.begin(); entry != by_executable_.end();) {
    const bool is_of_it = entry->second->context == context;
    if (is_of_it) removed.push_back(std::move(entry->second));
    entry = is_of_it ? by_executable_.erase(entry) : std::next(entry);
  }
  return removed;
}

Graphs& graphs() {
  alignas(Graphs) static std::byte storage[sizeof(Graphs)];
  static Graphs* const instance = new (storage) Graphs;
  return *instance;
}

}  // namespace lynxpp::preload
