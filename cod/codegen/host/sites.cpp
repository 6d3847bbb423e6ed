// Queries of ON_REPORT to the site table.
#include <algorithm>

#include "cod/allocation_table.h"
#include "cod/codegen/host/runtime.h"
#include "ptx/ir/tensor_core.h"
#include "support/text.h"

namespace lynxpp::cod {
namespace {

/// Returns the instruction that the first argument selects; null, with a mishap, if it is out of range.
const SiteTable::Instruction* find_instruction(const HostCall& call) {
  const SiteTable* sites = call.run.launch.sites;
  const std::uint64_t index = call.arguments[0];
  if (sites != nullptr && index < sites->instructions.size()) return &sites->instructions[index];
  call.run.add_mishap(&call.expression, "no instruction has this index; the result was taken as 0");
  return nullptr;
}

/// The first instruction of a block; for the index after the last block, the number of instructions.
std::uint64_t first_of_block(const HostCall& call) {
  const SiteTable* sites = call.run.launch.sites;
  const std::uint64_t block = call.arguments[0];
  if (sites != nullptr && block < sites->blocks.size()) return sites->blocks[block].first_instruction;
  if (sites != nullptr && block == sites->blocks.size()) return sites->instructions.size();
  call.run.add_mishap(&call.expression, "no basic block has this index; the result was taken as 0");
  return 0;
}

SiteGrouping grouping_of(Api api) {
  switch (api) {
    case Api::source_file_id:
    case Api::source_file_id_of: return SiteGrouping::source_file;
    case Api::opcode_id:
    case Api::opcode_id_of: return SiteGrouping::opcode;
    case Api::call_target_id:
    case Api::call_target_id_of: return SiteGrouping::call_target;
    default: return SiteGrouping::source_line;
  }
}

std::uint64_t first_of_group(HostRun& run, Api api, std::uint64_t index) {
  const SiteGrouping what = grouping_of(api);
  const auto [known, is_new] = run.first_of_group.try_emplace(what);
  if (is_new) known->second = first_of_groups(*run.launch.sites, what);
  return known->second[index];
}

ptx::TensorCoreProduct tensor_core_at(const HostCall& call, const SiteTable::Instruction& instruction) {
  return ptx::tensor_core_product(call.run.launch.sites->opcode_of(instruction));
}

TensorCopySize tensor_copy_at(const LaunchView& launch, std::uint64_t instruction) {
  const auto found =
      std::ranges::lower_bound(launch.tensor_copies, instruction, {}, &TensorCopySize::instruction);
  const bool is_known = found != launch.tensor_copies.end() && found->instruction == instruction;
  return is_known ? *found : TensorCopySize();
}

/// Shown for an allocation that does not exist or an instruction that is unknown.
constexpr const char* unknown_name = "(unknown)";

std::string allocation_name(const LaunchView& launch, std::uint64_t id) {
  if (id == no_allocation) return "(none)";
  const auto found = std::ranges::find_if(
      launch.located_arrays, [id](const LocatedArray& each) { return !each.is_shared && each.id == id; });
  return found == launch.located_arrays.end() ? unknown_name : found->name;
}

std::string instruction_name(const SiteTable& sites, Api api, std::uint64_t id) {
  if (id >= sites.instructions.size()) return unknown_name;
  const SiteTable::Instruction& instruction = sites.instructions[id];
  switch (grouping_of(api)) {
    case SiteGrouping::opcode: return sites.opcode_of(instruction);
    case SiteGrouping::call_target: {
      const auto callee = sites.callees.find(static_cast<std::uint32_t>(id));
      return callee == sites.callees.end() ? unknown_name : demangle(callee->second);
    }
    case SiteGrouping::source_file:
    case SiteGrouping::source_line: break;
  }
  if (instruction.file == SiteTable::unknown) return unknown_name;
  const std::string& file = sites.files[instruction.file];
  return grouping_of(api) == SiteGrouping::source_file ? file : file + ":" + std::to_string(instruction.line);
}

}  // namespace

std::uint64_t site_value(const HostCall& call) {
  if (call.expression.api->arguments == ApiArguments::block) return first_of_block(call);
  const SiteTable::Instruction* instruction = find_instruction(call);
  if (instruction == nullptr) return 0;
  switch (call.api()) {
    case Api::instruction_is_of: return unpack(call.expression.value).choose(instruction->labels) ? 1 : 0;
    case Api::instruction_block: return instruction->block;
    case Api::source_line_of: return instruction->line;
    case Api::tensor_core_operations_of: return tensor_core_at(call, *instruction).operations;
    case Api::tensor_core_type_of: return static_cast<std::uint64_t>(tensor_core_at(call, *instruction).type);
    case Api::ptx_line_of: return instruction->ptx_line;
    case Api::box_bytes: return tensor_copy_at(call.run.launch, call.arguments[0]).bytes;
    case Api::box_lines: return tensor_copy_at(call.run.launch, call.arguments[0]).lines;
    default: return first_of_group(call.run, call.api(), call.arguments[0]);
  }
}

const std::string& site_text(const HostCall& call) {
  static const std::string unknown;
  HostRun& run = call.run;
  if (call.api() == Api::allocation_name)
    return run.texts.emplace_back(allocation_name(run.launch, call.arguments[0]));
  const SiteTable::Instruction* instruction = find_instruction(call);
  if (instruction == nullptr) return unknown;
  const SiteTable& sites = *run.launch.sites;
  switch (call.api()) {
    case Api::opcode: return sites.opcode_of(*instruction);
    case Api::function_name: return sites.function_of(*instruction);
    case Api::call_target: {
      const auto callee = sites.callees.find(static_cast<std::uint32_t>(call.arguments[0]));
      return callee == sites.callees.end() ? unknown : run.texts.emplace_back(demangle(callee->second));
    }
    default: return instruction->file == SiteTable::unknown ? unknown : sites.files[instruction->file];
  }
}

std::string name_of_number(const LaunchView& launch, Api api, std::uint64_t number) {
  if (api == Api::allocation_id) return allocation_name(launch, number);
  return launch.sites == nullptr ? unknown_name : instruction_name(*launch.sites, api, number);
}

}  // namespace lynxpp::cod
