#include "observe/transfers.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ptx/analysis/analyses.h"
#include "ptx/ir/memory_access.h"
#include "ptx/parser/parser.h"

namespace lynxpp::observe {
namespace {

using ptx::Instruction;
using ptx::StateSpace;
using ptx::ValueId;
using ptx::ValueKind;

bool is_load(const Instruction& instruction) {
  return instruction.traits.kind == ptx::OpcodeClass::memory && instruction.traits.reads_memory &&
         !instruction.traits.writes_memory;
}
/// Accesses through generic pointers may refer to either memory.
bool may_lead_to(const Instruction& instruction, StateSpace space) {
  return instruction.traits.space == space || instruction.traits.space == StateSpace::generic;
}

bool is_of_texture(const Instruction& instruction) {
  return instruction.traits.space == StateSpace::texture || instruction.traits.space == StateSpace::surface;
}

bool is_copy_to_shared(const Instruction& instruction) {
  const ptx::MemoryAccesses accesses = ptx::memory_accesses(instruction);
  return accesses.count == 2 && accesses.access[0].space == StateSpace::global &&
         accesses.access[1].space == StateSpace::shared;
}

/// True if the result is one of the operands, bit by bit.
bool only_moves(const Instruction& instruction) {
  return instruction.op() == ptx::Op::mov || instruction.op() == ptx::Op::selp;
}

class FunctionTransfers {
 public:
  FunctionTransfers(const ptx::Function& function, Transfers& result)
      : analyses_(function),
        body_(*function.body),
        usage_(analyses_.registers()),
        ssa_(analyses_.ssa()),
        result_(result) {}

  void find() {
    for (std::uint32_t i = 0; i < body_.instructions.size(); ++i) {
      const Instruction& instruction = body_.instructions[i];
      if (is_copy_to_shared(instruction)) {
        result_.fetched_by[instruction.line] = instruction.line;
      } else if (instruction.traits.kind == ptx::OpcodeClass::memory && instruction.traits.writes_memory &&
                 !instruction.traits.reads_memory && may_lead_to(instruction, StateSpace::shared)) {
        find_source(i);
      }
    }
    for (ValueId value = 0; value < ssa_.values().size(); ++value) find_meeting(value);
  }

 private:
  void find_source(std::uint32_t store) {
    const Instruction& instruction = body_.instructions[store];
    if (instruction.operands.size() < 2) return;
    std::set<std::uint32_t> loads;
    follow_operand(instruction.operands[1], store, loads);
    for (const std::uint32_t load : loads) {
      if (!may_lead_to(body_.instructions[load], StateSpace::global)) continue;
      result_.fetched_by[instruction.line] = body_.instructions[load].line;
      return;
    }
  }

  void follow_operand(const ptx::Operand& operand, std::uint32_t instruction,
                      std::set<std::uint32_t>& loads) {
    for (const ptx::Operand& element : operand.elements) follow_operand(element, instruction, loads);
    if (operand.kind != ptx::OperandKind::identifier) return;
    const ptx::RegisterId reg = usage_.find(operand.name, instruction);
    if (reg == ptx::no_register) return;
    std::set<ValueId> seen;
    follow(ssa_.read_of(instruction, reg), loads, seen);
  }

  /// Finds the loads that `value` may come from, through moves.
  void follow(ValueId value, std::set<std::uint32_t>& loads, std::set<ValueId>& seen) {
    std::vector<ValueId> open{value};
    while (!open.empty()) {
      const ValueId next = open.back();
      open.pop_back();
      if (next == ptx::no_value || !seen.insert(next).second) continue;
      const ptx::Value& made = ssa_.values()[next];
      if (made.kind == ValueKind::phi) {
        for (const ValueId input : ssa_.phi_inputs(next)) open.push_back(input);
      } else if (made.kind == ValueKind::write) {
        open.push_back(made.previous);
        const Instruction& instruction = body_.instructions[made.instruction];
        if (is_load(instruction)) loads.insert(made.instruction);
        if (!only_moves(instruction)) continue;
        for (const ptx::RegisterId reg : usage_.reads(made.instruction)) {
          if (!usage_.registers()[reg].is_predicate) open.push_back(ssa_.read_of(made.instruction, reg));
        }
      }
    }
  }

  /// Finds values that may come from loads of both memories: at a join, under a guard, or in a selection.
  void find_meeting(ValueId value) {
    const ptx::Value& made = ssa_.values()[value];
    const bool selects =
        made.kind == ValueKind::write && body_.instructions[made.instruction].op() == ptx::Op::selp;
    const bool survives = made.kind == ValueKind::write && made.previous != ptx::no_value;
    if (made.kind != ValueKind::phi && !selects && !survives) return;
    std::set<std::uint32_t> loads;
    std::set<ValueId> seen;
    follow(value, loads, seen);
    const auto leads_to = [&](StateSpace space) {
      return std::ranges::any_of(
          loads, [&](std::uint32_t load) { return may_lead_to(body_.instructions[load], space); });
    };
    if (loads.size() < 2 || !leads_to(StateSpace::shared) || !leads_to(StateSpace::global)) return;
    std::uint32_t first = body_.instructions[*loads.begin()].line;
    for (const std::uint32_t load : loads) {
      const auto known = result_.reference.find(body_.instructions[load].line);
      if (known != result_.reference.end()) first = std::min(first, known->second);
    }
    for (const std::uint32_t load : loads) join(body_.instructions[load].line, first);
  }

  /// Merges the class of `line` into that of `first`.
  void join(std::uint32_t line, std::uint32_t first) {
    const auto known = result_.reference.find(line);
    const std::uint32_t before = known == result_.reference.end() ? line : known->second;
    for (auto& [each, reference] : result_.reference) {
      if (reference == before) reference = first;
    }
    result_.reference[line] = first;
    result_.reference[first] = first;
  }

  ptx::FunctionAnalyses analyses_;
  const ptx::Body& body_;
  const ptx::RegisterUsage& usage_;
  const ptx::SsaForm& ssa_;
  Transfers& result_;
};

}  // namespace

Result<Transfers> find_transfers(std::string ptx, const std::string& name) {
  Result<ptx::Module> module = ptx::parse_module(std::move(ptx), name);
  if (!module) return module.error();
  Transfers transfers;
  for (ptx::Function& function : module->functions) {
    if (function.is_declaration()) continue;
    if (Status parsed = ptx::parse_body(*module, function, name); !parsed) return parsed.error();
    FunctionTransfers(function, transfers).find();
    const auto textures = std::ranges::count_if(function.body->instructions, &is_of_texture);
    if (textures != 0) transfers.textures[function.name] = static_cast<std::size_t>(textures);
  }
  return transfers;
}

}  // namespace lynxpp::observe
