#include "cod/syntax/api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "ptx/ir/memory_access.h"
#include "support/text.h"

namespace lynxpp::cod {
namespace {

constexpr ApiFunction functions[] = {
#define LYNXPP_API(name, identifier, result, arguments, places, uniform) \
  {Api::identifier, #name, Type::result, ApiArguments::arguments, places, uniform, std::nullopt},
#define LYNXPP_API_SITE_ARGUMENTS(name, identifier, result, arguments, places, uniform, site) \
  {Api::identifier, #name, Type::result, ApiArguments::arguments, places, uniform, SiteValue::site},
#include "cod/syntax/api.def"
};

template <typename Value>
struct Named {
  std::string_view name;
  Value value;
};

constexpr std::array extents{
    Named<Extent>{"BASIC_BLOCKS", Extent::basic_blocks},
    Named<Extent>{"INSTRUCTIONS", Extent::instructions},
    Named<Extent>{"BLOCKS", Extent::blocks},
    Named<Extent>{"WARPS", Extent::warps},
    Named<Extent>{"THREADS", Extent::threads},
    Named<Extent>{"SMS", Extent::sms},
    Named<Extent>{"LANES", Extent::lanes},
    Named<Extent>{"SHARED_WORDS", Extent::shared_words},
    Named<Extent>{"DEVICE_WORDS", Extent::device_words},
};

constexpr std::array limits{
    Named<std::uint64_t>{"WARPS_PER_BLOCK", 32},
    Named<std::uint64_t>{"THREADS_PER_BLOCK", 1024},
};

constexpr std::array targets{
    Named<TargetKind>{"ON_KERNEL_ENTRY", TargetKind::kernel_entry},
    Named<TargetKind>{"ON_KERNEL_EXIT", TargetKind::kernel_exit},
    Named<TargetKind>{"ON_BASIC_BLOCK_ENTRY", TargetKind::basic_block_entry},
    Named<TargetKind>{"ON_BASIC_BLOCK_EXIT", TargetKind::basic_block_exit},
    Named<TargetKind>{"ON_FUNCTION_ENTRY", TargetKind::function_entry},
    Named<TargetKind>{"ON_FUNCTION_EXIT", TargetKind::function_exit},
    Named<TargetKind>{"ON_LOOP_ENTRY", TargetKind::loop_entry},
    Named<TargetKind>{"ON_LOOP_ITERATION", TargetKind::loop_iteration},
    Named<TargetKind>{"ON_LOOP_EXIT", TargetKind::loop_exit},
    Named<TargetKind>{"ON_INSTRUCTION", TargetKind::instruction},
    Named<TargetKind>{"ON_INSTRUCTION_AFTER", TargetKind::instruction_after},
};

struct FilterBit {
  std::uint32_t InstructionFilter::*kind;
  std::uint32_t bit;
};

constexpr std::array filters{
    Named<FilterBit>{"MEM_READ", {&InstructionFilter::classes, mem_read}},
    Named<FilterBit>{"MEM_WRITE", {&InstructionFilter::classes, mem_write}},
    Named<FilterBit>{"CALL", {&InstructionFilter::classes, call}},
    Named<FilterBit>{"BRANCH", {&InstructionFilter::classes, branch}},
    Named<FilterBit>{"BARRIER", {&InstructionFilter::classes, barrier}},
    Named<FilterBit>{"ATOMIC", {&InstructionFilter::classes, atomic}},
    Named<FilterBit>{"ARITHMETIC", {&InstructionFilter::classes, arithmetic}},
    Named<FilterBit>{"PREDICATED", {&InstructionFilter::classes, predicated}},
    Named<FilterBit>{"ASYNC_COPY", {&InstructionFilter::classes, async_copy}},
    Named<FilterBit>{"BULK", {&InstructionFilter::classes, bulk}},
    Named<FilterBit>{"UNSIZED", {&InstructionFilter::classes, unsized}},
    Named<FilterBit>{"GLOBAL", {&InstructionFilter::spaces, space_global}},
    Named<FilterBit>{"LOCAL", {&InstructionFilter::spaces, space_local}},
    Named<FilterBit>{"SHARED", {&InstructionFilter::spaces, space_shared}},
    Named<FilterBit>{"CONST", {&InstructionFilter::spaces, space_const}},
    Named<FilterBit>{"PARAM", {&InstructionFilter::spaces, space_param}},
    Named<FilterBit>{"TEXTURE", {&InstructionFilter::spaces, space_texture}},
    Named<FilterBit>{"GENERIC", {&InstructionFilter::spaces, space_generic}},
    Named<FilterBit>{"INTEGER", {&InstructionFilter::data, integer}},
    Named<FilterBit>{"FLOATING_POINT", {&InstructionFilter::data, floating_point}},
    Named<FilterBit>{"TRANSFER_IN", {&InstructionFilter::transfers, transfer_in}},
    Named<FilterBit>{"TRANSFER_OUT", {&InstructionFilter::transfers, transfer_out}},
};

template <typename Table>
auto find_named(const Table& table, std::string_view name) {
  return std::find_if(std::begin(table), std::end(table),
                      [&](const auto& entry) { return entry.name == name; });
}

template <typename Table>
void append_names(const Table& table, std::vector<std::string>& names) {
  for (const auto& entry : table) names.emplace_back(entry.name);
}

std::uint32_t class_bits(const ptx::OpcodeTraits& traits, bool guarded) {
  std::uint32_t bits = guarded ? predicated : 0u;
  if (traits.reads_memory) bits |= mem_read;
  if (traits.writes_memory) bits |= mem_write;
  switch (traits.kind) {
    case ptx::OpcodeClass::arithmetic: return bits | arithmetic;
    case ptx::OpcodeClass::atomic: return bits | atomic;
    case ptx::OpcodeClass::branch: return bits | branch;
    case ptx::OpcodeClass::call: return bits | call;
    case ptx::OpcodeClass::barrier: return bits | barrier;
    default: return bits;
  }
}

std::uint32_t space_bits(const ptx::OpcodeTraits& traits) {
  if (!traits.is_memory_access()) return 0;
  switch (traits.space) {
    case ptx::StateSpace::global: return space_global;
    case ptx::StateSpace::local: return space_local;
    case ptx::StateSpace::shared: return space_shared;
    case ptx::StateSpace::constant: return space_const;
    case ptx::StateSpace::param: return space_param;
    case ptx::StateSpace::texture:
    case ptx::StateSpace::surface: return space_texture;
    case ptx::StateSpace::generic: return space_generic;
    default: return 0;
  }
}

std::uint32_t data_bits(const ptx::OpcodeTraits& traits) {
  if (traits.is_floating) return floating_point;
  switch (traits.type) {
    case ptx::DataType::none:
    case ptx::DataType::pred:
    case ptx::DataType::opaque: return 0;
    default: return integer;
  }
}

}  // namespace

const ApiFunction* find_api(std::string_view name) {
  const auto found = find_named(functions, name);
  return found == std::end(functions) ? nullptr : &*found;
}

const ApiFunction& api_of(Api api) {
  return *std::find_if(std::begin(functions), std::end(functions),
                       [&](const ApiFunction& each) { return each.api == api; });
}

std::optional<Extent> find_extent(std::string_view name) {
  const auto found = find_named(extents, name);
  return found == extents.end() ? std::nullopt : std::optional(found->value);
}

std::string_view name_of(Extent extent) {
  for (const auto& entry : extents) {
    if (entry.value == extent) return entry.name;
  }
  return "constant";
}

std::optional<std::uint64_t> find_limit(std::string_view name) {
  const auto found = find_named(limits, name);
  return found == limits.end() ? std::nullopt : std::optional(found->value);
}

std::vector<std::string> api_names() {
  std::vector<std::string> names;
  append_names(functions, names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());  // overloads share a name
  return names;
}

std::vector<std::string> extent_names() {
  std::vector<std::string> names;
  append_names(extents, names);
  append_names(limits, names);
  return names;
}

std::optional<TargetKind> find_target(std::string_view label) {
  const auto found = find_named(targets, label);
  return found == targets.end() ? std::nullopt : std::optional(found->value);
}

std::string_view label_of(TargetKind target) {
  for (const auto& entry : targets) {
    if (entry.value == target) return entry.name;
  }
  return {};
}

std::string_view name_of(TargetKind target) { return label_of(target); }

std::vector<std::string> label_names() {
  std::vector<std::string> names{"ON_REPORT",       "ON_END",        "KERNEL",      "OPCODE",
                                 "SOURCE",          "CALL_TARGET",   "RESULT",      "EVERY",
                                 "SAMPLE_LAUNCHES", "SAMPLE_BLOCKS", "SAMPLE_WARPS"};
  append_names(targets, names);
  append_names(filters, names);
  return names;
}

std::vector<std::string> filter_names() {
  std::vector<std::string> names;
  append_names(filters, names);
  return names;
}

bool is_label(std::string_view name) { return find_named(filters, name) != filters.end(); }

bool add_filter(std::string_view label, InstructionFilter& filter) {
  const auto found = find_named(filters, label);
  if (found == filters.end()) return false;
  filter.*(found->value.kind) |= found->value.bit;
  return true;
}

InstructionLabels labels_of(const ptx::OpcodeTraits& traits, bool guarded) {
  return {class_bits(traits, guarded), space_bits(traits), data_bits(traits), 0};
}

LabelSets labels_of(const ptx::Instruction& instruction) {
  const ptx::MemoryAccesses accesses = ptx::memory_accesses(instruction);
  if (accesses.count == 0) return {labels_of(instruction.traits, instruction.guarded()), std::nullopt};
  const auto side = [&](const ptx::MemoryAccess& access) {
    ptx::OpcodeTraits traits = instruction.traits;
    traits.reads_memory = access.reads;
    traits.writes_memory = access.writes;
    traits.space = access.space;
    InstructionLabels labels = labels_of(traits, instruction.guarded());
    if (access.reads && access.writes) labels.classes |= atomic;
    if (accesses.is_async_copy) labels.classes |= async_copy;
    if (access.is_bulk) labels.classes |= bulk;
    if (!access.is_sized) labels.classes |= unsized;
    return labels;
  };
  LabelSets sets{side(accesses.access[0]), std::nullopt};
  if (accesses.count == 2) sets.second = side(accesses.access[1]);
  return sets;
}

InstructionLabels united(const LabelSets& sets) {
  InstructionLabels labels = sets.first;
  if (!sets.second) return labels;
  labels.classes |= sets.second->classes;
  labels.spaces |= sets.second->spaces;
  labels.data |= sets.second->data;
  labels.transfers |= sets.second->transfers;
  return labels;
}

std::optional<std::uint32_t> InstructionFilter::choose(const LabelSets& labels) const {
  if (matches(labels.first)) return 0;
  if (labels.second && matches(*labels.second)) return 1;
  return std::nullopt;
}

std::vector<std::string_view> names_of(const InstructionLabels& labels) {
  InstructionFilter bits;
  bits.classes = labels.classes;
  bits.spaces = labels.spaces;
  bits.data = labels.data;
  bits.transfers = labels.transfers;
  std::vector<std::string_view> names;
  for (const auto& entry : filters) {
    if ((bits.*(entry.value.kind) & entry.value.bit) != 0) names.push_back(entry.name);
  }
  return names;
}

std::optional<std::uint32_t> find_space(std::string_view name) {
  const auto found = find_named(filters, name);
  if (found == filters.end() || found->value.kind != &InstructionFilter::spaces) return std::nullopt;
  return found->value.bit;
}

bool InstructionFilter::matches(const InstructionLabels& labels) const {
  if (classes != 0 && (classes & labels.classes) == 0) return false;
  if (spaces != 0 && (spaces & labels.spaces) == 0) return false;
  if (data != 0 && (data & labels.data) == 0) return false;
  return transfers == 0 || (transfers & labels.transfers) != 0;
}

namespace {

/// * matches any characters, ? exactly one.
bool fits_pattern(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  std::size_t position = 0;
  while (position < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = position;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[position])) {
      ++at;
      ++position;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      position = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace

bool InstructionFilter::matches_opcode(std::string_view opcode) const {
  return opcodes.empty() || std::any_of(opcodes.begin(), opcodes.end(), [&](const std::string& pattern) {
           return fits_pattern(opcode, pattern);
         });
}

bool InstructionFilter::matches_source(const std::string* file, std::uint32_t line) const {
  if (sources.empty()) return true;
  return file != nullptr && std::any_of(sources.begin(), sources.end(), [&](const SourceLines& lines) {
           const bool is_whole =
               file->size() == lines.file.size() ||
               (file->size() > lines.file.size() && (*file)[file->size() - lines.file.size() - 1] == '/');
           return line >= lines.first && line <= lines.last && file->ends_with(lines.file) && is_whole;
         });
}

bool InstructionFilter::matches_callee(const std::string* callee) const {
  if (call_targets.empty()) return true;
  if (callee == nullptr) return false;
  return std::any_of(call_targets.begin(), call_targets.end(),
                     [&](const NamePattern& pattern) { return pattern.matches(*callee); });
}

std::string describe(const Sampling& sampling) {
  std::string text;
  const auto add = [&](std::uint32_t every, const char* what) {
    if (every > 1) text += (text.empty() ? "1 of " : ", 1 of ") + std::to_string(every) + " " + what;
  };
  add(sampling.launches, "launches");
  add(sampling.blocks, "thread blocks");
  add(sampling.warps, "warps");
  return text;
}

Sampling rarest(const std::vector<HandlerSampling>& handlers) {
  Sampling found;
  for (const auto& [line, sampling] : handlers) {
    found.launches = std::max(found.launches, sampling.launches);
    found.blocks = std::max(found.blocks, sampling.blocks);
    found.warps = std::max(found.warps, sampling.warps);
  }
  return found;
}

bool are_sampled_equally(const std::vector<HandlerSampling>& handlers) {
  return std::all_of(handlers.begin(), handlers.end(),
                     [&](const HandlerSampling& each) { return each.sampling == handlers.front().sampling; });
}

std::string describe(const std::vector<HandlerSampling>& handlers) {
  Sampling common = rarest(handlers);
  if (are_sampled_equally(handlers)) return describe(common);
  common.blocks = common.warps = 1;
  std::string text = describe(common);
  for (const auto& [line, sampling] : handlers) {
    const std::string own = describe(Sampling{1, sampling.blocks, sampling.warps});
    text += (text.empty() ? "handler of line " : "; handler of line ") + std::to_string(line) + ": " +
            (own.empty() ? "all" : own);
  }
  return text;
}

bool Handler::wants_kernel(const std::string& mangled) const {
  return kernels.empty() || std::any_of(kernels.begin(), kernels.end(),
                                        [&](const NamePattern& pattern) { return pattern.matches(mangled); });
}

std::string_view name_of(SiteValue value) {
  switch (value) {
    case SiteValue::basic_block_id: return "basic_block_id";
    case SiteValue::basic_block_count: return "basic_block_count";
    case SiteValue::basic_block_instruction_count: return "basic_block_instruction_count";
    case SiteValue::basic_block_executed_instruction_count: return "basic_block_executed_instruction_count";
    case SiteValue::basic_block_predicated_instruction_count:
      return "basic_block_predicated_instruction_count";
    case SiteValue::instruction_id: return "instruction_id";
    case SiteValue::instruction_count: return "instruction_count";
    case SiteValue::function_id: return "function_id";
    case SiteValue::loop_id: return "loop_id";
    case SiteValue::loop_depth: return "loop_depth";
    case SiteValue::loop_trips: return "loop_trips";
    case SiteValue::is_back_edge: return "is_back_edge";
    case SiteValue::memory_address: return "memory_address";
    case SiteValue::access_size: return "access_size";
    case SiteValue::access_kind: return "access_kind";
    case SiteValue::is_of_lanes: return "is_of_lanes";
    case SiteValue::branch_target: return "branch_target";
    case SiteValue::access_space: return "access_space";
    case SiteValue::bulk_size: return "bulk_size";
    case SiteValue::vector_width: return "vector_width";
    case SiteValue::source_line: return "source_line";
    case SiteValue::ptx_line: return "ptx_line";
    case SiteValue::source_id: return "source_id";
    case SiteValue::source_file_id: return "source_file_id";
    case SiteValue::opcode_id: return "opcode_id";
    case SiteValue::call_target_id: return "call_target_id";
    case SiteValue::instruction_is: return "instruction_is";
    case SiteValue::loaded_value: return "loaded_value";
    case SiteValue::stored_value: return "stored_value";
    case SiteValue::operand_value: return "operand_value";
    case SiteValue::result_value: return "result_value";
    case SiteValue::sector_threshold: return "sector_threshold";
    case SiteValue::hoisted_banks: return "hoisted_banks";
    case SiteValue::bank_lanes: return "bank_lanes";
    case SiteValue::banks_of_some_lanes: return "banks_of_some_lanes";
    case SiteValue::lane_result: return "lane_result";
    case SiteValue::executions: return "executions";
    case SiteValue::predicate_value: break;
  }
  return "predicate_value";
}

bool is_wide(SiteValue value) {
  switch (value) {
    case SiteValue::memory_address:
    case SiteValue::bulk_size:
    case SiteValue::loaded_value:
    case SiteValue::stored_value:
    case SiteValue::operand_value:
    case SiteValue::result_value:
    case SiteValue::loop_trips: return true;
    default: return false;
  }
}

std::optional<InstructionFilter> filter_of_value(std::string_view name) {
  const std::string prefix = std::string(name_of(SiteValue::instruction_is)) + "_";
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint64_t bits = 0;
  std::from_chars(name.data() + prefix.size(), name.data() + name.size(), bits);
  return unpack(bits);
}

bool has_parameter(SiteValue value) {
  switch (value) {
    case SiteValue::instruction_is:
    case SiteValue::loaded_value:
    case SiteValue::stored_value:
    case SiteValue::operand_value:
    case SiteValue::result_value: return true;
    default: return false;
  }
}

}  // namespace lynxpp::cod
