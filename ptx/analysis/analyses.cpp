#include "ptx/analysis/analyses.h"

namespace lynxpp::ptx {

const ControlFlowGraph& FunctionAnalyses::graph() {
  if (!graph_) graph_ = std::make_unique<ControlFlowGraph>(build_control_flow_graph(*function_));
  return *graph_;
}

const std::vector<std::uint32_t>& FunctionAnalyses::post_dominators() {
  if (!post_dominators_) {
    post_dominators_ = std::make_unique<std::vector<std::uint32_t>>(immediate_post_dominators(graph()));
  }
  return *post_dominators_;
}

const DominatorTree& FunctionAnalyses::dominators() {
  if (!dominators_) dominators_ = std::make_unique<DominatorTree>(graph());
  return *dominators_;
}

const LoopNest& FunctionAnalyses::loops() {
  if (!loops_) loops_ = std::make_unique<LoopNest>(graph(), dominators());
  return *loops_;
}

const RegisterUsage& FunctionAnalyses::registers() {
  if (!registers_) registers_ = std::make_unique<RegisterUsage>(*function_->body);
  return *registers_;
}

const Liveness& FunctionAnalyses::liveness() {
  if (!liveness_) liveness_ = std::make_unique<Liveness>(graph(), registers());
  return *liveness_;
}

const SsaForm& FunctionAnalyses::ssa() {
  if (!ssa_) ssa_ = std::make_unique<SsaForm>(graph(), dominators(), registers());
  return *ssa_;
}

const Uniformity& FunctionAnalyses::uniformity() {
  if (!uniformity_) {
    uniformity_ =
        std::make_unique<Uniformity>(*function_, graph(), dominators(), loops(), registers(), ssa(), launch_);
  }
  return *uniformity_;
}

const AffineAnalysis& FunctionAnalyses::affine() {
  if (!affine_) {
    affine_ = std::make_unique<AffineAnalysis>(*function_, graph(), dominators(), loops(), registers(), ssa(),
                                               launch_.most_threads);
  }
  return *affine_;
}

const LanePatterns& FunctionAnalyses::lane_patterns() {
  if (!lane_patterns_) {
    lane_patterns_ = std::make_unique<LanePatterns>(*function_, graph(), dominators(), loops(), registers(),
                                                    ssa(), uniformity(), affine(), launch_);
  }
  return *lane_patterns_;
}

}  // namespace lynxpp::ptx
