// Placement of the phis of pruned SSA form, driven by reads. Private to this folder.
//
// The blocks that write a register form a tree: the parent of a block is the nearest writer that strictly
// dominates it, and the root is the register's value at the function's entry. A read sees the nearest write
// that dominates it, unless a phi lies between them; and the phis whose nearest write is d are in the
// frontiers of d's children and of each other, below d. Frontiers are therefore searched only below writes
// that are nearest to some read: n nested loops that each count in a register of their own need one join per
// register.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/analysis/flow/dominance_frontiers.h"
#include "ptx/analysis/registers/block_uses.h"

namespace lynxpp::ptx {

class PhiPlacement {
 public:
  /// Borrows its arguments.
  PhiPlacement(const ControlFlowGraph& graph, const DominatorTree& dominators, const BlockUses& uses);

  /// Appends the blocks that need a phi of `reg`: joins of different values that some instruction reads.
  void append_joins(RegisterId reg, std::vector<std::uint32_t>& joins);

  /// Writers, candidates and jumps visited so far.
  std::size_t steps() const { return steps_ + walk_.steps(); }

 private:
  static constexpr std::uint32_t at_entry = 0xffffffff;  ///< sentinel index that precedes all of definitions_

  /// A block that writes the register or may need a phi for it.
  struct Definition {
    std::uint32_t block = 0;
    std::uint32_t parent = at_entry;
    bool writes = false;
    bool is_full = false;  ///< the write is full; a partial write may leave some of the old value
    bool is_kept = false;  ///< the old value, which a partial write may leave, is read
    bool has_phi = false;
    bool is_needed = false;    ///< the phi is read
    bool is_searched = false;  ///< the frontiers of the writes below have been searched
  };

  /// From this position in the dominator tree's walk on, `definition` is the last element of definitions_
  /// that dominates.
  struct Reach {
    std::uint32_t walk_order = 0;
    std::uint32_t definition = at_entry;
  };

  bool is_trivial(RegisterId reg) const;
  void begin(RegisterId reg);
  void sort_definitions();
  void find_reaches();
  /// The last element of definitions_ that dominates `block`.
  std::uint32_t nearest(std::uint32_t block);
  void want_before(std::uint32_t block);
  void want_after(std::uint32_t block);
  void search_below(std::uint32_t write);
  void find_candidates(std::uint32_t write);
  void need_before(std::uint32_t block);
  void need(std::uint32_t definition, bool at_end);

  const ControlFlowGraph& graph_;
  const DominatorTree& dominators_;
  const BlockUses& uses_;
  DominanceFrontiers frontiers_;
  DominanceFrontiers::Walk walk_;
  std::vector<RegisterId> candidate_of_;  ///< by block: the last register it was a candidate for
  std::vector<Definition> definitions_;
  std::vector<Reach> reaches_;                        ///< ascending
  std::vector<std::vector<std::uint32_t>> children_;  ///< by index into definitions_, those of at_entry last
  std::vector<std::uint32_t> candidates_, searches_, work_, found_;
  RegisterId reg_ = no_register;
  bool entry_is_searched_ = false;
  std::size_t steps_ = 0;
};

}  // namespace lynxpp::ptx
