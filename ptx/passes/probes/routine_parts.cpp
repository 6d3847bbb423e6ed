#include "ptx/passes/probes/routine_parts.h"

#include <algorithm>
#include <set>
#include <string>

namespace lynxpp::ptx {
namespace {

using Kind = CodeTemplate::Placeholder::Kind;
using Statements = std::span<const CodeStatement>;

const VirtualRegister* guard_of(const CodeInstruction& instruction) {
  return instruction.guard ? std::get_if<VirtualRegister>(&instruction.guard->reg) : nullptr;
}

bool is_branch(const CodeInstruction& instruction) {
  return instruction.opcode == "bra" || instruction.opcode == "bra.uni";
}

/// Returns the index of the branch that ends the test.
std::optional<std::size_t> end_of_test(const Code& code) {
  const auto* const last = code.statements.empty() ? nullptr : std::get_if<Label>(&code.statements.back());
  if (last == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < code.statements.size(); ++i) {
    const auto* const instruction = std::get_if<CodeInstruction>(&code.statements[i]);
    if (instruction == nullptr) return std::nullopt;
    if (!is_branch(*instruction)) {
      if (guard_of(*instruction) != nullptr) return std::nullopt;
      continue;
    }
    const auto* const target = std::get_if<Label>(&instruction->operands.front().value);
    return guard_of(*instruction) != nullptr && target != nullptr && *target == *last ? std::optional(i)
                                                                                      : std::nullopt;
  }
  return std::nullopt;
}

bool uses_tallies(const CodeTemplate& code) {
  const auto is_tally = [](const std::string& name) { return name.starts_with(tally_prefix); };
  return std::ranges::any_of(uses_of(code).site_values, is_tally);
}

}  // namespace

std::optional<RoutineParts> split_at_test(const CodeTemplate& whole) {
  const std::optional<std::size_t> end = end_of_test(whole.code);
  if (!end) return std::nullopt;
  const Statements statements = whole.code.statements;
  const CodePredicate& leaves = *std::get<CodeInstruction>(statements[*end]).guard;
  const auto predicate = std::get<VirtualRegister>(leaves.reg);
  RoutineParts parts{whole, whole, {RegisterType::pred}, !leaves.is_negated};
  parts.test.code.statements = {statements.begin(), statements.begin() + static_cast<std::ptrdiff_t>(*end)};
  parts.rest.code.statements = {statements.begin() + static_cast<std::ptrdiff_t>(*end) + 1, statements.end()};
  if (uses_tallies(parts.test)) return std::nullopt;
  parts.test.placeholders.emplace(predicate, CodeTemplate::Placeholder{Kind::invariant, 0});
  const std::set<VirtualRegister> read_later = registers_of(parts.rest.code.statements);
  for (const VirtualRegister reg : registers_of(parts.test.code.statements)) {
    if (!read_later.contains(reg) || whole.placeholders.contains(reg)) continue;
    if (reg.type == RegisterType::pred) return std::nullopt;
    const CodeTemplate::Placeholder passed{Kind::invariant, static_cast<std::uint32_t>(parts.passed.size())};
    parts.test.placeholders.emplace(reg, passed);
    parts.rest.placeholders.emplace(reg, passed);
    parts.passed.push_back(reg.type);
  }
  return parts;
}

}  // namespace lynxpp::ptx
