#include "ptx/passes/probes/site_values.h"

#include <algorithm>
#include <span>

#include "ptx/ir/tensor_core.h"
#include "ptx/passes/facts.h"
#include "ptx/passes/probes/loop_edges.h"

namespace lynxpp::ptx {
namespace {

constexpr std::string_view executed_count = "basic_block_executed_instruction_count";
constexpr std::string_view loaded_prefix = "loaded_value_";
constexpr std::string_view stored_prefix = "stored_value_";
constexpr std::string_view operand_prefix = "operand_value_";
constexpr std::string_view result_prefix = "result_value_";

constexpr std::string_view guarded_count = "guarded_instructions";

bool is_bits(std::string_view name) {
  return name.starts_with(loaded_prefix) || name.starts_with(stored_prefix) ||
         name.starts_with(operand_prefix) || name.starts_with(result_prefix);
}

bool is_at_instruction(const Site& site) {
  return site.point == ProbePoint::instruction || site.point == ProbePoint::instruction_after;
}

/// Destination operands are read after the instruction, source operands before it.
bool is_read_after(std::string_view operand_value, const Site& site) {
  return site.point == ProbePoint::instruction_after &&
         number_at_end(operand_value) < site.instruction->traits.destinations;
}

/// Sets `target` to `holds` if the guard holds or is empty, otherwise to `fails`.
void select_by_guard(const Guard& guard, VirtualRegister target, std::uint32_t holds, std::uint32_t fails,
                     CodeBuilder& code) {
  if (guard.predicate.empty()) return code.mov(target, holds);
  const Name predicate{std::string(guard.predicate)};
  code.emit("selp.u32", {target, guard.negated ? fails : holds, guard.negated ? holds : fails, predicate});
}

MemoryAccess access_of(const Site& site) {
  const MemoryAccesses accesses = memory_accesses(*site.instruction);
  return site.access < accesses.count ? accesses.access[site.access] : MemoryAccess{};
}

}  // namespace

SiteValues::SiteValues(InstrumentationUnit& unit, const FunctionUnit& function)
    : unit_(unit),
      function_(function),
      body_(*function.function->body),
      lanes_(unit.module, unit.variant.shared_variables, *function.function) {
  const auto want = [&](const ProbeRoutine& routine) {
    wanted_.insert(routine.site_values().begin(), routine.site_values().end());
  };
  for (const Probe& probe : unit.spliced.probes) {
    if (!probe.enabled) continue;
    want(probe.routine);
    if (probe.with_lane_values) want(*probe.with_lane_values);
  }
  for (const auto& [name, routine] : unit.spliced.lane_routines) want(routine);
}

VirtualRegister SiteValues::reg(std::string_view value, RegisterType type) {
  const auto found = registers_.find(value);
  if (found != registers_.end()) return found->second;
  return registers_.emplace(value, unit_.edits.names(*function_.function).fresh(type)).first->second;
}

VirtualRegister SiteValues::address_register(std::uint32_t access) {
  return wide("memory_address_" + std::to_string(access));
}

VirtualRegister SiteValues::bytes_register(std::uint32_t access) {
  return word("access_size_" + std::to_string(access));
}

bool SiteValues::has_own_bytes(const Site& site, const MemoryAccess& access) const {
  return lanes_.has_own_bytes(*site.instruction, access);
}

VirtualRegister SiteValues::space_register(std::uint32_t access) {
  return word("access_space_" + std::to_string(access));
}

// ---------------------------------------------------------------- values

void SiteValues::add_preparation(const Probe& probe, const Site& site, CodeBuilder& code) {
  if (site.instruction == nullptr) return;
  for (const std::string& name : routine_at(probe, site).site_values()) add_value(name, site, code);
}

void SiteValues::add_value(std::string_view name, const Site& site, CodeBuilder& code) {
  const Instruction& instruction = *site.instruction;
  if (name == "predicate_value") select_by_guard(instruction.guard, word(name), 1, 0, code);
  if (!is_at_instruction(site)) return;
  if (name == "memory_address") {
    reader_at(site, code).add_address(access_of(site).address, address_register(site.access));
  } else if (name == "branch_target") {
    add_branch_target(site, code);
  } else if (name == "access_space") {
    add_space(access_of(site), site, code);
  } else if (name == "access_size") {
    const MemoryAccess access = access_of(site);
    if (has_own_bytes(site, access))
      code.emit("mov.b32", {bytes_register(site.access), lanes_.bytes(instruction, access, code)});
  } else if (name == "bulk_size") {
    const MemoryAccess access = access_of(site);
    if (access.is_bulk && access.size != nullptr) {
      reader_at(site, code).add_value(*access.size, 0, wide(name));
    } else {
      code.mov(wide(name), access.is_bulk ? access.bytes : 0);
    }
  } else if (name == "expected_bytes") {
    if (const Operand* const bytes = expected_bytes(instruction); bytes != nullptr) {
      reader_at(site, code).add_value(*bytes, 4, wide("expected_bytes_64"));
      code.emit("cvt.u32.u64", {word(name), wide("expected_bytes_64")});
    }
  } else if (name.starts_with(operand_prefix)) {
    if (!is_read_after(name, site)) add_operand(name, site, code);
  } else if (name.starts_with(stored_prefix)) {
    const std::uint32_t position = number_at_end(name);
    add_bits(name, site, stored_operand(instruction, position), position, size_of(instruction.traits.type),
             code);
  }
}

void SiteValues::add_loaded_values(const Probe& probe, const Site& site, CodeBuilder& code) {
  const OpcodeTraits& traits = site.instruction->traits;
  const DataType result = traits.result_type();
  for (const std::string& name : routine_at(probe, site).site_values()) {
    if (name.starts_with(operand_prefix) && is_read_after(name, site)) add_operand(name, site, code);
    if (name.starts_with(result_prefix)) add_written(name, site, result != DataType::none, result, code);
    if (name.starts_with(loaded_prefix))
      add_written(name, site, traits.reads_memory && traits.destinations != 0, traits.type, code);
  }
}

/// Reads what the instruction has written to its first operand; 0 if that is not of the requested kind.
void SiteValues::add_written(std::string_view name, const Site& site, bool is_written, DataType type,
                             CodeBuilder& code) {
  const OperandList& operands = site.instruction->operands;
  const Operand* const operand = is_written && !operands.empty() ? &operands[0] : nullptr;
  const std::uint32_t position = number_at_end(name);
  const bool is_scalar = operand != nullptr && operand->kind != OperandKind::vector;
  add_bits(name, site, is_scalar && position != 0 ? nullptr : operand, position, size_of(type), code);
}

void SiteValues::add_operand(std::string_view name, const Site& site, CodeBuilder& code) {
  const Instruction& instruction = *site.instruction;
  const std::uint32_t position = number_at_end(name);
  const bool exists = position < instruction.operands.size();
  // The last operand of mad.wide and the result of mul.wide are twice as wide as the instruction type.
  const bool is_wide = (position == 0 || position == 3) && instruction.has(Modifier::wide);
  const Operand* const operand = exists ? &instruction.operands[position] : nullptr;
  // Addresses and registers of memory instructions may be wider than the instruction type; immediates are
  // not.
  const bool is_whole =
      instruction.traits.is_memory_access() && (operand == nullptr || operand->kind != OperandKind::integer);
  add_bits(name, site, operand, 0, is_wide || is_whole ? 0 : size_of(instruction.traits.type), code);
}

/// Sets the register of the value `name` to the bits of `operand`, or of that element of a vector.
void SiteValues::add_bits(std::string_view name, const Site& site, const Operand* operand,
                          std::uint32_t element, std::uint32_t most_bytes, CodeBuilder& code) {
  if (operand != nullptr && operand->kind == OperandKind::vector) {
    operand = element < operand->elements.size() ? &operand->elements[element] : nullptr;
  }
  if (operand == nullptr || operand->kind == OperandKind::sink) return code.mov(wide(name), 0);
  if (reader_at(site, code).add_value(*operand, most_bytes, wide(name))) return;
  unit_.notes.push_back("PTX line " + std::to_string(site.instruction->line) + ": the value of '" +
                        std::string(unit_.module.text(operand->text)) + "' is unknown; handlers read 0");
}

/// Determines the state space of an address. The generic space contains windows for the other spaces; the
/// rest is global memory.
void SiteValues::add_space(const MemoryAccess& access, const Site& site, CodeBuilder& code) {
  if (access.space != StateSpace::generic || access.address == nullptr) return;
  const VirtualRegister address = address_register(site.access);
  const VirtualRegister target = space_register(site.access);
  reader_at(site, code).add_address(access.address, address);
  code.mov(target, unit_.spliced.space_code(StateSpace::generic));
  constexpr std::pair<const char*, StateSpace> spaces[] = {{"isspacep.global", StateSpace::global},
                                                           {"isspacep.shared", StateSpace::shared},
                                                           {"isspacep.local", StateSpace::local},
                                                           {"isspacep.const", StateSpace::constant}};
  for (const auto& [opcode, space] : spaces) {
    const VirtualRegister is_in = code.pred(opcode, {address});
    code.mov_if(CodePredicate(is_in), target, unit_.spliced.space_code(space));
  }
}

// ---------------------------------------------------------------- operands of routines

CodeOperand SiteValues::operand(const Probe& probe, std::string_view name, const Site& site) {
  if (name == "basic_block_count") return unit_.reached.basic_blocks;
  if (name == "instruction_count") return unit_.reached.instructions;
  if (name == "executions") return site.executions;
  if (name == "memory_address" && site.address) return *site.address;
  if (name == "predicate_value") return site.instruction != nullptr ? CodeOperand(word(name)) : 1;
  if (name.starts_with("basic_block")) return block_operand(name, site);
  if (name == "function_id") return function_.first_block;
  if (name.starts_with("loop_")) return loop_operand(name, site);
  if (name == "instruction_id") {
    return site.instruction != nullptr ? id_of(function_, *site.instruction)
                                       : function_.first_instruction + range_of(site.block).begin;
  }
  return site.instruction != nullptr ? instruction_operand(probe, name, site) : 0;
}

CodeOperand SiteValues::loop_operand(std::string_view name, const Site& site) {
  const LoopNest& loops = function_.analyses->loops();
  const std::uint32_t loop = site.loop != no_loop ? site.loop : loops.loop_of(site.block);
  const bool is_id = name == "loop_id";
  if (loop == no_loop) return is_id ? unit_.reached.basic_blocks : 0;
  if (name == loop_trips_value) return trips_of(loop);
  return is_id ? function_.first_block + loops.loops()[loop].header : loops.loops()[loop].depth;
}

CodeOperand SiteValues::block_operand(std::string_view name, const Site& site) {
  const BasicBlock& range = range_of(site.block);
  if (name == "basic_block_id") return function_.first_block + site.block;
  if (name == "basic_block_instruction_count") return range.size();
  const std::uint32_t guarded = inner_guarded(range) + (guard_at_end(range).predicate.empty() ? 0 : 1);
  if (name == "basic_block_predicated_instruction_count") return guarded;
  // executed_count is known at the end of the block; blocks without guards need no register.
  const bool dynamic = site.point == ProbePoint::basic_block_exit && guarded != 0;
  return dynamic ? CodeOperand(word(executed_count)) : range.size();
}

CodeOperand SiteValues::instruction_operand(const Probe& probe, std::string_view name, const Site& site) {
  const Instruction& instruction = *site.instruction;
  if (name == "memory_address") return address_register(site.access);
  if (name == "branch_target") return word(name);
  if (name == "access_kind") return access_kind(access_of(site));
  if (name == "bulk_size" || is_bits(name)) return wide(name);
  if (name == "access_size") {
    const MemoryAccess access = access_of(site);
    return has_own_bytes(site, access) ? CodeOperand(bytes_register(site.access)) : access.bytes;
  }
  if (name == "follows_from_lanes") return access_of(site).follows_from_lanes() ? 1 : 0;
  if (name == "expected_bytes") return expected_bytes(instruction) != nullptr ? CodeOperand(word(name)) : 0;
  if (name == "descriptor_bytes") return descriptor_bytes(instruction);
  if (name == "tensor_core_operations") return tensor_core_product(instruction.opcode).operations;
  if (name == "tensor_core_type")
    return static_cast<std::uint32_t>(tensor_core_product(instruction.opcode).type);
  if (name == "vector_width") return vector_width(instruction);
  if (name == "source_line") return instruction.source_line;
  if (name == "ptx_line") return instruction.line;
  if (name == "is_back_edge") {
    const bool is_branch = instruction.traits.kind == OpcodeClass::branch;
    const LoopNest& loops = function_.analyses->loops();
    return is_branch && leads_back(function_.graph(), loops, site.block) ? 1 : 0;
  }
  if (name == "access_space") {
    const MemoryAccess access = access_of(site);
    const bool is_dynamic = access.space == StateSpace::generic && access.address != nullptr;
    return is_dynamic ? CodeOperand(space_register(site.access)) : unit_.spliced.space_code(access.space);
  }
  return probe.constant ? probe.constant(name, instruction) : 0;
}

/// 0 represents the block after the branch, where lanes continue whose guard fails; other blocks are
/// represented by their first entry in the table.
void SiteValues::add_branch_target(const Site& site, CodeBuilder& code) {
  const Instruction& branch = *site.instruction;
  const VirtualRegister target = word("branch_target");
  const BasicBlock& range = range_of(site.block);
  const std::vector<std::uint32_t>& targets = range.targets;
  const auto number_of = [&](std::size_t entry) -> std::size_t {
    if (targets[entry] == range.fall_through) return 0;
    return static_cast<std::size_t>(std::ranges::find(targets, targets[entry]) - targets.begin()) + 1;
  };
  if (branch.traits.kind != OpcodeClass::branch || targets.empty()) {
    code.mov(target, 0);
  } else if (branch.op() != Op::brx || branch.operands[0].kind == OperandKind::integer) {
    const bool is_indexed = branch.op() == Op::brx;  // with a constant index
    const std::size_t entry = is_indexed ? static_cast<std::size_t>(branch.operands[0].integer) : 0;
    code.mov(target, entry < targets.size() ? number_of(entry) : 0);
  } else {
    const Name entry{std::string(branch.operands[0].name)};
    code.emit("add.u32", {target, entry, 1});
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (number_of(i) == i + 1) continue;
      const VirtualRegister is_target = code.pred("setp.eq.u32", {entry, i});
      code.emit("selp.u32", {target, number_of(i), target, is_target});
    }
  }
  if (const std::optional<CodePredicate> guard = predicate_of(branch.guard)) code.mov_if(!*guard, target, 0);
}

// ---------------------------------------------------------------- executed instructions

const Instruction* SiteValues::terminator_of(const BasicBlock& block) const {
  if (block.size() == 0) return nullptr;
  const Instruction& last = body_.instructions[block.end - 1];
  return last.traits.ends_block() ? &last : nullptr;
}

Guard SiteValues::guard_at_end(const BasicBlock& block) const {
  const Instruction* const terminator = terminator_of(block);
  return terminator != nullptr ? terminator->guard : Guard{};
}

/// Returns the number of guarded instructions before the block's end.
std::uint32_t SiteValues::inner_guarded(const BasicBlock& block) const {
  const std::uint32_t end = block.end - (terminator_of(block) != nullptr ? 1 : 0);
  const auto inner = std::span(body_.instructions).subspan(block.begin, end - block.begin);
  return static_cast<std::uint32_t>(std::ranges::count_if(inner, &Instruction::guarded));
}

bool SiteValues::counts_guards(const BasicBlock& block) const {
  return wanted_.contains(executed_count) && inner_guarded(block) != 0;
}

void SiteValues::add_block_start(std::uint32_t block, CodeBuilder& code) {
  if (counts_guards(range_of(block))) code.mov(word(guarded_count), 0);
}

void SiteValues::add_guard_count(std::uint32_t block, const Instruction& instruction, CodeBuilder& code) {
  if (!instruction.guarded() || !counts_guards(range_of(block))) return;
  const VirtualRegister guarded = word(guarded_count);
  code.emit_if(predicate_of(instruction.guard), "add.u32", {guarded, guarded, 1});
}

void SiteValues::add_block_total(std::uint32_t block, CodeBuilder& code) {
  const BasicBlock& range = range_of(block);
  const Guard guard = guard_at_end(range);
  const bool counts = counts_guards(range);
  if (!wanted_.contains(executed_count) || (!counts && guard.predicate.empty())) return;
  const VirtualRegister executed = word(executed_count);
  const std::uint32_t unguarded = range.size() - inner_guarded(range);
  select_by_guard(guard, executed, unguarded, unguarded - 1, code);
  if (counts) code.emit("add.u32", {executed, executed, word(guarded_count)});
}

}  // namespace lynxpp::ptx
