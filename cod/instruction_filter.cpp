#include "cod/instruction_filter.h"

#include <algorithm>
#include <array>

#include "ptx/ir/memory_access.h"
#include "ptx/ir/memory_table.h"

namespace lynxpp::cod {
namespace {

struct FilterLabel {
  std::string_view name;
  std::uint32_t InstructionLabels::*kind;
  std::uint32_t bit;
};

constexpr std::array all_labels{
    FilterLabel{"MEM_READ", &InstructionLabels::classes, mem_read},
    FilterLabel{"MEM_WRITE", &InstructionLabels::classes, mem_write},
    FilterLabel{"CALL", &InstructionLabels::classes, call},
    FilterLabel{"BRANCH", &InstructionLabels::classes, branch},
    FilterLabel{"BARRIER", &InstructionLabels::classes, barrier},
    FilterLabel{"ATOMIC", &InstructionLabels::classes, atomic},
    FilterLabel{"ARITHMETIC", &InstructionLabels::classes, arithmetic},
    FilterLabel{"PREDICATED", &InstructionLabels::classes, predicated},
    FilterLabel{"ASYNC_COPY", &InstructionLabels::classes, async_copy},
    FilterLabel{"BULK", &InstructionLabels::classes, bulk},
    FilterLabel{"UNSIZED", &InstructionLabels::classes, unsized},
    FilterLabel{"TENSOR_COPY", &InstructionLabels::classes, tensor_copy},
    FilterLabel{"TENSOR_CORE", &InstructionLabels::classes, tensor_core},
    FilterLabel{"MBARRIER", &InstructionLabels::classes, mbarrier},
    FilterLabel{"GLOBAL", &InstructionLabels::spaces, space_global},
    FilterLabel{"LOCAL", &InstructionLabels::spaces, space_local},
    FilterLabel{"SHARED", &InstructionLabels::spaces, space_shared},
    FilterLabel{"CONST", &InstructionLabels::spaces, space_const},
    FilterLabel{"PARAM", &InstructionLabels::spaces, space_param},
    FilterLabel{"TEXTURE", &InstructionLabels::spaces, space_texture},
    FilterLabel{"GENERIC", &InstructionLabels::spaces, space_generic},
    FilterLabel{"INTEGER", &InstructionLabels::data, integer},
    FilterLabel{"FLOATING_POINT", &InstructionLabels::data, floating_point},
    FilterLabel{"TRANSFER_IN", &InstructionLabels::transfers, transfer_in},
    FilterLabel{"TRANSFER_OUT", &InstructionLabels::transfers, transfer_out},
};

const FilterLabel* find_label(std::string_view name) {
  const auto found = std::ranges::find(all_labels, name, &FilterLabel::name);
  return found == all_labels.end() ? nullptr : &*found;
}

/// Precondition: the instruction computes.
bool is_matrix_product(const ptx::OpcodeTraits& traits) {
  using enum ptx::Op;
  return traits.op == mma || traits.op == wmma || traits.op == wgmma || traits.op == tcgen05;
}

/// Precondition: the instruction accesses memory.
bool is_tensor_copy(const ptx::OpcodeTraits& traits) {
  return traits.memory->is_async_copy() && traits.memory->sides[0].bytes == ptx::MemorySide::Bytes::unknown;
}

std::uint32_t class_bits(const ptx::OpcodeTraits& traits, bool guarded) {
  std::uint32_t bits = guarded ? predicated : 0u;
  if (traits.reads_memory) bits |= mem_read;
  if (traits.writes_memory) bits |= mem_write;
  switch (traits.kind) {
    case ptx::OpcodeClass::arithmetic:
      return bits | arithmetic | (is_matrix_product(traits) ? tensor_core : 0u);
    case ptx::OpcodeClass::atomic: return bits | atomic;
    case ptx::OpcodeClass::branch: return bits | branch;
    case ptx::OpcodeClass::call: return bits | call;
    case ptx::OpcodeClass::barrier: return bits | barrier | (traits.synchronizes ? mbarrier : 0u);
    default: return bits;
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

std::vector<std::string> filter_names() {
  std::vector<std::string> names;
  for (const FilterLabel& label : all_labels) names.emplace_back(label.name);
  return names;
}

bool is_label(std::string_view name) { return find_label(name) != nullptr; }

bool add_filter(std::string_view label, InstructionFilter& filter) {
  const FilterLabel* found = find_label(label);
  if (found == nullptr) return false;
  filter.*(found->kind) |= found->bit;
  return true;
}

std::uint32_t space_bit(ptx::StateSpace space) {
  switch (space) {
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

InstructionLabels labels_of(const ptx::OpcodeTraits& traits, bool guarded) {
  const std::uint32_t space = traits.is_memory_access() ? space_bit(traits.space) : 0;
  return {class_bits(traits, guarded), space, data_bits(traits), 0};
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
    if (is_tensor_copy(instruction.traits)) labels.classes |= tensor_copy;
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
  std::vector<std::string_view> names;
  for (const FilterLabel& label : all_labels) {
    if ((labels.*(label.kind) & label.bit) != 0) names.push_back(label.name);
  }
  return names;
}

std::optional<std::uint32_t> find_space(std::string_view name) {
  const FilterLabel* found = find_label(name);
  if (found == nullptr || found->kind != &InstructionLabels::spaces) return std::nullopt;
  return found->bit;
}

bool InstructionFilter::matches(const InstructionLabels& labels) const {
  if (classes != 0 && (classes & labels.classes) == 0) return false;
  if (spaces != 0 && (spaces & labels.spaces) == 0) return false;
  if (data != 0 && (data & labels.data) == 0) return false;
  return transfers == 0 || (transfers & labels.transfers) != 0;
}

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

}  // namespace lynxpp::cod
