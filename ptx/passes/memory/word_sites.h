// Accesses whose words need no update at each execution: the static analysis of GMProf (Zheng et al., 2012,
// section 4.1), plus the interprocedural part that it omits: facts that hold at a function's call sites hold
// in the callees, too.
//
//   tile[tid.x] = 0          fully static     no code in the kernel: the host knows address and count
//   sum += centre[0]         by one thread    the block's threads execute it together: one thread adds their
//                                             number; or the executing threads of a warp: one of them adds
//   for … sum += own[tid.x]  at loop exit     each thread adds its number of iterations
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/ir/memory_access.h"
#include "ptx/ir/module.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

struct WordSite {
  enum class Threads : std::uint8_t {
    each,         ///< counts for itself
    of_a_warp,    ///< lanes that make the access together use one address
    of_the_block  ///< all threads make it equally often, at one address
  };
  Threads threads = Threads::each;
  /// The outermost loop in which the address is invariant; the access is counted after it. Not for of_a_warp.
  std::uint32_t loop = no_loop;
};
/// By the instruction's id in the variant and the side of the access.
using WordSites = std::map<std::pair<std::uint32_t, std::uint32_t>, WordSite>;

/// Analyses one function.
class WordSiteAnalysis {
 public:
  /// `entered_together`: whenever one thread of a block calls the function, all of them do so together.
  WordSiteAnalysis(FunctionAnalyses& analyses, bool entered_together);

  /// True if the access's addresses and count follow from the launch configuration and the base of its array.
  bool is_static(std::uint32_t instruction) const;
  /// nullopt: the access must be counted at each execution.
  std::optional<WordSite> find(std::uint32_t instruction, const MemoryAccess& access) const;
  /// True if all threads of a block execute the instruction together.
  bool is_together(std::uint32_t instruction) const;

 private:
  void find_control_dependences();
  bool stays_in(const AffineForm& address, std::uint32_t loop) const;
  std::uint32_t loop_of_address(std::uint32_t instruction, const MemoryAccess& access) const;

  FunctionAnalyses& analyses_;
  bool entered_together_;
  /// By block: the blocks whose branches it is control-dependent on, transitively.
  std::vector<std::set<std::uint32_t>> deciding_;
};

/// By position in ReachedFunctions::functions: true if all threads of a block enter it together.
std::vector<bool> functions_entered_together(const Module& module, const ReachedFunctions& reached);

}  // namespace lynxpp::ptx
