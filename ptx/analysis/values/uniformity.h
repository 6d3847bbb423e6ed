// Determines which values and branches vary between the threads that execute an instruction together.
//
// A value is uniform in a warp (in a block, over the blocks) if all threads of one warp (of one block;
// threads of the same index in any two blocks) that execute the same instance of an instruction see the same
// value. Threads that diverged count as together again after the branch's immediate post-dominator, as on the
// cpu device. "Uniform" is a guarantee; "varies" is not: values that the analysis cannot follow (loads from
// memory that is written, calls, undefined registers) vary.
//
// If threads take different paths, values merged at the join vary even if each is uniform; a value defined in
// a loop that threads leave in different iterations varies after the loop, although it may be uniform inside.
//
// A warp executes instructions of warpgroups together, as PTX requires. Lanes therefore agree at a branch if
// one of its targets always reaches such an instruction before the paths join again.
//
// In launches with whole rows (LaunchShape) warps are rows: %tid.y does not vary in them, nor do values
// independent of the lane bits of %tid.x (lane_rows.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/analysis/flow/loops.h"
#include "ptx/analysis/flow/ssa.h"
#include "ptx/analysis/launch_shape.h"
#include "ptx/analysis/values/lane_rows.h"

namespace lynxpp::ptx {

/// Scopes over which a value may vary; a set of bits. A value that varies in a warp varies in a block.
using Variance = std::uint8_t;
inline constexpr Variance uniform = 0;
inline constexpr Variance varies_in_warp = 1;
inline constexpr Variance varies_in_block = 2;
inline constexpr Variance varies_over_blocks = 4;
inline constexpr Variance varies = varies_in_warp | varies_in_block | varies_over_blocks;

/// Variance of a special register, by name with its component ("%tid.x").
Variance variance_of_special_register(std::string_view name, const LaunchShape& launch = {});

/// True if all lanes of a warp execute the instruction together, or none does: an instruction of a warpgroup.
bool executes_together(const Instruction& instruction);

class Uniformity {
 public:
  Uniformity(const Function& function, const ControlFlowGraph& graph, const DominatorTree& dominators,
             const LoopNest& loops, const RegisterUsage& usage, const SsaForm& ssa,
             const LaunchShape& launch = {});

  /// Variance where the value is defined.
  Variance of_value(ValueId value) const { return value == no_value ? varies : values_[value]; }
  /// Variance where `block` reads the value, possibly after the loop that defines it.
  Variance of_value_at(ValueId value, std::uint32_t block) const;
  Variance of_register_read(std::uint32_t instruction, RegisterId reg) const;
  /// Variance of a register, constant, special register, address or vector, as `instruction` reads it.
  Variance of_operand(std::uint32_t instruction, const Operand& operand) const;
  /// Variance of the edge that a block's last instruction takes: uniform if it has only one.
  Variance of_branch(std::uint32_t block) const { return branches_[block]; }
  /// Variance of the threads that converge at the block's entry: nonzero if they may arrive on different
  /// paths.
  Variance of_join(std::uint32_t block) const { return joins_[block] | everywhere_; }
  /// True if all lanes of a warp execute the block equally often, because it has an instruction that they
  /// execute together.
  bool is_joint(std::uint32_t block) const { return joint_[block]; }
  /// Nonzero if threads may leave the loop in different iterations.
  Variance of_loop_exit(std::uint32_t loop) const { return loop_exits_[loop]; }

 private:
  /// Effects of a divergent branch.
  struct Influence {
    bool known = false;
    bool everywhere = false;           ///< not computed: perhaps anywhere
    std::vector<std::uint32_t> joins;  ///< blocks where different paths join
    std::vector<std::uint32_t> exits;  ///< loops that threads may leave in different iterations
  };

  void solve();
  bool update_block(std::uint32_t block);
  bool update_branch(std::uint32_t block);
  bool raise(ValueId value, Variance variance);
  bool update_row(ValueId value, RowValue row);
  bool update_phi_row(ValueId phi, std::uint32_t block);
  bool update_written_rows(std::uint32_t instruction, Variance guard);
  RowValue row_at(ValueId value, std::uint32_t block) const;
  std::vector<RowOperand> row_operands(std::uint32_t instruction) const;
  bool hides_lanes(std::uint32_t instruction) const;
  void raise_joins(std::uint32_t block, Variance variance);
  Variance evaluate(std::uint32_t instruction) const;
  Variance evaluate_exchange(std::uint32_t at, Variance operands) const;
  bool is_broadcast(std::uint32_t at) const;
  std::optional<std::int64_t> constant_of(std::uint32_t instruction, const Operand& operand) const;
  bool must_agree(std::uint32_t block);
  Variance evaluate_load(const Instruction& instruction, Variance address) const;
  const Influence& influence_of(std::uint32_t block);
  Influence find_influence(std::uint32_t block);
  void find_joint_blocks();

  const Function& function_;
  const ControlFlowGraph& graph_;
  const DominatorTree& dominators_;
  const LoopNest& loops_;
  const RegisterUsage& usage_;
  const SsaForm& ssa_;
  const LaunchShape launch_;
  std::vector<std::uint32_t> post_dominators_;
  std::vector<RowValue> rows_;  ///< per value; empty: the shape of warps is unknown
  std::vector<Variance> values_, branches_, joins_, loop_exits_;
  std::vector<Influence> influences_;
  std::vector<bool> joint_;        ///< per block: see is_joint()
  Variance everywhere_ = uniform;  ///< from branches whose influence was not computed
  /// Remaining steps for finding influences, so that functions with thousands of nested regions take linear
  /// time.
  std::size_t budget_ = 0;             ///< edges that find_influence() may still follow, over all branches
  std::vector<std::uint32_t> joined_;  ///< the last branch whose influence each block was added to
};

}  // namespace lynxpp::ptx
