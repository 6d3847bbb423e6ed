#include "ptx/passes/routine_invariants.h"

#include <algorithm>
#include <array>

#include "ptx/analysis/opcode_modifiers.h"
#include "ptx/analysis/registers.h"

namespace lynxpp::ptx {
namespace {

/// A register that lives through the function has to save as many instructions at each execution.
constexpr std::size_t fewest_instructions = 6;
/// Registers of 32 bits that one routine may ask for.
constexpr std::uint32_t most_registers = 4;

constexpr std::array<std::string_view, 12> pure_roots{"mov", "cvt", "add", "sub", "mul", "mad",
                                                      "shl", "shr", "and", "or",  "xor", "not"};

/// Special registers that are the same as long as the thread lives.
bool is_constant(std::string_view special) {
  const std::string_view root = special.substr(0, special.find('.'));
  return root == "%tid" || root == "%ntid" || root == "%ctaid" || root == "%nctaid" || root == "%laneid" ||
         root.starts_with("%lanemask_");
}

class InvariantFinder {
 public:
  InvariantFinder(const Body& body, std::string_view word_prefix)
      : body_(body),
        usage_(body),
        word_prefix_(word_prefix),
        writer_(usage_.registers().size(), none),
        is_invariant_(body.instructions.size(), false) {}

  RoutineInvariants find() {
    find_writers();
    for (std::uint32_t at = 0; at < body_.instructions.size(); ++at) is_invariant_[at] = stays_the_same(at);
    choose();
    if (!result_.values.empty()) find_spared();
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr std::uint32_t several = none - 1;

  /// The only instruction that writes a register; none of those that several write.
  void find_writers() {
    for (std::uint32_t at = 0; at < body_.instructions.size(); ++at) {
      for (const RegisterWrite& write : usage_.writes(at))
        writer_[write.reg] = writer_[write.reg] == none && !write.partial ? at : several;
    }
  }

  bool is_written_by_invariant(RegisterId reg) const {
    return writer_[reg] < several && is_invariant_[writer_[reg]];
  }

  /// What it reads stands before it in the text, or it is taken for something that changes.
  bool stays_the_same(std::uint32_t at) const {
    const Instruction& instruction = body_.instructions[at];
    const std::span<const RegisterWrite> writes = usage_.writes(at);
    if (instruction.guarded() || writes.size() != 1 || writer_[writes[0].reg] != at) return false;
    if (std::ranges::find(pure_roots, opcode_root(instruction.opcode)) == pure_roots.end()) return false;
    if (has_modifier(instruction.opcode, "cc") || usage_.registers()[writes[0].reg].is_predicate)
      return false;
    for (std::size_t i = 1; i < instruction.operands.size(); ++i) {
      if (!is_constant_operand(instruction.operands[i], at)) return false;
    }
    return std::ranges::all_of(usage_.reads(at),
                               [&](RegisterId reg) { return is_written_by_invariant(reg); });
  }

  bool is_constant_operand(const Operand& operand, std::uint32_t at) const {
    switch (operand.kind) {
      case OperandKind::integer:
      case OperandKind::floating: return true;
      case OperandKind::special_register: return is_constant(operand.name);
      case OperandKind::identifier:
        return operand.name.starts_with(word_prefix_) || usage_.find(operand.name, at) != no_register;
      default: return false;
    }
  }

  /// Instructions that the value in `reg` takes, those that write it and all before.
  void collect(RegisterId reg, std::set<std::uint32_t>& instructions) const {
    if (!instructions.insert(writer_[reg]).second) return;
    for (const RegisterId read : usage_.reads(writer_[reg])) collect(read, instructions);
  }

  /// The most expensive ones of those that something else reads.
  void choose() {
    std::set<RegisterId> wanted;
    for (std::uint32_t at = 0; at < body_.instructions.size(); ++at) {
      if (is_invariant_[at]) continue;
      for (const RegisterId reg : usage_.reads(at)) {
        if (is_written_by_invariant(reg)) wanted.insert(reg);
      }
    }
    std::vector<std::pair<RegisterId, std::set<std::uint32_t>>> values;
    for (const RegisterId reg : wanted) {
      std::set<std::uint32_t> instructions;
      collect(reg, instructions);
      const std::uint32_t units = usage_.registers()[reg].units;
      if (instructions.size() >= fewest_instructions && (units == 1 || units == 2))
        values.emplace_back(reg, std::move(instructions));
    }
    std::ranges::stable_sort(values, std::greater<>{}, [](const auto& value) { return value.second.size(); });
    std::uint32_t units = 0;
    for (const auto& [reg, instructions] : values) {
      const Register& info = usage_.registers()[reg];
      if (units + info.units > most_registers) continue;
      units += info.units;
      chosen_.insert(reg);
      result_.values.push_back({info.name, info.type, {instructions.begin(), instructions.end()}});
    }
  }

  void find_spared() {
    std::set<std::uint32_t> needed;
    for (std::uint32_t at = 0; at < body_.instructions.size(); ++at) {
      if (is_invariant_[at]) continue;
      for (const RegisterId reg : usage_.reads(at)) need(reg, needed);
    }
    for (std::uint32_t at = 0; at < body_.instructions.size(); ++at) {
      if (is_invariant_[at] && !needed.contains(at)) result_.spared.insert(at);
    }
  }

  void need(RegisterId reg, std::set<std::uint32_t>& needed) const {
    if (!is_written_by_invariant(reg) || chosen_.contains(reg)) return;
    if (!needed.insert(writer_[reg]).second) return;
    for (const RegisterId read : usage_.reads(writer_[reg])) need(read, needed);
  }

  const Body& body_;
  const RegisterUsage usage_;
  const std::string_view word_prefix_;
  std::vector<std::uint32_t> writer_;
  std::vector<bool> is_invariant_;
  std::set<RegisterId> chosen_;
  RoutineInvariants result_;
};

}  // namespace

RoutineInvariants find_invariants(const Body& body, std::string_view word_prefix) {
  // Names stand for one register each then.
  const auto is_inner = [](const RegisterDeclaration& declared) { return declared.scope != 0; };
  if (std::ranges::any_of(body.registers, is_inner)) return {};
  return InvariantFinder(body, word_prefix).find();
}

}  // namespace lynxpp::ptx
