// An optimistic fixed point: all values start uniform and are raised until nothing changes. The influence of
// a divergent branch is found by sending a label along each of its paths (as in LLVM's
// SyncDependenceAnalysis): paths join where two labels converge.
#include "ptx/analysis/values/uniformity.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

#include "ptx/analysis/flow/walk.h"

namespace lynxpp::ptx {
namespace {

bool is_all_lanes(std::optional<std::int64_t> mask) { return mask && (*mask == -1 || *mask == 0xffffffffLL); }

}  // namespace

bool executes_together(const Instruction& instruction) {
  switch (instruction.op()) {
    case Op::wgmma:
    case Op::setmaxnreg: return !instruction.guarded();
    default: return false;
  }
}

Variance variance_of_special_register(std::string_view name, const LaunchShape& launch) {
  const std::string_view root = name.substr(0, name.find('.'));
  if (launch.has_whole_rows && (name == "%tid.y" || name == "%tid.z")) return varies_in_block;
  if (root == "%tid" || root == "%laneid" || root.starts_with("%lanemask_"))
    return varies_in_warp | varies_in_block;
  if (root == "%ntid" || root == "%nctaid" || root == "%gridid" || root == "%nwarpid" || root == "%nsmid" ||
      root == "%nclusterid" || root == "%cluster_nctaid" || root == "%cluster_nctarank" ||
      root == "%is_explicit_cluster" || root == "%dynamic_smem_size" || root == "%total_smem_size" ||
      root == "%aggr_smem_size" || root == "%current_graph_exec" || root.starts_with("%envreg") ||
      root.starts_with("%reserved_smem_offset")) {
    return uniform;
  }
  if (root == "%ctaid" || root == "%clusterid" || root == "%cluster_ctaid" || root == "%cluster_ctarank")
    return varies_over_blocks;
  return varies;  // clocks, counters, location of the warp
}

Uniformity::Uniformity(const Function& function, const ControlFlowGraph& graph,
                       const DominatorTree& dominators, const LoopNest& loops, const RegisterUsage& usage,
                       const SsaForm& ssa, const LaunchShape& launch)
    : function_(function),
      graph_(graph),
      dominators_(dominators),
      loops_(loops),
      usage_(usage),
      ssa_(ssa),
      launch_(launch),
      post_dominators_(immediate_post_dominators(graph)),
      values_(ssa.values().size(), uniform),
      branches_(graph.blocks.size(), uniform),
      joins_(graph.blocks.size(), uniform),
      loop_exits_(loops.loops().size(), uniform),
      influences_(graph.blocks.size()),
      budget_(200000 + 128 * graph.blocks.size()),
      joined_(graph.blocks.size(), no_block) {
  for (ValueId id = 0; id < values_.size(); ++id) {
    if (ssa.values()[id].kind == ValueKind::entry) values_[id] = varies;
  }
  find_joint_blocks();
  if (launch.has_whole_rows) {
    rows_.assign(values_.size(), RowValue::undecided);
    for (ValueId id = 0; id < values_.size(); ++id) {
      if (ssa.values()[id].kind == ValueKind::entry) rows_[id] = RowValue::unknown;
    }
  }
  solve();
}

void Uniformity::solve() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::uint32_t block : dominators_.reverse_post_order()) {
      changed |= update_block(block);
      changed |= update_branch(block);
    }
  }
  // Unreachable values vary.
  for (ValueId id = 0; id < values_.size(); ++id) {
    if (!dominators_.is_reachable(ssa_.values()[id].block)) values_[id] = varies;
  }
}

bool Uniformity::raise(ValueId value, Variance variance) {
  const Variance raised = values_[value] | variance;
  if (raised == values_[value]) return false;
  values_[value] = raised;
  return true;
}

bool Uniformity::update_block(std::uint32_t block) {
  bool changed = false;
  for (const ValueId phi : ssa_.phis(block)) {
    Variance variance = joins_[block] | everywhere_;
    for (const ValueId input : ssa_.phi_inputs(phi)) {
      if (input != no_value) variance |= of_value_at(input, block);
    }
    changed |= raise(phi, variance);
    changed |= update_phi_row(phi, block);
  }
  for (std::uint32_t at = graph_.blocks[block].begin; at < graph_.blocks[block].end; ++at) {
    const auto writes = ssa_.writes(at);
    if (writes.empty()) continue;
    Variance variance = evaluate(at);
    Variance guarded = uniform;
    const Instruction& instruction = function_.body->instructions[at];
    if (instruction.guarded()) {
      const RegisterId guard = usage_.find(instruction.guard.predicate, at);
      guarded = guard == no_register ? varies : of_register_read(at, guard);
    }
    variance |= guarded;
    changed |= update_written_rows(at, guarded);
    for (const ValueId id : writes) {
      const ValueId previous = ssa_.values()[id].previous;
      const Variance kept = previous == no_value ? uniform : of_value_at(previous, block);
      changed |= raise(id, variance | kept);
    }
  }
  return changed;
}

bool Uniformity::update_branch(std::uint32_t block) {
  const BasicBlock& node = graph_.blocks[block];
  const std::size_t edges = node.successors.size() + (node.leaves_function ? 1 : 0);
  if (edges < 2 || node.size() == 0) return false;
  const std::uint32_t last = node.end - 1;
  Variance variance = uniform;
  for (const RegisterId reg : usage_.reads(last)) variance |= of_register_read(last, reg);
  if ((variance & varies_in_warp) != 0 && must_agree(block))
    variance &= static_cast<Variance>(~varies_in_warp);
  if ((variance | branches_[block]) == branches_[block]) return false;
  branches_[block] |= variance;
  raise_joins(block, variance);
  return true;
}

/// A block that executes as often as one with such an instruction does not need one of its own.
void Uniformity::find_joint_blocks() {
  const auto& instructions = function_.body->instructions;
  joint_.resize(graph_.blocks.size());
  const auto spread = [&](std::uint32_t block, std::uint32_t from) {
    joint_[block] = joint_[block] || (joint_[from] && loops_.loop_of(block) == loops_.loop_of(from) &&
                                      !loops_.is_irreducible(block));
  };
  for (std::uint32_t block = 0; block < joint_.size(); ++block) {
    const BasicBlock& range = graph_.blocks[block];
    joint_[block] =
        std::any_of(instructions.begin() + range.begin, instructions.begin() + range.end, executes_together);
  }
  const auto& order = dominators_.reverse_post_order();
  const auto follow = [&](std::uint32_t block) {
    const std::uint32_t before = dominators_.immediate(block);
    if (before == no_block || post_dominators_[before] != block) return;
    spread(block, before);
    spread(before, block);
  };
  std::ranges::for_each(order, follow);
  std::for_each(order.rbegin(), order.rend(), follow);
}

/// True if the lanes that execute the branch of `block` together take the same edge, because those on one
/// edge must execute an instruction with all lanes of the warp before the paths join.
bool Uniformity::must_agree(std::uint32_t block) {
  const std::uint32_t meeting = post_dominators_[block];
  const auto is_joint = [&](std::uint32_t at) {
    while (at != no_block && at != meeting && at != block && !joint_[at]) at = post_dominators_[at];
    return at != no_block && at != meeting && joint_[at];
  };
  const auto misses = [&](std::uint32_t successor) {
    return walk_blocks(graph_, {successor}, meeting, [&](std::uint32_t at) {
      if (budget_ == 0) return false;
      --budget_;
      return !joint_[at];
    });
  };
  const std::vector<std::uint32_t>& successors = graph_.blocks[block].successors;
  const auto joint = std::ranges::count_if(successors, is_joint);
  if (joint == 0 || meeting == no_block) return false;
  return joint == 1 &&
         std::ranges::count_if(successors, misses) + joint == static_cast<std::ptrdiff_t>(successors.size());
}

void Uniformity::raise_joins(std::uint32_t block, Variance variance) {
  const Influence& influence = influence_of(block);
  if (influence.everywhere) everywhere_ |= variance;
  for (const std::uint32_t join : influence.joins) joins_[join] |= variance;
  for (const std::uint32_t loop : influence.exits) loop_exits_[loop] |= variance;
}

const Uniformity::Influence& Uniformity::influence_of(std::uint32_t block) {
  if (!influences_[block].known) influences_[block] = find_influence(block);
  return influences_[block];
}

Uniformity::Influence Uniformity::find_influence(std::uint32_t block) {
  Influence result;
  result.known = true;
  const std::uint32_t meeting = post_dominators_[block];
  const auto add_join = [&](std::uint32_t join) {
    if (std::exchange(joined_[join], block) != block) result.joins.push_back(join);
  };
  std::unordered_map<std::uint32_t, std::uint32_t> labels;
  using Entry = std::pair<std::uint32_t, std::uint32_t>;  // order, block: predecessors first
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> work;
  const auto follow = [&](std::uint32_t target, std::uint32_t label) {
    const std::uint32_t loop = loops_.loop_of(target);
    const bool is_jump_back =
        loop != no_loop && loops_.loops()[loop].header == target && loops_.contains(loop, block);
    const auto [entry, fresh] = labels.try_emplace(target, label);
    if (fresh) {
      // Back edge of the loop that contains the branch: threads are together again in the next iteration,
      // unless the paths join inside the loop and some threads arrive an iteration later.
      if (is_jump_back) {
        if (meeting != no_block && loops_.contains(loop, meeting)) add_join(target);
      } else if (target != meeting) {
        work.emplace(dominators_.order_of(target), target);
      }
      if (loops_.is_irreducible(target)) add_join(target);
    } else if (entry->second != label && entry->second != target) {
      entry->second = target;
      add_join(target);
      if (!is_jump_back && target != meeting) work.emplace(dominators_.order_of(target), target);
    } else if (entry->second != label) {
      add_join(target);
    }
  };
  for (const std::uint32_t successor : graph_.blocks[block].successors) follow(successor, successor);
  while (!work.empty()) {
    const std::uint32_t at = work.top().second;
    work.pop();
    const std::vector<std::uint32_t>& successors = graph_.blocks[at].successors;
    if (budget_ < successors.size()) {
      budget_ = 0;
      result.everywhere = true;
      break;
    }
    budget_ -= successors.size();
    const std::uint32_t label = labels.at(at);
    for (const std::uint32_t successor : successors) follow(successor, label);
  }
  for (std::uint32_t loop = loops_.loop_of(block); loop != no_loop; loop = loops_.loops()[loop].parent) {
    if (meeting == no_block || !loops_.contains(loop, meeting)) result.exits.push_back(loop);
  }
  return result;
}

Variance Uniformity::of_value_at(ValueId value, std::uint32_t block) const {
  if (value == no_value) return varies;
  Variance variance = values_[value];
  const Value& made = ssa_.values()[value];
  if (made.kind == ValueKind::entry) return variance;
  for (std::uint32_t loop = loops_.loop_of(made.block); loop != no_loop && !loops_.contains(loop, block);
       loop = loops_.loops()[loop].parent) {
    variance |= loop_exits_[loop];
  }
  // Iterations are undefined in a cycle with several entries.
  if (loops_.is_irreducible(made.block) && made.block != block) variance |= varies;
  return variance;
}

Variance Uniformity::of_register_read(std::uint32_t instruction, RegisterId reg) const {
  return of_value_at(ssa_.read_of(instruction, reg), graph_.block_of[instruction]);
}

Variance Uniformity::of_operand(std::uint32_t instruction, const Operand& operand) const {
  Variance variance = uniform;
  if (operand.kind == OperandKind::special_register)
    return variance_of_special_register(operand.name, launch_);
  if (operand.kind == OperandKind::identifier) {
    const RegisterId reg = usage_.find(operand.name, instruction);
    // Any other name is an address, which is uniform.
    if (reg != no_register) variance = of_register_read(instruction, reg);
  }
  for (const Operand& element : operand.elements) variance |= of_operand(instruction, element);
  return variance;
}

// ---- rows

bool Uniformity::update_row(ValueId value, RowValue row) {
  const RowValue lowered = either(rows_[value], row);
  if (lowered == rows_[value]) return false;
  rows_[value] = lowered;
  return true;
}

bool Uniformity::update_phi_row(ValueId phi, std::uint32_t block) {
  if (rows_.empty()) return false;
  RowValue row = RowValue::undecided;
  for (const ValueId input : ssa_.phi_inputs(phi)) {
    if (input != no_value) row = either(row, row_at(input, block));
  }
  const bool parts_lanes = ((joins_[block] | everywhere_) & varies_in_warp) != 0;
  return update_row(phi, row == RowValue::position && parts_lanes ? RowValue::unknown : row);
}

bool Uniformity::update_written_rows(std::uint32_t at, Variance guard) {
  if (rows_.empty()) return false;
  const Instruction& instruction = function_.body->instructions[at];
  const bool is_plain = !instruction.operands.empty() &&
                        instruction.operands[0].kind == OperandKind::identifier &&
                        instruction.operands[0].elements.empty() && ssa_.writes(at).size() == 1;
  bool changed = false;
  for (const ValueId id : ssa_.writes(at)) {
    RowValue row = is_plain ? row_value_of(instruction, row_operands(at)) : RowValue::unknown;
    const ValueId previous = ssa_.values()[id].previous;
    if (previous != no_value) {
      row = either(row, row_at(previous, graph_.block_of[at]));
      if (row == RowValue::position && (guard & varies_in_warp) != 0) row = RowValue::unknown;
    }
    changed |= update_row(id, row);
  }
  return changed;
}

/// After loops that lanes leave in different iterations, warp-uniform rows are not uniform.
RowValue Uniformity::row_at(ValueId value, std::uint32_t block) const {
  if (value == no_value) return RowValue::unknown;
  const RowValue row = rows_[value];
  if (row != RowValue::position) return row;
  const Value& made = ssa_.values()[value];
  for (std::uint32_t loop = loops_.loop_of(made.block); loop != no_loop && !loops_.contains(loop, block);
       loop = loops_.loops()[loop].parent) {
    if ((loop_exits_[loop] & varies_in_warp) != 0) return RowValue::unknown;
  }
  return loops_.is_irreducible(made.block) && made.block != block ? RowValue::unknown : row;
}

std::vector<RowOperand> Uniformity::row_operands(std::uint32_t at) const {
  const Instruction& instruction = function_.body->instructions[at];
  std::vector<RowOperand> sources;
  for (std::size_t i = 1; i < instruction.operands.size(); ++i) {
    const Operand& operand = instruction.operands[i];
    RowOperand source;
    if (operand.kind == OperandKind::integer) {
      source = row_operand_of_constant(operand.integer);
    } else {
      source.varies_in_warp = (of_operand(at, operand) & varies_in_warp) != 0;
      if (operand.kind == OperandKind::special_register)
        source.value = row_value_of_special_register(operand.name);
      const bool is_register = operand.kind == OperandKind::identifier && operand.elements.empty();
      const RegisterId reg = is_register ? usage_.find(operand.name, at) : no_register;
      if (reg != no_register) source.value = row_at(ssa_.read_of(at, reg), graph_.block_of[at]);
    }
    if (operand.negated || operand.offset != 0) source.value = RowValue::unknown;
    sources.push_back(source);
  }
  return sources;
}

bool Uniformity::hides_lanes(std::uint32_t at) const {
  if (rows_.empty()) return false;
  const std::vector<RowOperand> sources = row_operands(at);
  const auto is_same = [](const RowOperand& source) { return !source.varies_in_warp; };
  return sources.size() >= 2 && std::all_of(sources.begin() + 2, sources.end(), is_same) &&
         ptx::hides_lanes(function_.body->instructions[at], sources);
}

/// Returns the variance of the result.
Variance Uniformity::evaluate(std::uint32_t at) const {
  const Instruction& instruction = function_.body->instructions[at];
  if (!instruction.traits.is_known() || instruction.traits.kind == OpcodeClass::call ||
      instruction.traits.kind == OpcodeClass::atomic || instruction.traits.synchronizes)
    return varies;
  Variance variance = uniform;
  for (const RegisterId reg : usage_.reads(at)) variance |= of_register_read(at, reg);
  for (const Operand& operand : instruction.operands) {
    if (operand.kind == OperandKind::special_register)
      variance |= variance_of_special_register(operand.name, launch_);
    for (const Operand& element : operand.elements) {
      if (element.kind == OperandKind::special_register)
        variance |= variance_of_special_register(element.name, launch_);
    }
  }
  if ((variance & varies_in_warp) != 0 && hides_lanes(at)) variance &= static_cast<Variance>(~varies_in_warp);
  if (instruction.traits.is_memory_access()) return evaluate_load(instruction, variance);
  return evaluate_exchange(at, variance);
}

Variance Uniformity::evaluate_load(const Instruction& instruction, Variance address) const {
  if (!instruction.traits.reads_memory) return varies;
  switch (instruction.traits.space) {
    case StateSpace::constant: return address;
    case StateSpace::global:
      // Read-only while the kernel runs.
      return instruction.has(Modifier::nc) ? address : varies;
    case StateSpace::param: {
      if (!function_.is_entry || instruction.operands.size() < 2) return varies;
      const Operand& operand = instruction.operands[1];
      if (operand.elements.empty() || operand.elements[0].kind != OperandKind::identifier) return varies;
      // A kernel's own parameters are uniform; results of calls are not.
      const auto is_own = [&](const Variable& parameter) {
        return parameter.name == operand.elements[0].name;
      };
      return std::ranges::any_of(function_.parameters, is_own) ? address : varies;
    }
    default: return varies;
  }
}

/// Returns the value of an integer, or of a register that is set to one.
std::optional<std::int64_t> Uniformity::constant_of(std::uint32_t at, const Operand& operand) const {
  if (operand.kind == OperandKind::integer) return operand.integer;
  const bool is_register =
      operand.kind == OperandKind::identifier && operand.elements.empty() && operand.offset == 0;
  const RegisterId reg = is_register ? usage_.find(operand.name, at) : no_register;
  const ValueId id = reg == no_register ? no_value : ssa_.read_of(at, reg);
  if (id == no_value || ssa_.values()[id].kind != ValueKind::write || ssa_.values()[id].previous != no_value)
    return std::nullopt;
  const Instruction& writer = function_.body->instructions[ssa_.values()[id].instruction];
  if (writer.op() != Op::mov || writer.operands.size() != 2 ||
      writer.operands[1].kind != OperandKind::integer)
    return std::nullopt;
  return writer.operands[1].integer;
}

/// True for a shuffle by which all lanes of the warp read the value of the same lane.
bool Uniformity::is_broadcast(std::uint32_t at) const {
  const Instruction& instruction = function_.body->instructions[at];
  constexpr std::int64_t whole_warp = 31;
  if (!instruction.opcode.starts_with("shfl.sync.idx.") || instruction.operands.size() != 5) return false;
  return (of_operand(at, instruction.operands[2]) & varies_in_warp) == 0 &&
         constant_of(at, instruction.operands[3]) == whole_warp &&
         is_all_lanes(constant_of(at, instruction.operands[4]));
}

/// Handles instructions that exchange values between threads or query the machine.
Variance Uniformity::evaluate_exchange(std::uint32_t at, Variance operands) const {
  const Instruction& instruction = function_.body->instructions[at];
  if (is_broadcast(at)) return varies_in_block | varies_over_blocks;
  if (instruction.op() == Op::vote || instruction.op() == Op::redux) {
    // If all lanes take part, the result is uniform within the warp, but differs between warps.
    const bool one_answer = instruction.has(Modifier::sync) && !instruction.operands.empty() &&
                            is_all_lanes(constant_of(at, instruction.operands.back()));
    return one_answer ? varies_in_block | varies_over_blocks : varies;
  }
  if (instruction.traits.kind == OpcodeClass::barrier)
    return instruction.has(Modifier::red) ? varies_over_blocks : varies;
  switch (instruction.traits.purity) {
    case Purity::pure: return operands;
    case Purity::block: return operands | varies_over_blocks;
    case Purity::lanes:
    case Purity::effect: break;
  }
  return varies;
}

}  // namespace lynxpp::ptx
