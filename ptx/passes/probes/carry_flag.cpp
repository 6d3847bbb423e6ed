#include "ptx/passes/probes/carry_flag.h"

#include <algorithm>

#include "ptx/analysis/opcode_modifiers.h"

namespace lynxpp::ptx {
namespace {

bool reads_carry(std::string_view opcode) {
  return opcode.starts_with("addc.") || opcode.starts_with("subc.") || opcode.starts_with("madc.");
}

bool loses_carry(const Code& code) {
  return std::ranges::any_of(code.statements, [](const CodeStatement& statement) {
    const auto* const instruction = std::get_if<CodeInstruction>(&statement);
    return instruction != nullptr &&
           (opcode_root(instruction->opcode) == "call" || has_modifier(instruction->opcode, "cc"));
  });
}

}  // namespace

CarryFlag::CarryFlag(const Function& function, const ControlFlowGraph& graph)
    : live_before_(function.body->instructions.size()), live_after_(function.body->instructions.size()) {
  const std::vector<Instruction>& instructions = function.body->instructions;
  if (std::ranges::none_of(instructions, [](const Instruction& each) { return reads_carry(each.opcode); }))
    return;
  std::vector<bool> live_in(graph.blocks.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t block = static_cast<std::uint32_t>(graph.blocks.size()); block-- > 0;) {
      const BasicBlock& range = graph.blocks[block];
      bool live = std::ranges::any_of(range.successors, [&](std::uint32_t next) { return live_in[next]; });
      for (std::uint32_t i = range.end; i-- > range.begin;) {
        const Instruction& instruction = instructions[i];
        live_after_[i] = live;
        if (has_modifier(instruction.opcode, "cc") && !instruction.guarded()) live = false;
        if (reads_carry(instruction.opcode)) live = true;
        live_before_[i] = live;
      }
      if (live == live_in[block]) continue;
      live_in[block] = live;
      changed = true;
    }
  }
}

/// Saves the flag as 0 or 1; adding 2^32 - 1 to it sets the carry if the flag was set. This also covers
/// subtraction, which uses the same flag.
Code CarryFlag::preserve(bool is_live, Code code, NameSource& names) {
  if (!is_live || !loses_carry(code)) return code;
  CodeBuilder kept(names);
  const VirtualRegister flag = kept.b32("addc.u32", {0, 0});
  kept.append(std::move(code));
  kept.b32("add.cc.u32", {flag, -1});
  return kept.take();
}

}  // namespace lynxpp::ptx
