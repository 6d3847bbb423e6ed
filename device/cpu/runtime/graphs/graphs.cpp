#include "device/cpu/runtime/graphs/graphs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "device/cpu/runtime/devices.h"

namespace lynxpp::device::cpu {
namespace {

GraphNode* node_of(const Graph& graph, cudaGraphNode_t handle) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const auto& each) {
    return reinterpret_cast<cudaGraphNode_t>(each.get()) == handle;
  });
  return found != graph.nodes.end() ? found->get() : nullptr;
}

cudaGraphNode_t handle_of(GraphNode* node) { return reinterpret_cast<cudaGraphNode_t>(node); }

/// Stores up to `count` nodes and sets `count` to the number stored; without `nodes`, sets it to the total.
void store(const std::vector<cudaGraphNode_t>& found, cudaGraphNode_t* nodes, std::size_t& count) {
  if (nodes == nullptr) {
    count = found.size();
    return;
  }
  for (std::size_t i = 0; i < count; ++i) nodes[i] = i < found.size() ? found[i] : nullptr;
  count = std::min(count, found.size());
}

/// Returns the graph, or a nested one, that `matches`; null if none does.
template <typename Matches>
std::shared_ptr<Graph> search(const std::shared_ptr<Graph>& graph, const Matches& matches) {
  if (graph == nullptr || matches(*graph)) return graph;
  for (const auto& node : graph->nodes) {
    if (auto found = search(node->child, matches)) return found;
  }
  return nullptr;
}

/// Appends the nodes' work in an order that follows the dependencies; false for a cycle. A child graph's
/// steps follow its node.
bool append_steps(const Graph& graph, std::vector<GraphStep>& steps) {
  std::set<const GraphNode*> done;
  while (done.size() < graph.nodes.size()) {
    const std::size_t before = done.size();
    for (const auto& node : graph.nodes) {
      const bool is_ready = !done.contains(node.get()) &&
                            std::all_of(node->dependencies.begin(), node->dependencies.end(),
                                        [&](const GraphNode* each) { return done.contains(each); });
      if (!is_ready) continue;
      steps.push_back({node.get(), node->work});
      if (node->child != nullptr && !append_steps(*node->child, steps)) return false;
      done.insert(node.get());
    }
    if (done.size() == before) return false;
  }
  return true;
}

}  // namespace

Graphs& graphs() {
  static auto* const all = new Graphs;
  return *all;
}

cudaGraph_t Graphs::create() { return enter(std::make_shared<Graph>()); }

cudaGraph_t Graphs::enter(std::shared_ptr<Graph> graph) {
  graph->device = current_device();
  const std::lock_guard lock(mutex_);
  auto* const handle = reinterpret_cast<cudaGraph_t>(graph.get());
  graphs_[handle] = std::move(graph);
  return handle;
}

bool Graphs::destroy(cudaGraph_t handle) {
  const std::lock_guard lock(mutex_);
  return graphs_.erase(handle) != 0;
}

std::shared_ptr<Graph> Graphs::find(cudaGraph_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = graphs_.find(handle);
  if (found != graphs_.end()) return found->second;
  for (const auto& [each, graph] : graphs_) {
    const auto is_it = [&](const Graph& one) {
      return reinterpret_cast<cudaGraph_t>(const_cast<Graph*>(&one)) == handle;
    };
    if (auto inner = search(graph, is_it)) return inner;
  }
  return nullptr;
}

/// Precondition: `mutex_` is held.
GraphNode* Graphs::find_node(cudaGraphNode_t handle) {
  const std::shared_ptr<Graph> graph = graph_with(handle);
  return graph != nullptr ? node_of(*graph, handle) : nullptr;
}

/// Precondition: `mutex_` is held.
std::shared_ptr<Graph> Graphs::graph_with(cudaGraphNode_t handle) {
  const auto holds_it = [&](const Graph& graph) { return node_of(graph, handle) != nullptr; };
  for (const auto& [each, graph] : graphs_) {
    if (auto found = search(graph, holds_it)) return found;
  }
  return nullptr;
}

void Graphs::destroy_all(int device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(graphs_, [&](const auto& entry) { return entry.second->device == device; });
}

cudaError_t Graphs::add(cudaGraph_t handle, const cudaGraphNode_t* dependencies, std::size_t count,
                        GraphNode node, cudaGraphNode_t* added) {
  const auto graph = find(handle);
  if (graph == nullptr || added == nullptr || (count != 0 && dependencies == nullptr))
    return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* const before = node_of(*graph, dependencies[i]);
    const bool is_twice =
        std::find(node.dependencies.begin(), node.dependencies.end(), before) != node.dependencies.end();
    if (before == nullptr || is_twice) return cudaErrorInvalidValue;
    node.dependencies.push_back(before);
  }
  *added = handle_of(graph->nodes.emplace_back(std::make_unique<GraphNode>(std::move(node))).get());
  return cudaSuccess;
}

GraphNode* Graphs::add_captured(Graph& graph, const std::vector<GraphNode*>& dependencies, Work work) {
  const std::lock_guard lock(mutex_);
  auto node = std::make_unique<GraphNode>();
  node->work = std::move(work);
  node->dependencies = dependencies;
  return graph.nodes.emplace_back(std::move(node)).get();
}

cudaError_t Graphs::add_dependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, std::size_t count) {
  const auto graph = find(handle);
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* const before = node_of(*graph, from[i]);
    GraphNode* const after = node_of(*graph, to[i]);
    if (before == nullptr || after == nullptr || before == after) return cudaErrorInvalidValue;
    auto& all = after->dependencies;
    if (std::find(all.begin(), all.end(), before) != all.end()) return cudaErrorInvalidValue;
    all.push_back(before);
  }
  return cudaSuccess;
}

std::shared_ptr<Graph> Graphs::copy_of(const Graph& graph) {
  auto made = std::make_shared<Graph>();
  std::map<const GraphNode*, GraphNode*> twins;
  for (const auto& node : graph.nodes) {
    auto twin = std::make_unique<GraphNode>(*node);
    twin->origin = node.get();
    if (node->child != nullptr) twin->child = copy_of(*node->child);
    twins[node.get()] = twin.get();
    made->nodes.push_back(std::move(twin));
  }
  for (const auto& node : made->nodes) {
    for (GraphNode*& before : node->dependencies) before = twins.at(before);
  }
  return made;
}

cudaError_t Graphs::copy(cudaGraph_t handle, std::shared_ptr<Graph>& made) {
  const auto graph = find(handle);
  if (graph == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  const auto has_memory = [](const Graph& each) {
    return std::ranges::any_of(each.nodes, [](const auto& node) { return node->work.memory != nullptr; });
  };
  if (search(graph, has_memory) != nullptr) return cudaErrorNotSupported;
  made = copy_of(*graph);
  return cudaSuccess;
}

cudaError_t Graphs::list(cudaGraph_t handle, bool roots_only, cudaGraphNode_t* nodes, std::size_t* count) {
  const auto graph = find(handle);
  if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  std::vector<cudaGraphNode_t> found;
  for (const auto& node : graph->nodes) {
    if (!roots_only || node->dependencies.empty()) found.push_back(handle_of(node.get()));
  }
  store(found, nodes, *count);
  return cudaSuccess;
}

cudaError_t Graphs::neighbours(cudaGraphNode_t handle, Neighbours which, cudaGraphNode_t* nodes,
                               std::size_t* count) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Graph> graph = graph_with(handle);
  if (graph == nullptr || count == nullptr) return cudaErrorInvalidValue;
  GraphNode* const node = node_of(*graph, handle);
  std::vector<cudaGraphNode_t> found;
  if (which == Neighbours::before) {
    for (GraphNode* const each : node->dependencies) found.push_back(handle_of(each));
  } else {
    for (const auto& each : graph->nodes) {
      if (std::ranges::count(each->dependencies, node) != 0) found.push_back(handle_of(each.get()));
    }
  }
  store(found, nodes, *count);
  return cudaSuccess;
}

cudaError_t Graphs::remove_dependencies(cudaGraph_t handle, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, std::size_t count) {
  const auto graph = find(handle);
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) {
    GraphNode* const after = node_of(*graph, to[i]);
    if (after == nullptr || std::ranges::count(after->dependencies, node_of(*graph, from[i])) == 0)
      return cudaErrorInvalidValue;
  }
  for (std::size_t i = 0; i < count; ++i)
    std::erase(node_of(*graph, to[i])->dependencies, node_of(*graph, from[i]));
  return cudaSuccess;
}

cudaError_t Graphs::destroy_node(cudaGraphNode_t handle) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Graph> graph = graph_with(handle);
  if (graph == nullptr) return cudaErrorInvalidValue;
  GraphNode* const node = node_of(*graph, handle);
  for (const auto& each : graph->nodes) std::erase(each->dependencies, node);
  std::erase_if(graph->nodes, [&](const auto& each) { return each.get() == node; });
  return cudaSuccess;
}

cudaError_t Graphs::type_of(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  if (type == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  const GraphNode* const node = find_node(handle);
  if (node == nullptr) return cudaErrorInvalidValue;
  *type = node->work.type;
  return cudaSuccess;
}

cudaError_t Graphs::edges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to,
                          std::size_t* count) {
  const auto graph = find(handle);
  if (graph == nullptr || count == nullptr || (from == nullptr) != (to == nullptr))
    return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  std::vector<cudaGraphNode_t> before, after;
  for (const auto& node : graph->nodes) {
    for (GraphNode* const each : node->dependencies) {
      before.push_back(handle_of(each));
      after.push_back(handle_of(node.get()));
    }
  }
  std::size_t same = *count;
  store(before, from, same);
  store(after, to, *count);
  return cudaSuccess;
}

std::optional<Work> Graphs::work_of(cudaGraphNode_t handle, cudaGraphNodeType type) {
  const std::lock_guard lock(mutex_);
  const GraphNode* const node = find_node(handle);
  if (node == nullptr || node->work.type != type) return std::nullopt;
  return node->work;
}

std::shared_ptr<const KernelCall> Graphs::kernel_of(cudaGraphNode_t handle) {
  const std::lock_guard lock(mutex_);
  const GraphNode* const node = find_node(handle);
  return node != nullptr ? node->work.kernel : nullptr;
}

std::shared_ptr<const GraphMemory> Graphs::memory_of(cudaGraphNode_t handle, bool allocates) {
  const std::lock_guard lock(mutex_);
  const GraphNode* const node = find_node(handle);
  const bool is_it = node != nullptr &&
                     node->work.type == (allocates ? cudaGraphNodeTypeMemAlloc : cudaGraphNodeTypeMemFree);
  return is_it ? node->work.memory : nullptr;
}

cudaError_t Graphs::find_in_clone(cudaGraphNode_t node, cudaGraph_t clone, cudaGraphNode_t* found) {
  const auto graph = find(clone);
  if (graph == nullptr || found == nullptr) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex_);
  const auto twin = std::find_if(graph->nodes.begin(), graph->nodes.end(), [&](const auto& each) {
    return each->origin == reinterpret_cast<const GraphNode*>(node);
  });
  if (node == nullptr || twin == graph->nodes.end()) return cudaErrorInvalidValue;
  *found = handle_of(twin->get());
  return cudaSuccess;
}

cudaError_t Graphs::set_work(cudaGraphNode_t handle, Work work) {
  const std::lock_guard lock(mutex_);
  GraphNode* const node = find_node(handle);
  if (node == nullptr || node->work.type != work.type) return cudaErrorInvalidValue;
  node->work = std::move(work);
  return cudaSuccess;
}

cudaError_t Graphs::child_of(cudaGraphNode_t handle, cudaGraph_t* child) {
  const std::lock_guard lock(mutex_);
  const GraphNode* const node = find_node(handle);
  if (child == nullptr || node == nullptr || node->child == nullptr) return cudaErrorInvalidValue;
  *child = reinterpret_cast<cudaGraph_t>(node->child.get());
  return cudaSuccess;
}

std::optional<std::vector<GraphStep>> Graphs::steps_of(cudaGraph_t handle) {
  const auto graph = find(handle);
  if (graph == nullptr) return std::nullopt;
  std::vector<GraphStep> steps;
  const std::lock_guard lock(mutex_);
  if (!append_steps(*graph, steps)) return std::nullopt;
  return steps;
}

}  // namespace lynxpp::device::cpu
