#include "engine/sites.h"

#include <functional>
#include <utility>

#include "engine/places.h"

namespace lynxpp::engine {
namespace {

/// Numbers texts in the order in which they first occur.
class Names {
 public:
  explicit Names(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t index_of(std::string_view name) {
    const auto [entry, is_new] = known_.emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.emplace_back(name);
    return entry->second;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string_view, std::uint32_t> known_;  // of the module's text
};

std::optional<cod::SiteGrouping> grouping_of(std::string_view value) {
  using cod::SiteGrouping, cod::SiteValue;
  constexpr std::pair<SiteValue, SiteGrouping> values[] = {
      {SiteValue::source_id, SiteGrouping::source_line},
      {SiteValue::source_file_id, SiteGrouping::source_file},
      {SiteValue::opcode_id, SiteGrouping::opcode},
      {SiteValue::call_target_id, SiteGrouping::call_target}};
  for (const auto& [named, grouping] : values) {
    if (cod::name_of(named) == value) return grouping;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> GroupedSites::value(std::string_view name, const ptx::Instruction& instruction) {
  const std::optional<cod::SiteGrouping> what = grouping_of(name);
  if (!what) return std::nullopt;
  if (!table_) table_ = describe_sites(unit_);
  const auto [known, is_new] = first_.try_emplace(*what);
  if (is_new) known->second = cod::first_of_groups(*table_, *what);
  for (const ptx::FunctionUnit& function : unit_.reached.instrumented()) {
    const std::vector<ptx::Instruction>& own = function.function->body->instructions;
    const bool is_here = !own.empty() && !std::less<>()(&instruction, &own.front()) &&
                         !std::less<>()(&own.back(), &instruction);
    if (is_here) return known->second[function.first_instruction + (&instruction - own.data())];
  }
  return 0;
}

cod::SiteTable describe_sites(const ptx::InstrumentationUnit& unit) {
  cod::SiteTable table;
  table.blocks.reserve(unit.reached.basic_blocks);
  table.instructions.reserve(unit.reached.instructions);
  Names opcodes(table.opcodes);
  Names files(table.files);
  for (const ptx::FunctionUnit& function : unit.reached.instrumented()) {
    const auto function_index = static_cast<std::uint32_t>(table.functions.size());
    table.functions.push_back(function.function->name);
    for (const ptx::BasicBlock& block : function.graph().blocks) {
      table.blocks.push_back({function_index, function.first_instruction + block.begin, block.size()});
    }
    const std::vector<ptx::Instruction>& instructions = function.function->body->instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const ptx::Instruction& instruction = instructions[i];
      cod::SiteTable::Instruction& site = table.instructions.emplace_back();
      site.block = function.first_block + function.graph().block_of[i];
      site.opcode = opcodes.index_of(instruction.opcode);
      site.labels = labels_of(unit, instruction);
      site.ptx_line = instruction.line;
      if (instruction.traits.kind == ptx::OpcodeClass::call) {
        const std::string_view callee = ptx::direct_callee(unit.module, instruction);
        if (!callee.empty())
          table.callees.emplace(static_cast<std::uint32_t>(table.instructions.size() - 1), callee);
      }
      const std::string* file = unit.module.find_file(instruction.source_file);
      if (file == nullptr) continue;
      site.file = files.index_of(*file);
      site.line = instruction.source_line;
    }
  }
  return table;
}

}  // namespace lynxpp::engine
