#include "ptx/passes/probes/site_values.h"

#include <algorithm>
#include <charconv>

#include "ptx/passes/probes/memory_address.h"
#include "ptx/passes/probes/operand_value.h"

namespace lynxpp::ptx {
namespace {

constexpr std::string_view executed_count = "basic_block_executed_instruction_count";
constexpr std::string_view loaded_prefix = "loaded_value_";
constexpr std::string_view stored_prefix = "stored_value_";
constexpr std::string_view operand_prefix = "operand_value_";

const std::string guarded_register = "%lynxpp_guarded";
const std::string executed_register = "%lynxpp_executed";
const std::string memory_register = "%lynxpp_memory";
const std::string value_register = "%lynxpp_value";
const std::string target_register = "%lynxpp_target";
const std::string target_predicate = "%lynxpp_is_target";
const std::string space_register = "%lynxpp_space";
const std::string bulk_register = "%lynxpp_bulk";
const std::string in_space_register = "%lynxpp_in_space";

std::string number(std::uint64_t value) { return std::to_string(value); }

/// The two sides of a copy have registers of their own.
std::string of_access(const std::string& name, std::uint32_t access) {
  return access == 0 ? name : name + "_" + number(access);
}

/// "%lynxpp_loaded_value_0"
std::string bits_register(std::string_view name) { return "%lynxpp_" + std::string(name); }

bool is_bits(std::string_view name) {
  return name.starts_with(loaded_prefix) || name.starts_with(stored_prefix) ||
         name.starts_with(operand_prefix);
}

std::uint32_t position_of(std::string_view name) {
  std::uint32_t position = 0;
  const std::size_t digits = name.rfind('_') + 1;
  std::from_chars(name.data() + digits, name.data() + name.size(), position);
  return position;
}

bool is_at_instruction(const Site& site) {
  return site.point == ProbePoint::instruction || site.point == ProbePoint::instruction_after;
}

/// What an instruction has written is of interest behind it, what it reads has to be taken before.
bool is_read_behind(std::string_view operand_value, const Site& site) {
  return site.point == ProbePoint::instruction_after &&
         position_of(operand_value) < site.instruction->traits.destinations;
}

MemoryAccess access_of(const Site& site) {
  const MemoryAccesses accesses = memory_accesses(*site.instruction);
  return site.access < accesses.count ? accesses.access[site.access] : MemoryAccess{};
}

/// As in cod::SiteValue.
std::uint64_t access_kind(const OpcodeTraits& traits) {
  if (traits.kind == OpcodeClass::atomic) return 2;
  return traits.reads_memory ? 0 : 1;
}

}  // namespace

std::string guard_prefix(const Guard& guard, bool opposite) {
  return (guard.negated != opposite ? "@!" : "@") + std::string(guard.predicate) + " ";
}

SiteValues::SiteValues(InstrumentationUnit& unit, const FunctionUnit& function)
    : unit_(unit), function_(function), body_(*function.function->body) {
  for (const Probe& probe : unit.probes) {
    if (!probe.enabled) continue;
    wanted_.insert(probe.routine.site_values().begin(), probe.routine.site_values().end());
    if (!probe.with_lane_values) continue;
    const auto& others = probe.with_lane_values->site_values();
    wanted_.insert(others.begin(), others.end());
  }
  for (const auto& [name, routine] : unit.lane_routines)
    wanted_.insert(routine.site_values().begin(), routine.site_values().end());
}

void SiteValues::append_declarations(std::string& text) const {
  const auto declare = [&](const char* value, const char* type, const std::string& name) {
    if (wanted_.contains(value)) text += "\t.reg ." + std::string(type) + " " + name + ";\n";
  };
  declare(executed_count.data(), "b32", guarded_register + ", " + executed_register);
  declare("predicate_value", "b32", value_register);
  declare("access_space", "b32", space_register + ", " + of_access(space_register, 1));
  declare("access_space", "pred", in_space_register);
  declare("branch_target", "b32", target_register);
  declare("branch_target", "pred", target_predicate);
  declare("bulk_size", "b64", bulk_register);
  if (wanted_.contains("memory_address") || wanted_.contains("access_space")) {
    text += "\t.reg .b64 " + memory_register + ", " + of_access(memory_register, 1) + ";\n";
  }
  bool reads_operands = wanted_.contains("bulk_size");
  for (const std::string& name : wanted_) {
    if (!is_bits(name)) continue;
    reads_operands = true;
    text += "\t.reg .b64 " + bits_register(name) + ";\n";
  }
  if (reads_operands) append_operand_registers(text);
}

// ---------------------------------------------------------------- values

void SiteValues::append_preparation(const Probe& probe, const Site& site, std::string& text) const {
  if (site.instruction == nullptr) return;
  for (const std::string& name : routine_at(probe, site).site_values()) append_value(name, site, text);
}

void SiteValues::append_value(std::string_view name, const Site& site, std::string& text) const {
  const Instruction& instruction = *site.instruction;
  if (name == "predicate_value") {
    text += instruction.guarded()
                ? "\tselp.u32 " + value_register + (instruction.guard.negated ? ", 0, 1, " : ", 1, 0, ") +
                      std::string(instruction.guard.predicate) + ";\n"
                : "\tmov.u32 " + value_register + ", 1;\n";
  }
  if (!is_at_instruction(site)) return;
  if (name == "memory_address") {
    append_memory_address(unit_, body_, instruction, access_of(site).address,
                          of_access(memory_register, site.access), text);
  } else if (name == "branch_target") {
    append_branch_target(instruction, text);
  } else if (name == "access_space") {
    append_space(access_of(site), site, text);
  } else if (name == "bulk_size") {
    const MemoryAccess access = access_of(site);
    if (access.size == nullptr) {
      text += "\tmov.b64 " + bulk_register + ", 0;\n";
    } else {
      append_operand_value(unit_, body_, instruction, *access.size, 0, bulk_register, text);
    }
  } else if (name.starts_with(operand_prefix)) {
    if (!is_read_behind(name, site)) append_operand(name, site, text);
  } else if (name.starts_with(stored_prefix)) {
    const std::uint32_t position = position_of(name);
    append_bits(name, site, stored_operand(instruction, position), position, size_of(instruction.traits.type),
                text);
  }
}

void SiteValues::append_loaded_values(const Probe& probe, const Site& site, std::string& text) const {
  const Instruction& instruction = *site.instruction;
  const bool loads = instruction.traits.reads_memory && instruction.traits.destinations != 0 &&
                     !instruction.operands.empty();
  for (const std::string& name : routine_at(probe, site).site_values()) {
    if (name.starts_with(operand_prefix) && is_read_behind(name, site)) append_operand(name, site, text);
    if (!name.starts_with(loaded_prefix)) continue;
    const std::uint32_t position = position_of(name);
    const Operand* operand = loads ? &instruction.operands[0] : nullptr;
    const bool is_scalar = operand != nullptr && operand->kind != OperandKind::vector;
    append_bits(name, site, is_scalar && position != 0 ? nullptr : operand, position,
                size_of(instruction.traits.type), text);
  }
}

void SiteValues::append_operand(std::string_view name, const Site& site, std::string& text) const {
  const Instruction& instruction = *site.instruction;
  const std::uint32_t position = position_of(name);
  const bool exists = position < instruction.operands.size();
  // The last operand of mad.wide and the result of mul.wide are twice as wide as the type says.
  const bool is_wide =
      (position == 0 || position == 3) && instruction.opcode.find(".wide") != std::string_view::npos;
  const Operand* const operand = exists ? &instruction.operands[position] : nullptr;
  // Addresses and registers of memory instructions may be wider than the type; numbers are as wide.
  const bool is_whole =
      instruction.traits.is_memory_access() && (operand == nullptr || operand->kind != OperandKind::integer);
  append_bits(name, site, operand, 0, is_wide || is_whole ? 0 : size_of(instruction.traits.type), text);
}

/// The bits of `operand`, or of that element of a vector, in the register of the value `name`.
void SiteValues::append_bits(std::string_view name, const Site& site, const Operand* operand,
                             std::uint32_t element, std::uint32_t most_bytes, std::string& text) const {
  if (operand != nullptr && operand->kind == OperandKind::vector) {
    operand = element < operand->elements.size() ? &operand->elements[element] : nullptr;
  }
  const std::string target = bits_register(name);
  if (operand == nullptr || operand->kind == OperandKind::sink) {
    text += "\tmov.b64 " + target + ", 0;\n";
    return;
  }
  if (append_operand_value(unit_, body_, *site.instruction, *operand, most_bytes, target, text)) return;
  unit_.notes.push_back("PTX line " + number(site.instruction->line) + ": the value of '" +
                        std::string(unit_.module.text(operand->text)) + "' is not known; handlers see 0");
}

/// The space an address leads to. Windows of other spaces lie in the generic one, global memory is the rest.
void SiteValues::append_space(const MemoryAccess& access, const Site& site, std::string& text) const {
  if (access.space != StateSpace::generic || access.address == nullptr) return;
  const std::string address = of_access(memory_register, site.access);
  const std::string target = of_access(space_register, site.access);
  append_memory_address(unit_, body_, *site.instruction, access.address, address, text);
  text += "\tmov.u32 " + target + ", " + number(unit_.space_code(StateSpace::generic)) + ";\n";
  constexpr std::pair<const char*, StateSpace> spaces[] = {{"global", StateSpace::global},
                                                           {"shared", StateSpace::shared},
                                                           {"local", StateSpace::local},
                                                           {"const", StateSpace::constant}};
  for (const auto& [name, space] : spaces) {
    text += "\tisspacep." + std::string(name) + " " + in_space_register + ", " + address + ";\n\t@" +
            in_space_register + " mov.u32 " + target + ", " + number(unit_.space_code(space)) + ";\n";
  }
}

// ---------------------------------------------------------------- operands of routines

std::string SiteValues::operand(const Probe& probe, std::string_view name, const Site& site) const {
  if (name == "basic_block_count") return number(unit_.basic_blocks);
  if (name == "instruction_count") return number(unit_.instructions);
  if (name == "predicate_value") return site.instruction != nullptr ? value_register : "1";
  if (name.starts_with("basic_block")) return block_operand(name, site);
  if (name == "instruction_id") {
    const std::uint32_t index = site.instruction != nullptr
                                    ? body_.statements[site.instruction->statement].index
                                    : range_of(site.block).begin;
    return number(function_.first_instruction + index);
  }
  return site.instruction != nullptr ? instruction_operand(probe, name, site) : "0";
}

std::string SiteValues::block_operand(std::string_view name, const Site& site) const {
  const BasicBlock& range = range_of(site.block);
  if (name == "basic_block_id") return number(function_.first_block + site.block);
  if (name == "basic_block_instruction_count") return number(range.size());
  const Instruction* terminator = terminator_of(range);
  const bool guarded_end = terminator != nullptr && terminator->guarded();
  if (name == "basic_block_predicated_instruction_count")
    return number(inner_guarded(range) + (guarded_end ? 1 : 0));
  // executed_count: known where the block ends; blocks without guards need no register.
  const bool dynamic = site.point == ProbePoint::block_exit && (guarded_end || inner_guarded(range) != 0);
  return dynamic ? executed_register : number(range.size());
}

std::string SiteValues::instruction_operand(const Probe& probe, std::string_view name,
                                            const Site& site) const {
  const Instruction& instruction = *site.instruction;
  if (name == "memory_address") return of_access(memory_register, site.access);
  if (name == "branch_target") return target_register;
  if (name == "access_kind") return number(access_kind(instruction.traits));
  if (name == "bulk_size") return bulk_register;
  if (is_bits(name)) return bits_register(name);
  if (name == "access_size") return number(access_of(site).bytes);
  if (name == "vector_width") return number(vector_width(instruction));
  if (name == "source_line") return number(instruction.source_line);
  if (name == "ptx_line") return number(instruction.line);
  if (name == "access_space") {
    const MemoryAccess access = access_of(site);
    const bool is_dynamic = access.space == StateSpace::generic && access.address != nullptr;
    return is_dynamic ? of_access(space_register, site.access) : number(unit_.space_code(access.space));
  }
  return number(probe.constant ? probe.constant(name, instruction) : 0);
}

/// 0 stands for the block behind the branch, where lanes go whose guard does not hold; other blocks for the
/// first entry that leads there.
void SiteValues::append_branch_target(const Instruction& branch, std::string& text) const {
  const auto index = static_cast<std::size_t>(&branch - body_.instructions.data());
  const BasicBlock& range = function_.graph.blocks[function_.graph.block_of[index]];
  const std::vector<std::uint32_t>& targets = range.targets;
  const auto number_of = [&](std::size_t entry) -> std::size_t {
    if (targets[entry] == range.fall_through) return 0;
    return static_cast<std::size_t>(std::find(targets.begin(), targets.end(), targets[entry]) -
                                    targets.begin()) +
           1;
  };
  if (branch.traits.kind != OpcodeClass::branch || targets.empty()) {
    text += "\tmov.u32 " + target_register + ", 0;\n";
  } else if (!branch.opcode.starts_with("brx") || branch.operands[0].kind == OperandKind::integer) {
    const bool is_indexed = branch.opcode.starts_with("brx");  // with a constant
    const std::size_t entry = is_indexed ? static_cast<std::size_t>(branch.operands[0].integer) : 0;
    text +=
        "\tmov.u32 " + target_register + ", " + number(entry < targets.size() ? number_of(entry) : 0) + ";\n";
  } else {
    const std::string entry(branch.operands[0].name);
    text += "\tadd.u32 " + target_register + ", " + entry + ", 1;\n";
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (number_of(i) == i + 1) continue;
      text += "\tsetp.eq.u32 " + target_predicate + ", " + entry + ", " + number(i) + ";\n\tselp.u32 " +
              target_register + ", " + number(number_of(i)) + ", " + target_register + ", " +
              target_predicate + ";\n";
    }
  }
  if (branch.guarded()) {
    text += "\t" + guard_prefix(branch.guard, true) + "mov.u32 " + target_register + ", 0;\n";
  }
}

// ---------------------------------------------------------------- executed instructions

const Instruction* SiteValues::terminator_of(const BasicBlock& block) const {
  if (block.size() == 0) return nullptr;
  const Instruction& last = body_.instructions[block.end - 1];
  return last.traits.ends_block() ? &last : nullptr;
}

/// Guarded instructions before the block's end.
std::uint32_t SiteValues::inner_guarded(const BasicBlock& block) const {
  const std::uint32_t end = block.end - (terminator_of(block) != nullptr ? 1 : 0);
  std::uint32_t guarded = 0;
  for (std::uint32_t i = block.begin; i < end; ++i) guarded += body_.instructions[i].guarded() ? 1 : 0;
  return guarded;
}

bool SiteValues::counts_guards(const BasicBlock& block) const {
  return wanted_.contains(executed_count) && inner_guarded(block) != 0;
}

void SiteValues::append_block_start(std::uint32_t block, std::string& text) const {
  if (counts_guards(range_of(block))) text += "\tmov.u32 " + guarded_register + ", 0;\n";
}

void SiteValues::append_guard_count(std::uint32_t block, const Instruction& instruction,
                                    std::string& text) const {
  if (!instruction.guarded() || !counts_guards(range_of(block))) return;
  text += "\t" + guard_prefix(instruction.guard, false) + "add.u32 " + guarded_register + ", " +
          guarded_register + ", 1;\n";
}

void SiteValues::append_block_total(std::uint32_t block, const Instruction* terminator,
                                    std::string& text) const {
  const BasicBlock& range = range_of(block);
  const bool counts = counts_guards(range);
  const bool guarded_end = terminator != nullptr && terminator->guarded();
  if (!wanted_.contains(executed_count) || (!counts && !guarded_end)) return;
  const std::uint32_t always = range.size() - inner_guarded(range) - (guarded_end ? 1 : 0);
  if (guarded_end) {
    const bool negated = terminator->guard.negated;
    text += "\tselp.u32 " + executed_register + ", " + number(always + (negated ? 0 : 1)) + ", " +
            number(always + (negated ? 1 : 0)) + ", " + std::string(terminator->guard.predicate) + ";\n";
  } else {
    text += "\tmov.u32 " + executed_register + ", " + number(always) + ";\n";
  }
  if (counts) {
    text += "\tadd.u32 " + executed_register + ", " + executed_register + ", " + guarded_register + ";\n";
  }
}

}  // namespace lynxpp::ptx
