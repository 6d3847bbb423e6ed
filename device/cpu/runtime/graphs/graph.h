// Graphs of work and dependencies, built by calls or captured from streams.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

namespace lynxpp::device::cpu {

struct Event;
struct Graph;
struct GraphMemory;
struct Kernel;

/// The launch of a kernel node, in the form in which the program can query it. Not copyable, because it
/// points into itself.
struct KernelCall {
  KernelCall() = default;
  KernelCall(const KernelCall&) = delete;
  KernelCall& operator=(const KernelCall&) = delete;

  Kernel* kernel = nullptr;
  int device = 0;  ///< that runs it
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;  ///< dynamic
  bool cooperative = false;
  std::uint32_t cluster[3] = {0, 0, 0};  ///< same as in Launch
  std::vector<std::byte> buffer;         ///< of the parameters
  std::vector<void*> parameters;         ///< pointers into `buffer`
};

/// The parameters of a node, in the form in which the program can query it.
using NodeParameters =
    std::variant<std::monostate, cudaMemcpy3DParms, cudaMemsetParams, cudaHostNodeParams, cudaEvent_t>;

/// Work that becomes a node if its stream is being captured; it may then run any number of times.
struct Work {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::function<void()> run;                       ///< null if there is nothing to do
  std::shared_ptr<const KernelCall> kernel;        ///< the captured launch; null for other work
  std::shared_ptr<const GraphMemory> memory = {};  ///< allocated or freed by the node; null for other work
  std::shared_ptr<Event> event = {};               ///< recorded or waited for; null for other work
  NodeParameters parameters = {};                  ///< empty for kernels, and for captured copies and fills
};

struct GraphNode {
  Work work;
  std::shared_ptr<Graph> child;          ///< the node's own copy of a child graph; null for other nodes
  std::vector<GraphNode*> dependencies;  ///< nodes of the same graph
  const GraphNode* origin = nullptr;     ///< the node from which this one was copied; only compared
};

/// Guarded by Graphs, including its nodes.
struct Graph {
  int device = 0;                                 ///< that was current when the graph was created
  std::vector<std::unique_ptr<GraphNode>> nodes;  ///< in order of creation
};

/// A node's work at instantiation.
struct GraphStep {
  const GraphNode* node;  ///< of the source graph; never dereferenced
  Work work;
  bool is_enabled = true;
};

}  // namespace lynxpp::device::cpu
