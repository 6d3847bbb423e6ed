// Inserts routines where threads enter, repeat and exit loops, and counts each thread's iterations of each
// loop.
#pragma once

#include <cstdint>
#include <functional>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/probes/loop_edges.h"
#include "ptx/passes/unit.h"

namespace lynxpp::ptx {

class SiteValues;

/// The loops of one function. A thread that exits within a callee does not exit the loop.
class LoopSites {
 public:
  /// Adds the routines of a loop's point in this block.
  using AddProbes = std::function<void(ProbePoint, std::uint32_t loop, std::uint32_t block, CodeBuilder&)>;

  /// The references must outlive this object.
  LoopSites(InstrumentationUnit& unit, const FunctionUnit& function, SiteValues& values, AddProbes add);

  /// At the function's entry.
  void add_function_entry(CodeBuilder& code) const;
  /// Before the block's first instruction.
  void add_block_start(std::uint32_t block, CodeBuilder& code) const;
  /// Before the block's last instruction, `last`, and after it.
  void add_before_end(std::uint32_t block, const Instruction& last, CodeBuilder& code) const;
  void add_after_end(std::uint32_t block, const Instruction& last, CodeBuilder& code) const;

 private:
  Code probes_of(const LoopEdge& edge, std::uint32_t block) const;
  void add_where_taken(std::uint32_t block, const Instruction& branch, std::uint32_t target, Code probes,
                       CodeBuilder& code) const;

  const FunctionUnit& function_;
  NameSource& names_;
  SiteValues& values_;
  const LoopNest& loops_;
  AddProbes add_;
  bool counts_trips_ = false;
  bool is_needed_ = false;
};

}  // namespace lynxpp::ptx
