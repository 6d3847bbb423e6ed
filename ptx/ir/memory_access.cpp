#include "ptx/ir/memory_access.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace lynxpp::ptx {
namespace {

bool is_address(const Operand& operand) { return operand.kind == OperandKind::address; }

const Operand* find_address(const Instruction& instruction) {
  const auto found = std::find_if(instruction.operands.begin(), instruction.operands.end(), is_address);
  return found == instruction.operands.end() || found->elements.empty() ? nullptr : &*found;
}

std::vector<std::string_view> modifiers_of(std::string_view opcode) {
  std::vector<std::string_view> modifiers;
  for (std::size_t dot = opcode.find('.'); dot != std::string_view::npos;) {
    const std::size_t end = opcode.find('.', dot + 1);
    modifiers.push_back(opcode.substr(dot + 1, end == std::string_view::npos ? end : end - dot - 1));
    dot = end;
  }
  return modifiers;
}

StateSpace space_of(std::string_view modifier) {
  if (modifier == "global") return StateSpace::global;
  return modifier.substr(0, modifier.find(':')) == "shared" ? StateSpace::shared : StateSpace::none;
}

bool has(const std::vector<std::string_view>& modifiers, std::string_view wanted) {
  return std::find(modifiers.begin(), modifiers.end(), wanted) != modifiers.end();
}

/// `cp…  [destination], [source], size, …`; the modifiers name the spaces in this order. A side that is a
/// tensor has a descriptor and coordinates instead of an address.
MemoryAccesses copy_accesses(const Instruction& instruction) {
  const std::vector<std::string_view> modifiers = modifiers_of(instruction.opcode);
  std::vector<StateSpace> spaces;
  for (const std::string_view modifier : modifiers) {
    if (const StateSpace space = space_of(modifier); space != StateSpace::none) spaces.push_back(space);
  }
  spaces.resize(2, StateSpace::generic);
  const auto& operands = instruction.operands;
  MemoryAccess destination;
  destination.writes = true;
  destination.reads = has(modifiers, "reduce");
  destination.space = spaces[0];
  MemoryAccess source;
  source.reads = true;
  source.space = spaces[1];
  const auto address_at = [&](std::size_t index) {
    const bool is_plain =
        operands.size() > index && is_address(operands[index]) && operands[index].elements.size() == 1;
    return is_plain ? &operands[index] : nullptr;
  };
  destination.address = address_at(0);
  source.address = address_at(1);
  const bool has_size = operands.size() > 2 && !has(modifiers, "tensor");
  if (has_size && operands[2].kind == OperandKind::integer) {
    source.bytes = destination.bytes = static_cast<std::uint32_t>(operands[2].integer);
  }
  if (has_size && has(modifiers, "bulk")) source.size = destination.size = &operands[2];
  MemoryAccesses result;
  result.add(source);
  result.add(destination);
  return result;
}

bool is_copy(const Instruction& instruction) {
  return instruction.opcode.starts_with("cp.") && instruction.traits.reads_memory &&
         instruction.traits.writes_memory;
}

}  // namespace

MemoryAccesses memory_accesses(const Instruction& instruction) {
  const OpcodeTraits& traits = instruction.traits;
  if (!traits.is_memory_access()) return {};
  if (is_copy(instruction)) return copy_accesses(instruction);
  MemoryAccess access;
  access.reads = traits.reads_memory;
  access.writes = traits.writes_memory;
  access.space = traits.space;
  access.bytes = traits.access_bytes();
  if (traits.space != StateSpace::texture && traits.space != StateSpace::surface)
    access.address = find_address(instruction);
  if (instruction.opcode.starts_with("st.bulk") && instruction.operands.size() > 1) {
    access.size = &instruction.operands[1];
    if (access.size->kind == OperandKind::integer)
      access.bytes = static_cast<std::uint32_t>(access.size->integer);
  }
  MemoryAccesses result;
  result.add(access);
  return result;
}

const Operand* stored_operand(const Instruction& instruction, std::uint32_t k) {
  if (!instruction.traits.writes_memory || is_copy(instruction)) return nullptr;
  const auto& operands = instruction.operands;
  const auto address = std::find_if(operands.begin(), operands.end(), is_address);
  const auto value = static_cast<std::size_t>(address - operands.begin()) + 1;
  if (value >= operands.size()) return nullptr;
  if (k == 0 || operands[value].kind == OperandKind::vector) return &operands[value];
  const bool has_second = k == 1 && instruction.opcode.find(".cas") != std::string_view::npos;
  return has_second && value + 1 < operands.size() ? &operands[value + 1] : nullptr;
}

std::uint32_t vector_width(const Instruction& instruction) {
  if (!instruction.traits.is_memory_access()) return 0;
  for (const Operand& operand : instruction.operands) {
    if (operand.kind == OperandKind::vector) return static_cast<std::uint32_t>(operand.elements.size());
  }
  return 1;
}

}  // namespace lynxpp::ptx
