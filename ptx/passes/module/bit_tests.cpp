#include "ptx/passes/module/bit_tests.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace lynxpp::ptx {
namespace {

/// The maximum number of tests in one R2P: one less than the number of predicate registers.
constexpr std::uint32_t most_tests = 6;

bool is_synchronizing(const Code& code) {
  return std::ranges::any_of(code.statements, [](const CodeStatement& statement) {
    const auto* const instruction = std::get_if<CodeInstruction>(&statement);
    if (instruction == nullptr) return false;
    const OpcodeTraits traits = classify(instruction->opcode);
    return traits.op == Op::call || traits.modifiers.has(Modifier::sync);
  });
}

/// Returns an equivalent ordered comparison of an unsigned value with 0; empty if the instruction is not such
/// a test.
std::string ordered_test(const Instruction& instruction) {
  const OpcodeTraits& traits = instruction.traits;
  const bool is_not_equal = traits.comparison == Comparison::unequal;
  if (traits.op != Op::setp || (!is_not_equal && traits.comparison != Comparison::equal)) return "";
  const std::uint32_t bytes = size_of(traits.type);
  if ((bytes != 4 && bytes != 8) || traits.is_floating || instruction.operands.size() != 3) return "";
  const Operand& compared = instruction.operands[1];
  const Operand& zero = instruction.operands[2];
  if (compared.kind != OperandKind::identifier || zero.kind != OperandKind::integer || zero.integer != 0)
    return "";
  return (is_not_equal ? "setp.gt.u" : "setp.le.u") + std::to_string(8 * bytes);
}

/// A register identified by its declaration, because scopes may redeclare a name.
using Register = std::tuple<const RegisterDeclaration*, std::string_view>;

std::optional<Register> register_of(const Operand& operand, const Instruction& user, const Body& body) {
  if (operand.kind != OperandKind::identifier) return std::nullopt;
  const auto* const declaration = body.find_register(operand.name, body.statements[user.statement].scope);
  return declaration == nullptr ? std::nullopt : std::optional<Register>{{declaration, operand.name}};
}

/// The mask may be a register, too, so tests count for both operands. It is harmless if a register has been
/// redefined in between, because both tests are equivalent.
void rewrite(const Body& body, const Module& module, EditList& edits) {
  std::map<Register, std::pair<Register, Register>>
      masked;  // the operands of the `and` that defined a register
  std::map<Register, std::uint32_t> tests;
  for (const Instruction& instruction : body.instructions) {
    if (instruction.operands.empty()) continue;
    if (instruction.op() == Op::bit_and && instruction.operands.size() == 3) {
      const auto result = register_of(instruction.operands[0], instruction, body);
      const auto first = register_of(instruction.operands[1], instruction, body);
      const auto second = register_of(instruction.operands[2], instruction, body);
      if (result && (first || second))
        masked[*result] = {first.value_or(Register{}), second.value_or(Register{})};
      continue;
    }
    const std::string ordered = ordered_test(instruction);
    if (ordered.empty()) continue;
    const auto tested = register_of(instruction.operands[1], instruction, body);
    // ".b32" accepts any register of its size, ".u32" no floating-point register.
    if (tested && is_floating(std::get<0>(*tested)->type)) continue;
    const auto found = tested ? masked.find(*tested) : masked.end();
    if (found == masked.end()) continue;
    const auto count = [&](const Register& source) {
      return std::get<0>(source) == nullptr ? 0 : ++tests[source];
    };
    const std::uint32_t first = count(found->second.first);
    const std::uint32_t second = count(found->second.second);
    if (std::max(first, second) > most_tests)
      edits.replace(body.opcode_range(instruction, module.source()), ordered);
  }
}

}  // namespace

void rewrite_bit_tests(const Module& module, const ReachedFunctions& reached, EditList& edits) {
  const bool is_needed = std::ranges::any_of(edits.edits(), [](const Edit& edit) {
    return edit.code() != nullptr && is_synchronizing(*edit.code());
  });
  if (!is_needed) return;
  for (const FunctionUnit& function : reached.functions) rewrite(*function.function->body, module, edits);
}

}  // namespace lynxpp::ptx
