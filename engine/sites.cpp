#include "engine/sites.h"

#include <functional>
#include <utility>

#include "engine/access_facts.h"
#include "engine/handler_sites.h"

namespace lynxpp::engine {
namespace {

/// Numbers strings in order of first occurrence.
class Names {
 public:
  explicit Names(std::vector<std::string>& names) : names_(names) {}
  std::uint32_t index_of(std::string_view name) {
    const auto known = known_.find(name);
    if (known != known_.end()) return known->second;
    names_.emplace_back(name);
    return known_.emplace(name, static_cast<std::uint32_t>(names_.size() - 1)).first->second;
  }
  /// Returns `unknown` for an empty name.
  std::uint32_t known_or_new(std::string_view name) {
    return name.empty() ? cod::SiteTable::unknown : index_of(name);
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, std::uint32_t, std::less<>> known_;
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

class SiteDescriber {
 public:
  SiteDescriber(const ptx::Module& module, const ptx::ReachedFunctions& reached)
      : module_(module), transfers_(reached.transfers) {
    table_.blocks.reserve(reached.basic_blocks);
    table_.instructions.reserve(reached.instructions);
  }

  void add(const ptx::FunctionUnit& function) {
    const auto index = static_cast<std::uint32_t>(table_.functions.size());
    table_.functions.push_back(function.function->name);
    add_blocks(function, index);
    const auto first_call_site = static_cast<std::uint32_t>(table_.call_sites.size());
    add_call_sites(*function.function->body, first_call_site);
    AccessFacts accesses(*function.analyses);
    const std::vector<ptx::Instruction>& instructions = function.function->body->instructions;
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
      const ptx::Instruction& instruction = instructions[i];
      cod::SiteTable::Instruction site = site_of(instruction);
      site.block = function.first_block + function.graph().block_of[i];
      if (instruction.call_site != ptx::no_call_site)
        site.call_site = first_call_site + instruction.call_site;
      if (is_data_access(instruction)) {
        site.object = objects_.known_or_new(accesses.object_of(i));
        site.stride = strides_.known_or_new(accesses.lane_stride_of(i));
      }
      table_.instructions.push_back(site);
    }
  }

  cod::SiteTable take() { return std::move(table_); }

 private:
  static bool is_data_access(const ptx::Instruction& instruction) {
    using enum ptx::StateSpace;
    const ptx::StateSpace space = instruction.traits.space;
    return instruction.traits.is_memory_access() && (space == global || space == shared || space == generic);
  }

  void add_blocks(const ptx::FunctionUnit& function, std::uint32_t index) {
    const std::vector<std::uint32_t>& joins = function.analyses->post_dominators();
    const ptx::LoopNest& loops = function.analyses->loops();
    const auto id_of = [&](std::uint32_t block) {
      return block == ptx::no_block ? cod::SiteTable::unknown : function.first_block + block;
    };
    for (std::uint32_t i = 0; i < function.graph().blocks.size(); ++i) {
      const ptx::BasicBlock& block = function.graph().blocks[i];
      std::uint32_t loop = loops.loop_of(i);
      if (loop != ptx::no_loop && loops.loops()[loop].header == i) loop = loops.loops()[loop].parent;
      cod::SiteTable::Block& site = table_.blocks.emplace_back();
      site.function = index;
      site.first_instruction = function.first_instruction + block.begin;
      site.instructions = block.size();
      site.falls_to = id_of(block.fall_through);
      if (block.targets.size() == 1) site.branches_to = id_of(block.targets[0]);
      site.join = id_of(joins[i]);
      if (loop != ptx::no_loop) site.loop = id_of(loops.loops()[loop].header);
    }
  }

  void add_call_sites(const ptx::Body& body, std::uint32_t first) {
    for (const ptx::CallSite& call : body.call_sites) {
      cod::SiteTable::CallSite& site = table_.call_sites.emplace_back();
      if (const std::string* const file = module_.find_file(call.file)) site.file = files_.index_of(*file);
      site.line = call.line;
      if (call.outer != ptx::no_call_site) site.outer = first + call.outer;
    }
  }

  cod::SiteTable::Instruction site_of(const ptx::Instruction& instruction) {
    cod::SiteTable::Instruction site;
    site.opcode = opcodes_.index_of(instruction.opcode);
    site.labels = labels_of(transfers_, instruction);
    site.ptx_line = instruction.line;
    if (instruction.traits.kind == ptx::OpcodeClass::call) {
      const std::string_view callee = ptx::direct_callee(module_, instruction);
      if (!callee.empty())
        table_.callees.emplace(static_cast<std::uint32_t>(table_.instructions.size()), callee);
    }
    if (const std::string* const file = module_.find_file(instruction.source_file)) {
      site.file = files_.index_of(*file);
      site.line = instruction.source_line;
    }
    return site;
  }

  const ptx::Module& module_;
  const ptx::Transfers& transfers_;
  cod::SiteTable table_;
  Names opcodes_{table_.opcodes};
  Names files_{table_.files};
  Names objects_{table_.objects};
  Names strides_{table_.strides};
};

}  // namespace

std::optional<std::uint32_t> GroupedSites::value(std::string_view name, const ptx::Instruction& instruction) {
  const std::optional<cod::SiteGrouping> what = grouping_of(name);
  if (!what) return std::nullopt;
  if (!table_) table_ = describe_sites(module_, reached_);
  const auto [known, is_new] = first_.try_emplace(*what);
  if (is_new) known->second = cod::first_of_groups(*table_, *what);
  for (const ptx::FunctionUnit& function : reached_.instrumented()) {
    const std::vector<ptx::Instruction>& own = function.function->body->instructions;
    const bool is_here = !own.empty() && !std::less<>()(&instruction, &own.front()) &&
                         !std::less<>()(&own.back(), &instruction);
    if (is_here) return known->second[function.first_instruction + (&instruction - own.data())];
  }
  return 0;
}

cod::SiteTable describe_sites(const ptx::Module& module, const ptx::ReachedFunctions& reached) {
  SiteDescriber describer(module, reached);
  for (const ptx::FunctionUnit& function : reached.instrumented()) describer.add(function);
  return describer.take();
}

}  // namespace lynxpp::engine
