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

/// Returns where the map is in the parameter buffer; nullopt if it is not among the kernel's parameters.
std::optional<std::uint32_t> parameter_byte(const ptx::FunctionUnit& function, std::uint32_t instruction,
                                            const ptx::Operand& map,
                                            const std::vector<device::ParameterSlot>& parameters) {
  const auto address = ptx::parameter_address(*function.analyses, instruction, map);
  if (!address) return std::nullopt;
  const std::vector<ptx::Variable>& all = function.function->parameters;
  const auto parameter = std::ranges::find(all, address->name, &ptx::Variable::name);
  const device::ParameterSlot& slot = parameters[static_cast<std::size_t>(parameter - all.begin())];
  const bool is_inside = slot.bytes >= tensor_map_size && address->byte <= slot.bytes - tensor_map_size;
  return is_inside ? std::optional(slot.offset + static_cast<std::uint32_t>(address->byte)) : std::nullopt;
}

/// Copies that are left out for one reason.
class LeftOut {
 public:
  explicit LeftOut(std::string_view reason) : reason_(reason) {}

  void add(const ptx::Instruction& instruction) {
    constexpr std::size_t most_lines = 5;
    if (++copies_ <= most_lines) lines_ += (copies_ == 1 ? "" : ", ") + std::to_string(instruction.line);
    if (copies_ == most_lines + 1) lines_ += ", …";
  }
  void add_note(std::vector<std::string>& notes) const {
    if (copies_ == 0) return;
    notes.push_back("the bytes of " + std::to_string(copies_) +
                    (copies_ == 1 ? " tensor copy (PTX line " : " tensor copies (PTX lines ") + lines_ +
                    ") are unknown: " + std::string(reason_));
  }

 private:
  std::string_view reason_;
  std::size_t copies_ = 0;
  std::string lines_;
};

}  // namespace

std::vector<TensorCopySite> tensor_copies(const ptx::ReachedFunctions& reached,
                                          const std::vector<device::ParameterSlot>& parameters,
                                          std::vector<std::string>& notes) {
  std::vector<TensorCopySite> sites;
  LeftOut without_parameter("no parameter of the kernel is the tensor map on all paths");
  LeftOut with_operand("an operand determines the size of im2col::w");
  for (const ptx::FunctionUnit& function : reached.instrumented()) {
    const std::vector<ptx::Instruction>& instructions = function.function->body->instructions;
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
      const ptx::Operand* const map = map_of(instructions[i]);
      if (map == nullptr) continue;
      std::optional<TensorCopySite> site = form_of(instructions[i].opcode);
      if (!site) {
        with_operand.add(instructions[i]);
        continue;
      }
      const auto byte = parameter_byte(function, i, *map, parameters);
      if (!byte) {
        without_parameter.add(instructions[i]);
        continue;
      }
      site->instruction = function.first_instruction + i;
      site->parameter_byte = *byte;
      sites.push_back(*site);
    }
  }
  without_parameter.add_note(notes);
  with_operand.add_note(notes);
  return sites;
}

}  // namespace lynxpp::engine
