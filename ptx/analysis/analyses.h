// Lazily computed, cached analyses of one function.
#pragma once

#include <memory>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/flow/dominators.h"
#include "ptx/analysis/flow/loops.h"
#include "ptx/analysis/flow/ssa.h"
#include "ptx/analysis/launch_shape.h"
#include "ptx/analysis/registers/liveness.h"
#include "ptx/analysis/registers/registers.h"
#include "ptx/analysis/values/affine.h"
#include "ptx/analysis/values/lane_pattern.h"
#include "ptx/analysis/values/uniformity.h"

namespace lynxpp::ptx {

/// Borrows the function, whose body must be parsed and must not change. Not thread safe.
class FunctionAnalyses {
 public:
  explicit FunctionAnalyses(const Function& function, const LaunchShape& launch = {})
      : function_(&function), launch_(launch) {}

  const Function& function() const { return *function_; }
  const LaunchShape& launch() const { return launch_; }
  const ControlFlowGraph& graph();
  const std::vector<std::uint32_t>& post_dominators();
  const DominatorTree& dominators();
  const LoopNest& loops();
  const RegisterUsage& registers();
  const Liveness& liveness();
  const SsaForm& ssa();
  const Uniformity& uniformity();
  const AffineAnalysis& affine();
  const LanePatterns& lane_patterns();

 private:
  const Function* function_;
  LaunchShape launch_;
  // Dependents are declared after their dependencies: members are destroyed in reverse order.
  std::unique_ptr<ControlFlowGraph> graph_;
  std::unique_ptr<std::vector<std::uint32_t>> post_dominators_;
  std::unique_ptr<DominatorTree> dominators_;
  std::unique_ptr<LoopNest> loops_;
  std::unique_ptr<RegisterUsage> registers_;
  std::unique_ptr<Liveness> liveness_;
  std::unique_ptr<SsaForm> ssa_;
  std::unique_ptr<Uniformity> uniformity_;
  std::unique_ptr<AffineAnalysis> affine_;
  std::unique_ptr<LanePatterns> lane_patterns_;
};

}  // namespace lynxpp::ptx
