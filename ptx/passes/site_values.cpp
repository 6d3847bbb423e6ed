#include "ptx/passes/site_values.h"

#include <algorithm>

#include "ptx/passes/memory_address.h"

namespace lynxpp::ptx {
namespace {

constexpr std::string_view executed_count = "basic_block_executed_instruction_count";

const std::string guarded_register = "%lynxpp_guarded";
const std::string executed_register = "%lynxpp_executed";
const std::string memory_register = "%lynxpp_memory";
const std::string value_register = "%lynxpp_value";
const std::string target_register = "%lynxpp_target";
const std::string target_predicate = "%lynxpp_is_target";

std::string number(std::uint64_t value) { return std::to_string(value); }

/// As in cod::SiteValue.
std::uint64_t access_kind(const OpcodeTraits& traits) {
  if (traits.kind == OpcodeClass::atomic) return 2;
  return traits.reads_memory ? 0 : 1;
}

}  // namespace

std::string guard_prefix(const Guard& guard, bool opposite) {
  return (guard.negated != opposite ? "@!" : "@") + std::string(guard.predicate) + " ";
}

SiteValues::SiteValues(const InstrumentationUnit& unit, const FunctionUnit& function)
    : unit_(unit), function_(function), body_(*function.function->body) {
  wants_executed_ = std::any_of(unit.probes.begin(), unit.probes.end(), [](const Probe& probe) {
    return probe.routine.reads_site_value(executed_count);
  });
  wants_target_ = std::any_of(unit.probes.begin(), unit.probes.end(), [](const Probe& probe) {
    return probe.routine.reads_site_value("branch_target");
  });
}

void SiteValues::append_declarations(std::string& text) const {
  text += "\t.reg .b32 " + guarded_register + ", " + executed_register + ", " + value_register +
          ";\n\t.reg .b64 " + memory_register + ";\n";
  if (wants_target_) {
    text += "\t.reg .b32 " + target_register + ";\n\t.reg .pred " + target_predicate + ";\n";
  }
}

void SiteValues::append_preparation(const ProbeRoutine& routine, const Site& site, std::string& text) const {
  if (site.instruction == nullptr) return;
  const Instruction& instruction = *site.instruction;
  if (site.point == ProbePoint::instruction && routine.reads_site_value("memory_address")) {
    append_memory_address(unit_, body_, instruction, memory_register, text);
  }
  if (routine.reads_site_value("branch_target")) append_branch_target(instruction, text);
  if (routine.reads_site_value("predicate_value")) {
    text += instruction.guarded()
                ? "\tselp.u32 " + value_register + (instruction.guard.negated ? ", 0, 1, " : ", 1, 0, ") +
                      std::string(instruction.guard.predicate) + ";\n"
                : "\tmov.u32 " + value_register + ", 1;\n";
  }
}

std::string SiteValues::operand(std::string_view name, const Site& site) const {
  const BasicBlock& range = range_of(site.block);
  const Instruction* instruction = site.instruction;
  if (name == "basic_block_id") return number(function_.first_block + site.block);
  if (name == "basic_block_count") return number(unit_.basic_blocks);
  if (name == "basic_block_instruction_count") return number(range.size());
  if (name == "instruction_count") return number(unit_.instructions);
  if (name == "memory_address") return memory_register;
  if (name == "predicate_value") return instruction != nullptr ? value_register : "1";
  if (name == "access_size") return number(instruction != nullptr ? instruction->traits.access_bytes() : 0);
  if (name == "branch_target") return instruction != nullptr ? target_register : "0";
  if (name == "access_kind") return number(instruction != nullptr ? access_kind(instruction->traits) : 0);
  if (name == "instruction_id") {
    const std::uint32_t index =
        instruction != nullptr ? body_.statements[instruction->statement].index : range.begin;
    return number(function_.first_instruction + index);
  }
  const Instruction* terminator = terminator_of(range);
  const bool guarded_end = terminator != nullptr && terminator->guarded();
  if (name == "basic_block_predicated_instruction_count")
    return number(inner_guarded(range) + (guarded_end ? 1 : 0));
  // executed_count: known where the block ends; blocks without guards need no register.
  const bool dynamic = site.point == ProbePoint::block_exit && (guarded_end || inner_guarded(range) != 0);
  return dynamic ? executed_register : number(range.size());
}

/// 0 stands for the block behind the branch, where lanes go whose guard does not hold; other blocks for the first entry that leads there.
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
  } else if (!branch.opcode.starts_with("brx")) {
    text += "\tmov.u32 " + target_register + ", " + number(number_of(0)) + ";\n";
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
  return wants_executed_ && inner_guarded(block) != 0;
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
  if (!wants_executed_ || (!counts && !guarded_end)) return;
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
