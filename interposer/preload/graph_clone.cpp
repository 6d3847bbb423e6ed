#include "interposer/preload/graph_clone.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "interposer/preload/driver.h"

namespace lynxpp::preload {
namespace {

/// CUgraphEdgeData.
struct EdgeData {
  unsigned char from_port;
  unsigned char to_port;
  unsigned char type;
  unsigned char reserved[5];
};

/// The nodes at one end of a node's edges.
struct Edges {
  std::vector<void*> nodes;
  std::vector<EdgeData> data;
};

using List = CUresult (*)(void*, void**, std::size_t*);
using ListEdges = CUresult (*)(void*, void**, EdgeData*, std::size_t*);
using AddEdges = CUresult (*)(void*, void* const*, void* const*, const EdgeData*, std::size_t);
using AddChild = CUresult (*)(void**, void*, const void*, std::size_t, void*);
using Destroy = CUresult (*)(void*);

/// `list`: cuGraphNodeGetDependencies_v2 or cuGraphNodeGetDependentNodes_v2. Returns false if the driver does
/// not report the edges.
bool read_edges(const char* list, void* node, Edges& edges) {
  const auto read = driver_function<ListEdges>(list);
  std::size_t count = 0;
  if (read == nullptr || read(node, nullptr, nullptr, &count) != cuda_success) return false;
  edges.nodes.resize(count);
  edges.data.resize(count);
  return count == 0 || read(node, edges.nodes.data(), edges.data.data(), &count) == cuda_success;
}

bool add_edges(void* graph, const std::vector<void*>& from, const std::vector<void*>& to,
               const std::vector<EdgeData>& data) {
  if (data.empty()) return true;
  const auto add = driver_function<AddEdges>("cuGraphAddDependencies_v2");
  return add != nullptr && add(graph, from.data(), to.data(), data.data(), data.size()) == cuda_success;
}

/// Records the twins of the nodes of the graph and its child graphs, as far as the driver finds them.
void find_twins(std::unordered_map<NodeName, void*>& twins, void* graph, void* clone) {
  const auto find = driver_function<CUresult (*)(void**, void*, void*)>("cuGraphNodeFindInClone");
  if (find == nullptr) return;
  for (void* const node : nodes_of(graph)) {
    void* twin = nullptr;
    if (find(&twin, node, clone) != cuda_success) continue;
    twins.emplace(name_of(node), twin);
    void* const inner = graph_inside(node);
    void* const inner_clone = graph_inside(twin);
    if (inner != nullptr && inner_clone != nullptr) find_twins(twins, inner, inner_clone);
  }
}

}  // namespace

std::vector<void*> nodes_of(void* graph) {
  const auto list = driver_function<List>("cuGraphGetNodes");
  std::size_t count = 0;
  if (list == nullptr || list(graph, nullptr, &count) != cuda_success || count == 0) return {};
  std::vector<void*> nodes(count);
  if (list(graph, nodes.data(), &count) != cuda_success) return {};
  nodes.resize(count);
  return nodes;
}

int type_of(void* node) {
  const auto read = driver_function<CUresult (*)(void*, int*)>("cuGraphNodeGetType");
  int type = -1;
  return read != nullptr && read(node, &type) == cuda_success ? type : -1;
}

void* graph_inside(void* node) {
  const auto read = driver_function<CUresult (*)(void*, void**)>("cuGraphChildGraphNodeGetGraph");
  void* graph = nullptr;
  if (read == nullptr || type_of(node) != child_graph_node || read(node, &graph) != cuda_success)
    return nullptr;
  return graph;
}

std::unique_ptr<GraphClone> GraphClone::of(void* graph) {
  const auto clone = driver_function<CUresult (*)(void**, void*)>("cuGraphClone");
  void* made = nullptr;
  if (clone == nullptr || clone(&made, graph) != cuda_success || made == nullptr) return nullptr;
  std::unique_ptr<GraphClone> owner(new GraphClone);
  owner->graph_ = made;
  find_twins(owner->twins_, graph, made);
  return owner;
}

GraphClone::~GraphClone() {
  if (graph_ == nullptr) return;
  if (const auto destroy = driver_function<Destroy>("cuGraphDestroy")) destroy(graph_);
}

void* GraphClone::twin_of(NodeName node) const {
  const auto found = twins_.find(node);
  return found != twins_.end() ? found->second : nullptr;
}

NodeName GraphClone::invent_name(void* twin) {
  const auto name = static_cast<NodeName>(next_name_);
  next_name_ += 2;
  twins_.emplace(name, twin);
  return name;
}

/// Called when the nodes of the graph, a child graph of the clone, are about to be destroyed.
void GraphClone::forget_inside(void* graph) {
  for (void* const node : nodes_of(graph)) {
    if (void* const inner = graph_inside(node)) forget_inside(inner);
    for (auto entry = twins_.begin(); entry != twins_.end();)
      entry = entry->second == node ? twins_.erase(entry) : std::next(entry);
  }
}

void* GraphClone::replace_child(NodeName name, void* child) {
  void* const twin = twin_of(name);
  const std::vector<void*> outermost = nodes_of(graph_);
  const auto add = driver_function<AddChild>("cuGraphAddChildGraphNode");
  const auto destroy = driver_function<Destroy>("cuGraphDestroyNode");
  if (add == nullptr || destroy == nullptr ||
      std::find(outermost.begin(), outermost.end(), twin) == outermost.end())
    return nullptr;
  Edges before, behind;
  void* made = nullptr;
  if (!read_edges("cuGraphNodeGetDependencies_v2", twin, before) ||
      !read_edges("cuGraphNodeGetDependentNodes_v2", twin, behind) ||
      add(&made, graph_, nullptr, 0, child) != cuda_success)
    return nullptr;
  if (void* const inner = graph_inside(twin)) forget_inside(inner);
  twins_[name] = made;
  if (destroy(twin) != cuda_success ||
      !add_edges(graph_, before.nodes, std::vector<void*>(before.nodes.size(), made), before.data) ||
      !add_edges(graph_, std::vector<void*>(behind.nodes.size(), made), behind.nodes, behind.data))
    return nullptr;
  return graph_inside(made);
}

}  // namespace lynxpp::preload
