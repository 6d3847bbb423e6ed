#include "ptx/passes/probes/routine_invariants.h"

#include <algorithm>

#include "ptx/analysis/registers/registers.h"
#include "ptx/passes/probes/minimum_cut.h"

namespace lynxpp::ptx {
namespace {

/// The number of instructions that a 32-bit register, live in the entire function, must save at each
/// execution.
constexpr std::size_t fewest_instructions = 6;
/// The maximum number of 32-bit registers of one routine.
constexpr std::uint32_t most_registers = 4;
/// Larger routines are skipped, because the time is quadratic.
constexpr std::size_t most_instructions = 1000;

/// True for special registers that are constant for the lifetime of a thread.
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

  /// Finds the only instruction that writes each register; none for registers with several definitions.
  void find_writers() {
    for (std::uint32_t at = 0; at < body_.instructions.size(); ++at) {
      for (const RegisterWrite& write : usage_.writes(at))
        writer_[write.reg] = writer_[write.reg] == none && !write.partial ? at : several;
    }
  }

  bool is_written_by_invariant(RegisterId reg) const {
    return writer_[reg] < several && is_invariant_[writer_[reg]];
  }

  /// An operand defined later in the text counts as variable.
  bool stays_the_same(std::uint32_t at) const {
    const Instruction& instruction = body_.instructions[at];
    const std::span<const RegisterWrite> writes = usage_.writes(at);
    if (instruction.guarded() || writes.size() != 1 || writer_[writes[0].reg] != at) return false;
    if (instruction.operands[0].kind != OperandKind::identifier) return false;  // {%r1, _}
    const Purity purity = instruction.traits.purity;
    if (purity != Purity::pure && purity != Purity::block) return false;
    if (usage_.registers()[writes[0].reg].is_predicate) return false;
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

  RegisterId result_of(std::uint32_t at) const { return usage_.writes(at)[0].reg; }

  /// Returns the invariant instructions that a copy must still compute if the chosen values are in registers.
  std::set<std::uint32_t> needed() const {
    std::set<std::uint32_t> result;
    for (std::uint32_t at = 0; at < body_.instructions.size(); ++at) {
      if (!is_invariant_[at]) add_needed(at, chosen_, result);
    }
    return result;
  }

  /// Adds the instructions that compute the operands of `at`, transitively, stopping at values already in
  /// registers.
  void add_needed(std::uint32_t at, const std::set<RegisterId>& at_hand,
                  std::set<std::uint32_t>& result) const {
    std::vector<std::uint32_t> readers{at};
    while (!readers.empty()) {
      const std::uint32_t reader = readers.back();
      readers.pop_back();
      for (const RegisterId reg : usage_.reads(reader)) {
        if (is_written_by_invariant(reg) && !at_hand.contains(reg) && result.insert(writer_[reg]).second)
          readers.push_back(writer_[reg]);
      }
    }
  }

  /// Finds the cheapest choice at a price of `fewest_instructions` per register; if that needs too many
  /// registers, raises the price until it does not.
  void choose() {
    const std::size_t all = needed().size();
    if (all > most_instructions) return;
    for (std::size_t price = fewest_instructions; price <= all; price += price / 2) {
      chosen_ = cheapest_values(static_cast<std::uint32_t>(price));
      std::uint32_t units = 0;
      for (const RegisterId reg : chosen_) units += units_of(reg);
      if (units <= most_registers) break;
      chosen_.clear();
    }
    for (const RegisterId reg : chosen_) {
      const Register& info = usage_.registers()[reg];
      std::set<std::uint32_t> instructions{writer_[reg]};
      add_needed(writer_[reg], {}, instructions);
      result_.values.push_back({info.name, info.type, {instructions.begin(), instructions.end()}});
    }
  }

  /// Each value is available (on the source side) or not, and computed by the copy (likewise) or not. A
  /// computed value costs one, an available value that is not computed costs registers, and a value that is
  /// read must be available.
  std::set<RegisterId> cheapest_values(std::uint32_t price) const {
    struct Nodes {
      std::uint32_t at_hand = 0, computed = 0;
    };
    MinimumCut cut;
    std::vector<Nodes> nodes(body_.instructions.size());
    for (const std::uint32_t at : needed()) {
      nodes[at] = {cut.add_node(), cut.add_node()};
      const std::uint32_t units = units_of(result_of(at));
      cut.add_edge(nodes[at].at_hand, nodes[at].computed, units == 0 ? MinimumCut::unbounded : price * units);
      cut.add_edge(nodes[at].computed, MinimumCut::sink, 1);
    }
    for (std::uint32_t at = 0; at < body_.instructions.size(); ++at) {
      const std::uint32_t reader = is_invariant_[at] ? nodes[at].computed : MinimumCut::source;
      if (is_invariant_[at] && reader == 0) continue;  // never read
      for (const RegisterId reg : usage_.reads(at)) {
        if (is_written_by_invariant(reg))
          cut.add_edge(reader, nodes[writer_[reg]].at_hand, MinimumCut::unbounded);
      }
    }
    const std::vector<bool> chosen = cut.source_side();
    std::set<RegisterId> result;
    for (std::uint32_t at = 0; at < nodes.size(); ++at) {
      if (nodes[at].at_hand != 0 && chosen[nodes[at].at_hand] && !chosen[nodes[at].computed])
        result.insert(result_of(at));
    }
    return result;
  }

  /// The number of 32-bit registers; 0 for values of other sizes, which are not kept.
  std::uint32_t units_of(RegisterId reg) const {
    const std::uint32_t bytes = size_of(usage_.registers()[reg].type);
    return bytes == 4 || bytes == 8 ? bytes / 4 : 0;
  }

  void find_spared() {
    const std::set<std::uint32_t> left = needed();
    for (std::uint32_t at = 0; at < body_.instructions.size(); ++at) {
      if (is_invariant_[at] && !left.contains(at)) result_.spared.insert(at);
    }
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
  // Each name then denotes a single register.
  const auto is_inner = [](const RegisterDeclaration& declared) { return declared.scope != 0; };
  if (std::ranges::any_of(body.registers, is_inner)) return {};
  return InvariantFinder(body, word_prefix).find();
}

}  // namespace lynxpp::ptx
