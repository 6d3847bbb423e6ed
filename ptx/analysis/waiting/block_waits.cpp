#include "ptx/analysis/waiting/block_waits.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/analysis/calls/call_graph.h"
#include "ptx/ir/memory_access.h"

namespace lynxpp::ptx {
namespace {

/// Relevant reads of a loop.
struct Reads {
  bool strong = false;   ///< reads memory that other blocks may write concurrently
  bool weak = false;     ///< reads memory that others may have written before
  bool ordered = false;  ///< forces the compiler to repeat weak reads
};

bool orders_reads(Op op) {
  return op == Op::membar || op == Op::fence || op == Op::bar || op == Op::barrier || op == Op::call;
}

/// True for memory that belongs to a thread block or that is read-only. Blocks of a cluster are always
/// co-resident; otherwise the launch fails.
bool is_private(const Instruction& instruction, StateSpace space) {
  return space == StateSpace::shared || space == StateSpace::local || space == StateSpace::param ||
         space == StateSpace::constant || space == StateSpace::texture || instruction.has(Modifier::nc);
}

void add_read(const Instruction& instruction, Reads& reads) {
  reads.ordered |= orders_reads(instruction.op());
  const MemoryAccesses accesses = memory_accesses(instruction);
  for (const MemoryAccess& access : accesses) {
    if (!access.reads || is_private(instruction, access.space)) continue;
    if (accesses.count == 2 || !access.is_sized) {
      reads.weak = reads.ordered = true;  // the loop waits for the end of a copy
      continue;
    }
    const bool is_strong =
        access.writes || access.space == StateSpace::surface ||
        instruction.has_any({Modifier::is_volatile, Modifier::acquire, Modifier::relaxed, Modifier::mmio,
                             Modifier::cv, Modifier::cg, Modifier::ld_reduce});
    (is_strong ? reads.strong : reads.weak) = true;
  }
}

bool can_see_others(const Reads& reads) { return reads.strong || (reads.weak && reads.ordered); }

/// True if the results may hold a value that the loop has read: loads from any memory that is written.
bool loads_what_was_read(const Instruction& instruction) {
  const OpcodeTraits& traits = instruction.traits;
  if (traits.kind == OpcodeClass::call) return true;
  return traits.reads_memory && traits.destinations != 0 && traits.space != StateSpace::param &&
         traits.space != StateSpace::constant && !instruction.has(Modifier::nc);
}

class Waits {
 public:
  explicit Waits(const Function& function) : function_(function), analyses_(function) {}

  bool in_some_loop() {
    if (!can_see_others(reads_of_all())) return false;
    const LoopNest& nest = analyses_.loops();
    for (std::uint32_t loop = 0; loop < nest.loops().size(); ++loop) {
      if (in_cycle(nest.blocks_of(loop))) return true;
    }
    return std::ranges::any_of(nest.irreducible_regions(),
                               [&](const auto& region) { return in_cycle(region); });
  }

  /// Reads of a function that may be called in a loop.
  bool anywhere() {
    Reads reads = reads_of_all();
    reads.ordered = true;
    return can_see_others(reads);
  }

 private:
  Reads reads_of_all() const {
    Reads reads;
    for (const Instruction& instruction : function_.body->instructions) add_read(instruction, reads);
    return reads;
  }

  bool in_cycle(const std::vector<std::uint32_t>& blocks) {
    Reads reads;
    for_each(blocks, [&](std::uint32_t i) { add_read(function_.body->instructions[i], reads); });
    return can_see_others(reads) && a_read_decides(blocks);
  }

  /// True if a branch of the cycle depends on a value that the cycle has read. Control dependence needs no
  /// tracking: the branch itself counts.
  bool a_read_decides(const std::vector<std::uint32_t>& blocks) {
    const RegisterUsage& registers = analyses_.registers();
    std::vector<bool> depends(registers.registers().size());
    const auto reads_one = [&](std::uint32_t i) {
      return std::ranges::any_of(registers.reads(i), [&](RegisterId id) { return depends[id]; });
    };
    for (bool changed = true; changed;) {
      changed = false;
      for_each(blocks, [&](std::uint32_t i) {
        if (!loads_what_was_read(function_.body->instructions[i]) && !reads_one(i)) return;
        for (const RegisterWrite& write : registers.writes(i)) {
          changed |= !depends[write.reg];
          depends[write.reg] = true;
        }
      });
    }
    bool decides = false;
    for_each(blocks, [&](std::uint32_t i) {
      const Instruction& instruction = function_.body->instructions[i];
      decides |= instruction.traits.ends_block() && instruction.op() != Op::call && reads_one(i);
    });
    return decides;
  }

  template <typename Visit>
  void for_each(const std::vector<std::uint32_t>& blocks, const Visit& visit) {
    for (const std::uint32_t block : blocks) {
      const BasicBlock& found = analyses_.graph().blocks[block];
      for (std::uint32_t i = found.begin; i < found.end; ++i) visit(i);
    }
  }

  const Function& function_;
  FunctionAnalyses analyses_;
};

}  // namespace

bool may_wait_for_blocks(const Module& module, const Function& kernel) {
  const CallGraph calls(module);
  const std::uint32_t start = calls.find(kernel.name);
  if (start == calls.nodes().size()) return true;
  for (const std::uint32_t node : calls.reachable_from(start)) {
    const CallNode& each = calls.nodes()[node];
    if (each.function == nullptr) return true;
    if (each.function->is_declaration() && is_defined_by_driver(each.function->name)) continue;
    if (!each.function->body) return true;
    if (each.calls_indirectly || !std::ranges::all_of(each.external, is_defined_by_driver)) return true;
    Waits waits(*each.function);
    if (node == start ? waits.in_some_loop() : waits.anywhere()) return true;
  }
  return false;
}

}  // namespace lynxpp::ptx
