// Accesses whose words need no update each time they are made: the static analysis of GMProf (Zheng et al.,
// 2012, section 4.1), and the interprocedural part that it leaves out: what is asked of a function holds in
// those that the kernel calls, too.
//
//   tile[tid.x] = 0          fully static     nothing in the kernel: the host knows address and number
//   sum += centre[0]         by one thread    the block's threads make it together: one adds their number;
//                                             or those of a warp that make it: one of these does
//   for … sum += own[tid.x]  at a loop's end  each thread adds how often it went through the loop
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/ir/memory_access.h"

namespace lynxpp::ptx {

struct InstrumentationUnit;

struct WordSite {
  enum class Threads : std::uint8_t {
    each,         ///< counts for itself
    of_a_warp,    ///< those that make the access together make it at one address
    of_the_block  ///< all make it equally often, at one address
  };
  Threads threads = Threads::each;
  /// The outermost loop in which the address stays; the access is counted after it. Not for of_a_warp.
  std::uint32_t loop = no_loop;
};
/// By the instruction's id in the variant and the side of the access.
using WordSites = std::map<std::pair<std::uint32_t, std::uint32_t>, WordSite>;

/// Of one function.
class WordSiteAnalysis {
 public:
  /// `entered_together`: all threads of a block call the function together, whenever one does.
  WordSiteAnalysis(FunctionAnalyses& analyses, bool entered_together);

  /// Whether address and number of the access follow from the launch's configuration and the beginning of
  /// its array.
  bool is_static(std::uint32_t instruction) const;
  /// nullopt: it is to be counted each time.
  std::optional<WordSite> find(std::uint32_t instruction, const MemoryAccess& access) const;
  /// Whether all threads of a block execute the instruction together.
  bool is_together(std::uint32_t instruction) const;

 private:
  void find_control_dependences();
  bool stays_in(const AffineForm& address, std::uint32_t loop) const;
  std::uint32_t loop_of_address(std::uint32_t instruction, const MemoryAccess& access) const;

  FunctionAnalyses& analyses_;
  bool entered_together_;
  /// By block: the blocks whose branches decide whether it runs, those that decide about these included.
  std::vector<std::set<std::uint32_t>> deciding_;
};

/// By position in unit.reached.functions: whether all threads of a block enter it together.
std::vector<bool> functions_entered_together(InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
