// Where the phis of pruned SSA form stand, found from the reads. Inside this folder only.
//
// The blocks that write a register form a tree: the parent of one is the nearest that strictly dominates it,
// and above all stands what the register held at the function's entry. A read sees the nearest write that
// dominates it, unless a phi stands between them; and phis that have one nearest write d stand in the
// frontiers of d's children and of each other, below d. So frontiers are looked at below those writes only
// that some read has nearest: with n loops in one another that count in a register each, that is one join for
// each register.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/dominance_frontiers.h"
#include "ptx/analysis/registers/block_uses.h"

namespace lynxpp::ptx {

class PhiPlacement {
 public:
  /// Borrows all three.
  PhiPlacement(const ControlFlowGraph& graph, const DominatorTree& dominators, const BlockUses& uses);

  /// Appends the blocks where a phi of `reg` is needed: where values meet that some instruction reads.
  void append_joins(RegisterId reg, std::vector<std::uint32_t>& joins);

  /// Places and jumps looked at so far.
  std::size_t steps() const { return steps_ + walk_.steps(); }

 private:
  static constexpr std::uint32_t at_entry = 0xffffffff;  ///< instead of a place: before all of them

  /// A block that writes the register or may have a phi of it.
  struct Place {
    std::uint32_t block = 0;
    std::uint32_t parent = at_entry;
    bool writes = false;
    bool is_whole = false;  ///< the write; else what the register held before may be left of it
    bool is_kept = false;   ///< and somebody wants that
    bool has_phi = false;
    bool is_needed = false;    ///< the phi
    bool is_searched = false;  ///< the frontiers of the writes below
  };

  /// From this place of the dominator tree's walk on, `place` is the last one that dominates.
  struct Reach {
    std::uint32_t walk_order = 0;
    std::uint32_t place = at_entry;
  };

  bool is_trivial(RegisterId reg) const;
  void begin(RegisterId reg);
  void sort_places();
  void find_reaches();
  /// The last place that dominates `block`.
  std::uint32_t nearest(std::uint32_t block);
  void want_before(std::uint32_t block);
  void want_behind(std::uint32_t block);
  void search_below(std::uint32_t write);
  void find_candidates(std::uint32_t write);
  void need_before(std::uint32_t block);
  void need(std::uint32_t place, bool behind);

  const ControlFlowGraph& graph_;
  const DominatorTree& dominators_;
  const BlockUses& uses_;
  DominanceFrontiers frontiers_;
  DominanceFrontiers::Walk walk_;
  std::vector<RegisterId> candidate_of_;  ///< by block: the last register
  std::vector<Place> places_;
  std::vector<Reach> reaches_;                        ///< ascending
  std::vector<std::vector<std::uint32_t>> children_;  ///< by place, those of at_entry last
  std::vector<std::uint32_t> candidates_, searches_, work_, found_;
  RegisterId reg_ = no_register;
  bool entry_is_searched_ = false;
  std::size_t steps_ = 0;
};

}  // namespace lynxpp::ptx
