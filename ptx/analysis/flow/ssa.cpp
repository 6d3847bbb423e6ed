// Pruned SSA: phis on the iterated dominance frontiers of the writes where they are read (phi_placement.h),
// then renaming along the dominator tree (Cytron et al.), without recursion.
#include "ptx/analysis/flow/ssa.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "ptx/analysis/flow/phi_placement.h"
#include "ptx/analysis/registers/block_uses.h"

namespace lynxpp::ptx {

/// The current value of every register, and a log to undo a block's changes.
struct SsaForm::Renaming {
  std::vector<ValueId> current;
  std::vector<ValueId> entry;  ///< created on first use
  std::vector<std::pair<RegisterId, ValueId>> undo;

  void set(RegisterId reg, ValueId value) {
    undo.emplace_back(reg, current[reg]);
    current[reg] = value;
  }
  void roll_back(std::size_t size) {
    while (undo.size() > size) {
      current[undo.back().first] = undo.back().second;
      undo.pop_back();
    }
  }
};

SsaForm::SsaForm(const ControlFlowGraph& graph, const DominatorTree& dominators, const RegisterUsage& usage)
    : graph_(graph), usage_(usage), phis_(graph.blocks.size()) {
  const auto instructions = static_cast<std::uint32_t>(graph.block_of.size());
  reads_.assign(usage.first_read(instructions), no_value);
  writes_.assign(usage.first_write(instructions), no_value);
  place_phis(dominators);
  rename(dominators);
  collect_uses();
}

void SsaForm::place_phis(const DominatorTree& dominators) {
  const BlockUses uses(graph_, usage_);
  PhiPlacement placement(graph_, dominators, uses);
  std::vector<std::uint32_t> joins;
  for (RegisterId reg = 0; reg < usage_.registers().size(); ++reg) {
    joins.clear();
    placement.append_joins(reg, joins);
    std::ranges::sort(joins);
    for (const std::uint32_t join : joins) add_phi(reg, join);
  }
  placement_steps_ = placement.steps();
}

void SsaForm::add_phi(RegisterId reg, std::uint32_t join) {
  Value phi;
  phi.kind = ValueKind::phi;
  phi.reg = reg;
  phi.block = join;
  phi.first_input = static_cast<std::uint32_t>(inputs_.size());
  inputs_.resize(inputs_.size() + input_count(join), no_value);
  phis_[join].push_back(static_cast<ValueId>(values_.size()));
  values_.push_back(phi);
}

void SsaForm::rename(const DominatorTree& dominators) {
  if (graph_.blocks.empty()) return;
  Renaming state;
  state.current.assign(usage_.registers().size(), no_value);
  state.entry = state.current;
  struct Visit {
    std::uint32_t block;
    std::size_t next;
    std::size_t undo;
  };
  std::vector<Visit> stack{{0, 0, 0}};
  rename_block(0, state);
  while (!stack.empty()) {
    Visit& visit = stack.back();
    const auto& children = dominators.children(visit.block);
    if (visit.next < children.size()) {
      const std::uint32_t child = children[visit.next++];
      stack.push_back({child, 0, state.undo.size()});
      rename_block(child, state);
    } else {
      state.roll_back(visit.undo);
      stack.pop_back();
    }
  }
}

void SsaForm::rename_block(std::uint32_t block, Renaming& state) {
  // A register that is never written holds its entry value everywhere.
  const auto current = [&](RegisterId reg) {
    if (state.current[reg] != no_value) return state.current[reg];
    ValueId& id = state.entry[reg];
    if (id == no_value) {
      id = static_cast<ValueId>(values_.size());
      Value& entry = values_.emplace_back();
      entry.reg = reg;
    }
    return id;
  };
  for (const ValueId phi : phis_[block]) {
    if (block == 0) inputs_[values_[phi].first_input + input_count(0) - 1] = current(values_[phi].reg);
    state.set(values_[phi].reg, phi);
  }
  for (std::uint32_t at = graph_.blocks[block].begin; at < graph_.blocks[block].end; ++at) {
    const auto reads = usage_.reads(at);
    for (std::size_t index = 0; index < reads.size(); ++index)
      reads_[usage_.first_read(at) + index] = current(reads[index]);
    const auto writes = usage_.writes(at);
    for (std::size_t index = 0; index < writes.size(); ++index) {
      Value value;
      value.kind = ValueKind::write;
      value.reg = writes[index].reg;
      value.block = block;
      value.instruction = at;
      if (writes[index].partial) value.previous = current(value.reg);
      const auto id = static_cast<ValueId>(values_.size());
      writes_[usage_.first_write(at) + index] = id;
      values_.push_back(value);
      state.set(value.reg, id);
    }
  }
  for (const std::uint32_t successor : graph_.blocks[block].successors) {
    const auto& predecessors = graph_.blocks[successor].predecessors;
    if (phis_[successor].empty()) continue;
    const auto index =
        static_cast<std::size_t>(std::ranges::lower_bound(predecessors, block) - predecessors.begin());
    for (const ValueId phi : phis_[successor])
      inputs_[values_[phi].first_input + index] = current(values_[phi].reg);
  }
}

ValueId SsaForm::read_of(std::uint32_t instruction, RegisterId reg) const {
  const auto registers = usage_.reads(instruction);
  for (std::size_t index = 0; index < registers.size(); ++index) {
    if (registers[index] == reg) return reads(instruction)[index];
  }
  return no_value;
}

template <typename Visit>
void SsaForm::for_each_use(Visit visit) const {
  for (std::uint32_t at = 0; at < graph_.block_of.size(); ++at) {
    for (const ValueId value : reads(at)) visit(value, ValueUse{ValueUse::Kind::read, at});
  }
  for (ValueId id = 0; id < values_.size(); ++id) {
    if (values_[id].kind == ValueKind::phi) {
      for (const ValueId input : phi_inputs(id)) visit(input, ValueUse{ValueUse::Kind::phi_input, id});
    } else if (values_[id].kind == ValueKind::write) {
      visit(values_[id].previous, ValueUse{ValueUse::Kind::previous, id});
    }
  }
}

void SsaForm::collect_uses() {
  first_use_.assign(values_.size() + 1, 0);
  for_each_use([this](ValueId value, ValueUse) {
    if (value != no_value) ++first_use_[value + 1];
  });
  for (std::size_t index = 1; index < first_use_.size(); ++index) first_use_[index] += first_use_[index - 1];
  uses_.resize(first_use_.back());
  std::vector<std::uint32_t> next(first_use_.begin(), first_use_.end() - 1);
  for_each_use([&](ValueId value, ValueUse use) {
    if (value != no_value) uses_[next[value]++] = use;
  });
}

std::vector<ValueId> SsaForm::reaching_definitions(ValueId value) const {
  std::vector<ValueId> result, work{value};
  std::unordered_set<ValueId> seen;
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == no_value || !seen.insert(id).second) continue;
    if (values_[id].kind == ValueKind::phi) {
      work.insert(work.end(), phi_inputs(id).begin(), phi_inputs(id).end());
      continue;
    }
    result.push_back(id);
    work.push_back(values_[id].previous);
  }
  std::ranges::sort(result);
  return result;
}

}  // namespace lynxpp::ptx
