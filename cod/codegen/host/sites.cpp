// What ON_REPORT asks of the site table.
#include <algorithm>

#include "cod/codegen/host/runtime.h"
#include "support/text.h"

namespace lynxpp::cod {
namespace {

/// The entry of an instruction, or null, with a mishap, when there is none of that number.
const SiteTable::Instruction* find_instruction(HostRun& run, const Expression* call, std::uint64_t index) {
  const SiteTable* sites = run.launch.sites;
  if (sites != nullptr && index < sites->instructions.size()) return &sites->instructions[index];
  run.add_mishap(call, "there is no instruction of this number; the result was taken as 0");
  return nullptr;
}

/// Where a block's instructions begin; behind the last block, where they end.
std::uint64_t first_of_block(HostRun& run, const Expression* call, std::uint64_t block) {
  const SiteTable* sites = run.launch.sites;
  if (sites != nullptr && block < sites->blocks.size()) return sites->blocks[block].first_instruction;
  if (sites != nullptr && block == sites->blocks.size()) return sites->instructions.size();
  run.add_mishap(call, "there is no basic block of this number; the result was taken as 0");
  return 0;
}

/// The first instruction of the same line of the same file.
std::uint64_t source_id(HostRun& run, std::uint64_t index) {
  if (run.source_ids.empty()) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> first;
    for (const SiteTable::Instruction& each : run.launch.sites->instructions) {
      const auto position = static_cast<std::uint32_t>(run.source_ids.size());
      run.source_ids.push_back(first.try_emplace({each.file, each.line}, position).first->second);
    }
  }
  return run.source_ids[index];
}

/// The first instruction that calls the same function; of what calls none by its name the instruction itself.
std::uint64_t call_target_id(const SiteTable& sites, std::uint64_t index) {
  const auto callee = sites.callees.find(static_cast<std::uint32_t>(index));
  if (callee == sites.callees.end()) return index;
  const auto first =
      std::ranges::find_if(sites.callees, [&](const auto& entry) { return entry.second == callee->second; });
  return first->first;
}

}  // namespace

std::uint64_t host_site_value(HostRun* run, const Expression* call, std::uint64_t index) {
  if (call->api->arguments == ApiArguments::block) return first_of_block(*run, call, index);
  const SiteTable::Instruction* instruction = find_instruction(*run, call, index);
  if (instruction == nullptr) return 0;
  switch (call->api->api) {
    case Api::instruction_is_of: return unpack(call->value).choose(instruction->labels) ? 1 : 0;
    case Api::instruction_block: return instruction->block;
    case Api::opcode_id: return instruction->opcode;
    case Api::source_line_of: return instruction->line;
    case Api::ptx_line_of: return instruction->ptx_line;
    case Api::source_id: return source_id(*run, index);
    case Api::call_target_id: return call_target_id(*run->launch.sites, index);
    default: return 0;
  }
}

const std::string* host_site_text(HostRun* run, const Expression* call, std::uint64_t index) {
  static const std::string unknown;
  const SiteTable::Instruction* instruction = find_instruction(*run, call, index);
  if (instruction == nullptr) return &unknown;
  const SiteTable& sites = *run->launch.sites;
  switch (call->api->api) {
    case Api::opcode: return &sites.opcode_of(*instruction);
    case Api::function_name: return &sites.function_of(*instruction);
    case Api::call_target: {
      const auto callee = sites.callees.find(static_cast<std::uint32_t>(index));
      if (callee == sites.callees.end()) return &unknown;
      return &run->texts.emplace_back(demangle(callee->second));
    }
    case Api::source_file:
      return instruction->file == SiteTable::unknown ? &unknown : &sites.files[instruction->file];
    default: return &unknown;
  }
}

}  // namespace lynxpp::cod
