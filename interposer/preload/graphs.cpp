#include "interposer/preload/graphs.h"

#include <algorithm>
#include <cstddef>
#include <new>

#include "interposer/preload/driver.h"

namespace lynxpp::preload {
namespace {

using List = CUresult (*)(void*, void**, std::size_t*);
using FindTwin = CUresult (*)(void**, void*, void*);
using Inner = CUresult (*)(void*, void**);

template <typename Function>
Function driver_function(const char* name) {
  return reinterpret_cast<Function>(lookup_driver(name));
}

std::vector<void*> nodes_of(void* graph) {
  const auto list = driver_function<List>("cuGraphGetNodes");
  std::size_t count = 0;
  if (list == nullptr || list(graph, nullptr, &count) != cuda_success || count == 0) return {};
  std::vector<void*> nodes(count);
  if (list(graph, nodes.data(), &count) != cuda_success) return {};
  nodes.resize(count);
  return nodes;
}

/// Of the graph's nodes and those of graphs inside of it, as far as the driver finds them.
void find_twins(std::unordered_map<void*, void*>& twins, void* graph, void* copy) {
  const auto find = driver_function<FindTwin>("cuGraphNodeFindInClone");
  const auto type_of = driver_function<CUresult (*)(void*, int*)>("cuGraphNodeGetType");
  const auto inside = driver_function<Inner>("cuGraphChildGraphNodeGetGraph");
  if (find == nullptr || type_of == nullptr || inside == nullptr) return;
  constexpr int child_graph_node = 4;
  for (void* const node : nodes_of(graph)) {
    void* twin = nullptr;
    if (find(&twin, node, copy) != cuda_success) continue;
    twins.emplace(node, twin);
    int type = -1;
    void* inner = nullptr;
    void* inner_copy = nullptr;
    if (type_of(node, &type) == cuda_success && type == child_graph_node &&
        inside(node, &inner) == cuda_success && inside(twin, &inner_copy) == cuda_success)
      find_twins(twins, inner, inner_copy);
  }
}

}  // namespace

void* ExecutableGraph::twin_of(void* node) const {
  const auto found = twins.find(node);
  if (found != twins.end()) return found->second;
  return copy == nullptr ? node : nullptr;
}

bool ExecutableGraph::is_enabled(const GraphKernel& kernel) const {
  return std::find(disabled.begin(), disabled.end(), kernel.node) == disabled.end();
}

std::vector<std::pair<KernelPtr, std::uint64_t>> ExecutableGraph::launches() const {
  std::vector<std::pair<KernelPtr, std::uint64_t>> kernels;
  for (const GraphKernel& each : contents.kernels) {
    if (!is_enabled(each)) continue;
    const auto known = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const auto& pair) { return pair.first->name == each.kernel->name; });
    if (known != kernels.end()) {
      ++known->second;
    } else {
      kernels.emplace_back(each.kernel, 1);
    }
  }
  return kernels;
}

bool ExecutableGraph::make_copy(void* graph) {
  const auto clone = driver_function<CUresult (*)(void**, void*)>("cuGraphClone");
  if (clone == nullptr || clone(&copy, graph) != cuda_success) {
    copy = nullptr;
    contents.obstacle = "by graphs that cannot be copied";
    return false;
  }
  find_twins(twins, graph, copy);
  return true;
}

void ExecutableGraph::drop_copy() {
  twins.clear();
  ++version;
  if (copy == nullptr) return;
  const auto destroy = driver_function<CUresult (*)(void*)>("cuGraphDestroy");
  if (destroy != nullptr) destroy(copy);
  copy = nullptr;
}

void ExecutableGraph::give_up(const char* why) {
  if (contents.obstacle != nullptr) return;
  contents.obstacle = why;
  // Nodes keep the names they have.
  const auto known = twins;
  drop_copy();
  twins = known;
}

ExecutableGraphPtr Graphs::add(void* executable) {
  const std::lock_guard lock(mutex_);
  auto graph = std::make_shared<ExecutableGraph>();
  graph->id = next_id_++;
  by_executable_[executable] = graph;
  return graph;
}

ExecutableGraphPtr Graphs::find(void* executable) const {
  const std::shared_lock lock(mutex_);
  const auto found = by_executable_.find(executable);
  return found != by_executable_.end() ? found->second : nullptr;
}

ExecutableGraphPtr Graphs::remove(void* executable) {
  const std::lock_guard lock(mutex_);
  const auto found = by_executable_.find(executable);
  if (found == by_executable_.end()) return nullptr;
  ExecutableGraphPtr graph = std::move(found->second);
  by_executable_.erase(found);
  return graph;
}

Graphs& graphs() {
  alignas(Graphs) static std::byte storage[sizeof(Graphs)];
  static Graphs* const instance = new (storage) Graphs;
  return *instance;
}

}  // namespace lynxpp::preload
