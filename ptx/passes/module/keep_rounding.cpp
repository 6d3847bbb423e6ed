#include "ptx/passes/module/keep_rounding.h"

#include <algorithm>
#include <array>

namespace lynxpp::ptx {
namespace {

/// True for "add.f32", which has no explicit rounding; false for "add.rz.f32", and for "add.s32", which needs
/// none.
bool lacks_rounding(std::string_view opcode) {
  constexpr std::array<std::string_view, 3> mnemonics{"add.", "sub.", "mul."};
  if (std::ranges::none_of(mnemonics,
                           [&](std::string_view mnemonic) { return opcode.starts_with(mnemonic); }))
    return false;
  const std::string_view type = opcode.substr(opcode.rfind('.'));
  if (!type.starts_with(".f") && !type.starts_with(".bf")) return false;
  constexpr std::array<std::string_view, 4> roundings{".rn.", ".rz.", ".rm.", ".rp."};
  return std::ranges::none_of(
      roundings, [&](std::string_view rounding) { return opcode.find(rounding) != std::string_view::npos; });
}

}  // namespace

void keep_rounding(const Module& module, const ReachedFunctions& reached, EditList& edits) {
  if (module.target.text.find("debug") == std::string::npos) return;
  for (const FunctionUnit& function : reached.functions) {
    const Body& body = *function.function->body;
    for (const Instruction& instruction : body.instructions) {
      if (!lacks_rounding(instruction.opcode)) continue;
      const std::uint32_t begin = body.opcode_range(instruction, module.source()).begin;
      edits.insert_before(begin + static_cast<std::uint32_t>(instruction.opcode.find('.')), ".rn");
    }
  }
}

}  // namespace lynxpp::ptx
