// The analyses of a unit's functions, computed when a pass first asks for them and kept for the passes behind
// it.
#pragma once

#include <map>

#include "ptx/analysis/analyses.h"

namespace lynxpp::ptx {

/// What of the analyses still holds after a pass. Edits alone change nothing: the analyses describe the
/// module, which stays as it is.
enum class Preserved {
  all,
  control_flow,  ///< graph, dominators, post-dominators, loops: the pass changed instructions but no block
  none,
};

class AnalysisCache {
 public:
  explicit AnalysisCache(const LaunchShape& launch) : launch_(launch) {}

  /// `function` has its body parsed and outlives the cache. The reference is valid until the next
  /// invalidate().
  FunctionAnalyses& of(const Function& function) {
    return analyses_.try_emplace(&function, function, launch_).first->second;
  }

  void invalidate(Preserved preserved) {
    for (auto& [function, analyses] : analyses_) {
      if (preserved == Preserved::none) analyses.invalidate();
      if (preserved == Preserved::control_flow) analyses.invalidate_data_flow();
    }
  }

 private:
  const LaunchShape launch_;
  std::map<const Function*, FunctionAnalyses> analyses_;
};

}  // namespace lynxpp::ptx
