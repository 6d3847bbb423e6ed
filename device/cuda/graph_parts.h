// A graph taken apart: its kernel nodes, to be launched one by one, and executable graphs of the other nodes
// between them.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "device/cuda/driver.h"
#include "device/graphs.h"

namespace lynxpp::device::cuda {

/// Owns the executable graphs, which may still run when it is destroyed.
class GraphParts {
 public:
  /// Fails if the driver does not report the nodes, or if a kernel needs an attribute that only a graph's
  /// node can have.
  static Result<std::unique_ptr<GraphParts>> of(const Driver& driver, const GraphCopy& copy);
  ~GraphParts();
  GraphParts(const GraphParts&) = delete;
  GraphParts& operator=(const GraphParts&) = delete;

  /// In an order that keeps all dependencies if each part starts after the one before it has ended.
  const std::vector<ProgramGraph::Part>& parts() const { return parts_; }
  /// Launches the other nodes of a part.
  Status launch_others(std::size_t part, CUstream stream) const;

 private:
  explicit GraphParts(const Driver& driver) : driver_(driver) {}
  Status add(const GraphCopy& copy, CUgraph graph);
  Status add_others(CUgraph graph, const std::vector<CUgraphNode>& all, std::vector<CUgraphNode>& others);
  Result<std::vector<CUgraphNode>> nodes_of(CUgraph graph) const;
  /// Returns the nodes, each after those that it depends on.
  Result<std::vector<CUgraphNode>> ordered(const std::vector<CUgraphNode>& nodes) const;

  const Driver& driver_;
  std::vector<ProgramGraph::Part> parts_;
  std::vector<CUgraphExec> others_;  ///< by part; null for kernels
};

}  // namespace lynxpp::device::cuda
