#include "ptx/passes/module/keep_rounding.h"

namespace lynxpp::ptx {
namespace {

/// True for "add.f32", which has no explicit rounding; false for "add.rz.f32", and for "add.s32", which needs
/// none.
bool lacks_rounding(const Instruction& instruction) {
  const Op op = instruction.op();
  return (op == Op::add || op == Op::sub || op == Op::mul) && is_floating(instruction.traits.type) &&
         !instruction.has_any({Modifier::rn, Modifier::rz, Modifier::rm, Modifier::rp});
}

}  // namespace

void keep_rounding(const Module& module, const ReachedFunctions& reached, EditList& edits) {
  if (module.target.text.find("debug") == std::string::npos) return;
  for (const FunctionUnit& function : reached.functions) {
    const Body& body = *function.function->body;
    for (const Instruction& instruction : body.instructions) {
      if (!lacks_rounding(instruction)) continue;
      const std::uint32_t begin = body.opcode_range(instruction, module.source()).begin;
      edits.insert_before(begin + static_cast<std::uint32_t>(instruction.opcode.find('.')), ".rn");
    }
  }
}

}  // namespace lynxpp::ptx
