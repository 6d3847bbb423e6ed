#include "engine/tensor_copies.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "ptx/analysis/values/parameter_addresses.h"
#include "support/tensor_boxes.h"

namespace lynxpp::engine {
namespace {

constexpr std::uint32_t rows_of_gather = 4;

/// Returns the map's operand, the only one with coordinates; null if the instruction is not a tensor copy.
const ptx::Operand* map_of(const ptx::Instruction& instruction) {
  const bool is_copy = instruction.opcode.starts_with("cp.async.bulk.tensor") ||
                       instruction.opcode.starts_with("cp.reduce.async.bulk.tensor");
  if (!is_copy) return nullptr;
  const auto map = std::ranges::find_if(instruction.operands, [](const ptx::Operand& operand) {
    return operand.kind == ptx::OperandKind::address && operand.elements.size() > 1;
  });
  return map == instruction.operands.end() ? nullptr : map;
}

/// Reads the modifiers. nullopt: an operand determines the size, or the form is unknown.
std::optional<TensorCopySite> form_of(std::string_view opcode) {
  TensorCopySite site;
  const auto has = [opcode](std::string_view word) { return opcode.find(word) != std::string_view::npos; };
  for (std::uint32_t rank = 1; rank <= 5; ++rank) {
    const char dimension[] = {'.', static_cast<char>('0' + rank), 'd', '.', '\0'};
    if (has(dimension)) site.rank = rank;
  }
  if (site.rank == 0 || has(".im2col::w")) return std::nullopt;
  site.is_im2col = has(".im2col");
  if (has(".tile::gather4") || has(".tile::scatter4")) site.rows = rows_of_gather;
  return site;
}

}  // namespace

std::vector<TensorCopySite> tensor_copies(const ptx::ReachedFunctions& reached,
                                          const std::vector<device::ParameterSlot>& parameters) {
  std::vector<TensorCopySite> sites;
  const ptx::FunctionUnit& kernel = reached.kernel();
  const std::vector<ptx::Instruction>& instructions = kernel.function->body->instructions;
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    const ptx::Operand* const map = map_of(instructions[i]);
    if (map == nullptr) continue;
    std::optional<TensorCopySite> site = form_of(instructions[i].opcode);
    const auto address = ptx::parameter_address(*kernel.analyses, i, *map);
    if (!site || !address) continue;
    const auto& all = kernel.function->parameters;
    const auto parameter = std::ranges::find(all, address->name, &ptx::Variable::name);
    const device::ParameterSlot& slot = parameters[static_cast<std::size_t>(parameter - all.begin())];
    const bool is_inside = slot.bytes >= tensor_map_size && address->byte <= slot.bytes - tensor_map_size;
    if (!is_inside) continue;
    site->instruction = kernel.first_instruction + i;
    site->parameter_byte = slot.offset + static_cast<std::uint32_t>(address->byte);
    sites.push_back(*site);
  }
  return sites;
}

}  // namespace lynxpp::engine
