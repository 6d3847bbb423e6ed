#include "ptx/passes/probes/carry_flag.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

bool loses_carry(const Code& code) {
  return std::ranges::any_of(code.statements, [](const CodeStatement& statement) {
    const auto* const instruction = std::get_if<CodeInstruction>(&statement);
    if (instruction == nullptr) return false;
    const OpcodeTraits traits = classify(instruction->opcode);
    return traits.op == Op::call || traits.modifiers.has(Modifier::cc);
  });
}

}  // namespace

CarryFlag::CarryFlag(const Function& function, const ControlFlowGraph& graph)
    : live_before_(function.body->instructions.size()), live_after_(function.body->instructions.size()) {
  const std::vector<Instruction>& instructions = function.body->instructions;
  const auto reads_carry = [](const Instruction& each) { return each.traits.reads_carry(); };
  if (std::ranges::none_of(instructions, reads_carry)) return;
  std::vector<bool> live_in(graph.blocks.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t block = static_cast<std::uint32_t>(graph.blocks.size()); block-- > 0;) {
      const BasicBlock& range = graph.blocks[block];
      bool live = std::ranges::any_of(range.successors, [&](std::uint32_t next) { return live_in[next]; });
      for (std::uint32_t i = range.end; i-- > range.begin;) {
        const Instruction& instruction = instructions[i];
        live_after_[i] = live;
        if (instruction.has(Modifier::cc) && !instruction.guarded()) live = false;
        if (reads_carry(instruction)) live = true;
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
