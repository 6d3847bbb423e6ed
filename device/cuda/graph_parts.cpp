#include "device/cuda/graph_parts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lynxpp::device::cuda {
namespace {

constexpr const char* not_known = "the driver does not report the graph's nodes";

bool is_among(const std::vector<void*>& nodes, CUgraphNode node) {
  return std::ranges::count(nodes, static_cast<void*>(node)) != 0;
}

}  // namespace

Result<std::unique_ptr<GraphParts>> GraphParts::of(const Driver& driver, const GraphCopy& copy) {
  if (!driver.can_take_graphs_apart()) return failure("the driver is too old to take graphs apart");
  std::unique_ptr<GraphParts> made(new GraphParts(driver));
  if (Status added = made->add(copy, static_cast<CUgraph>(copy.graph)); !added) return added.error();
  return made;
}

GraphParts::~GraphParts() {
  for (const CUgraphExec each : others_) {
    if (each != nullptr) driver_.cuGraphExecDestroy(each);
  }
}

Status GraphParts::launch_others(std::size_t part, CUstream stream) const {
  const CUresult result = driver_.cuGraphLaunch(others_[part], stream);
  return result == CUDA_SUCCESS ? success() : Status(driver_.error("cuGraphLaunch", result));
}

Result<std::vector<CUgraphNode>> GraphParts::nodes_of(CUgraph graph) const {
  std::size_t count = 0;
  if (driver_.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) return failure(not_known);
  std::vector<CUgraphNode> nodes(count);
  if (count != 0 && driver_.cuGraphGetNodes(graph, nodes.data(), &count) != CUDA_SUCCESS)
    return failure(not_known);
  return nodes;
}

Result<std::vector<CUgraphNode>> GraphParts::ordered(const std::vector<CUgraphNode>& nodes) const {
  std::map<CUgraphNode, std::size_t> awaited;
  std::map<CUgraphNode, std::vector<CUgraphNode>> dependents;
  std::vector<CUgraphNode> order;
  for (const CUgraphNode node : nodes) {
    std::size_t count = 0;
    if (driver_.cuGraphNodeGetDependencies(node, nullptr, nullptr, &count) != CUDA_SUCCESS)
      return failure(not_known);
    std::vector<CUgraphNode> before(count);
    std::vector<CUgraphEdgeData> edges(count);
    if (count != 0 &&
        driver_.cuGraphNodeGetDependencies(node, before.data(), edges.data(), &count) != CUDA_SUCCESS)
      return failure(not_known);
    for (const CUgraphNode each : before) dependents[each].push_back(node);
    awaited[node] = count;
    if (count == 0) order.push_back(node);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const CUgraphNode node : dependents[order[i]])
      if (--awaited[node] == 0) order.push_back(node);
  }
  if (order.size() != nodes.size()) return failure(not_known);
  return order;
}

Status GraphParts::add(const GraphCopy& copy, CUgraph graph) {
  const Result<std::vector<CUgraphNode>> nodes = nodes_of(graph);
  if (!nodes) return nodes.error();
  const Result<std::vector<CUgraphNode>> order = ordered(*nodes);
  if (!order) return order.error();
  std::vector<CUgraphNode> others;
  for (const CUgraphNode node : *order) {
    CUgraphNodeType type{};
    if (driver_.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) return failure(not_known);
    if (is_among(copy.disabled, node) || type == CU_GRAPH_NODE_TYPE_EMPTY) continue;
    if (type != CU_GRAPH_NODE_TYPE_KERNEL && type != CU_GRAPH_NODE_TYPE_GRAPH) {
      others.push_back(node);
      continue;
    }
    if (Status added = add_others(graph, *nodes, others); !added) return added;
    if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
      CUgraph inner = nullptr;
      if (driver_.cuGraphChildGraphNodeGetGraph(node, &inner) != CUDA_SUCCESS) return failure(not_known);
      if (Status added = add(copy, inner); !added) return added;
      continue;
    }
    CUlaunchAttributeValue value{};
    const bool has_cluster = driver_.cuGraphKernelNodeGetAttribute(
                                 node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value) == CUDA_SUCCESS &&
                             value.clusterDim.x != 0;
    if (has_cluster) return failure("a kernel's clusters are set in the graph's node");
    const auto kernel = std::ranges::find(copy.kernels, static_cast<void*>(node));
    if (kernel == copy.kernels.end()) return failure(not_known);
    parts_.push_back({static_cast<std::size_t>(kernel - copy.kernels.begin())});
    others_.push_back(nullptr);
  }
  return add_others(graph, *nodes, others);
}

/// Moves the other nodes, with the edges between them, into an executable graph of their own.
Status GraphParts::add_others(CUgraph graph, const std::vector<CUgraphNode>& all,
                              std::vector<CUgraphNode>& others) {
  if (others.empty()) return success();
  CUgraph clone = nullptr;
  CUresult result = driver_.cuGraphClone(&clone, graph);
  if (result != CUDA_SUCCESS) return driver_.error("cuGraphClone", result);
  for (const CUgraphNode node : all) {
    if (result != CUDA_SUCCESS || std::ranges::count(others, node) != 0) continue;
    CUgraphNode twin = nullptr;
    result = driver_.cuGraphNodeFindInClone(&twin, node, clone);
    if (result == CUDA_SUCCESS) result = driver_.cuGraphDestroyNode(twin);
  }
  CUgraphExec made = nullptr;
  if (result == CUDA_SUCCESS) result = driver_.cuGraphInstantiateWithFlags(&made, clone, 0);
  driver_.cuGraphDestroy(clone);
  if (result != CUDA_SUCCESS) return driver_.error("a graph cannot be taken apart", result);
  parts_.push_back({});
  others_.push_back(made);
  others.clear();
  return success();
}

}  // namespace lynxpp::device::cuda
