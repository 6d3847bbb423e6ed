// Basic blocks and control flow of one function body.
//
// A basic block is a maximal run of instructions entered only at its first and left only at its last one.
// Blocks begin at the start of the body, at every label and after every instruction for which
// traits.ends_block() holds: branches, calls (a callee may exit), ret, exit and trap, guarded or not. Blocks
// are numbered in textual order from 0. Adjacent labels share a block; a label at the very end of the body
// makes an empty last block, and a body without instructions is one empty block.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

inline constexpr std::uint32_t no_block = 0xffffffff;

struct BasicBlock {
  std::uint32_t begin = 0;                  ///< first instruction (index in Body::instructions)
  std::uint32_t end = 0;                    ///< one past the last
  std::vector<std::uint32_t> successors;    ///< taken targets first, fall-through last; no duplicates
  std::vector<std::uint32_t> predecessors;  ///< ascending, without duplicates
  /// Targets of the branch at its end: one block for bra; for brx.idx one per entry of the target list, in
  /// that order and with duplicates. Labels are looked up in the branch's own scope, then in the enclosing
  /// ones; unknown labels are omitted.
  std::vector<std::uint32_t> targets;
  std::uint32_t fall_through = no_block;  ///< the successor reached without a jump
  /// ends in ret, exit or trap (possibly guarded), or falls off the end of the body
  bool leaves_function = false;
  std::uint32_t line = 0;  ///< PTX line of its first instruction

  std::uint32_t size() const { return end - begin; }
};

struct ControlFlowGraph {
  std::vector<BasicBlock> blocks;
  std::vector<std::uint32_t> block_of;  ///< per instruction

  /// First block with this label, in any scope; no_block if the label is unknown. For a branch's target use
  /// BasicBlock::targets.
  std::uint32_t block_of_label(std::string_view label) const;

  std::vector<std::pair<std::string_view, std::uint32_t>> labels;
};

/// Precondition: function.body is present. A brx.idx whose target list is unknown has every label as a
/// successor.
ControlFlowGraph build_control_flow_graph(const Function& function);

/// Immediate post-dominator of each block; no_block if only the virtual exit post-dominates it, and for
/// blocks that reach no exit.
std::vector<std::uint32_t> immediate_post_dominators(const ControlFlowGraph& graph);

/// Calls and taken function addresses of one function. An identifier operand that names a function of the
/// module outside a direct call takes its address.
struct CallSites {
  std::vector<std::string_view> direct;
  std::vector<std::string_view> address_taken;
  bool indirect = false;
};
CallSites find_calls(const Module& module, const Function& function);

/// True for functions that a module declares and the driver's compiler provides: "vprintf" and similar. They
/// do not wait for a thread block.
bool is_defined_by_driver(std::string_view function);

}  // namespace lynxpp::ptx
