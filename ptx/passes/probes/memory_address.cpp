#include "ptx/passes/probes/memory_address.h"

namespace lynxpp::ptx {

void append_element_offset(const Body& body, const Instruction& instruction, const ArrayElement& element,
                           std::string_view target_register, std::string& text) {
  const std::string target(target_register);
  const Operand& index = *element.index;
  const std::uint32_t scope = body.statements[instruction.statement].scope;
  const RegisterDeclaration* declared = body.find_register(index.name, scope);
  const std::string source = declared != nullptr && size_of(declared->type) == 2 ? "u16" : "u32";
  text += "\tcvt.u64." + source + " " + target + ", " + std::string(index.name) + ";\n";
  if (index.offset != 0)
    text += "\tadd.s64 " + target + ", " + target + ", " + std::to_string(index.offset) + ";\n";
  text += "\tmul.lo.u64 " + target + ", " + target + ", " + std::to_string(element.bytes) + ";\n";
  text += "\tand.b64 " + target + ", " + target + ", 0xffffffff;\n";
}

void append_memory_address(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
                           const Operand* address, std::string_view target_register, std::string& text) {
  const std::string target(target_register);
  if (address == nullptr || address->elements.empty()) {
    text += "\tmov.b64 " + target + ", 0;\n";
    return;
  }
  const Operand& base = address->elements[0];
  const std::uint32_t scope = body.statements[instruction.statement].scope;
  const std::int64_t offset = address->offset + base.offset;
  if (base.kind == OperandKind::integer) {
    text += "\tmov.b64 " + target + ", " + std::to_string(base.integer + offset) + ";\n";
    return;
  }
  const std::string name(base.name);
  const std::optional<ArrayElement> element = array_element(*address);
  if (element && instruction.traits.space != StateSpace::param) {
    const auto shared = unit.shared_variables.find(base.name);
    if (shared != unit.shared_variables.end() && body.find_variable(base.name, scope) == nullptr) {
      append_element_offset(body, instruction, *element, target, text);
      text += "\tadd.s64 " + target + ", " + target + ", " + std::to_string(shared->second) + ";\n";
    } else {
      text += "\tmov.u64 " + target + ", " + std::string(unit.module.text(address->text)) + ";\n";
    }
    return;
  }
  if (const RegisterDeclaration* declared = body.find_register(base.name, scope)) {
    text += (size_of(declared->type) == 4 ? "\tcvt.u64.u32 " : "\tmov.b64 ") + target + ", " + name + ";\n";
  } else if (const auto shared = unit.shared_variables.find(base.name);
             shared != unit.shared_variables.end()) {
    text += "\tmov.b64 " + target + ", " + std::to_string(shared->second) + ";\n";
  } else if (instruction.traits.space == StateSpace::param) {
    text += "\tmov.b64 " + target + ", 0;\n";
  } else {
    text += "\tmov.u64 " + target + ", " + name + ";\n";
  }
  if (offset != 0) text += "\tadd.s64 " + target + ", " + target + ", " + std::to_string(offset) + ";\n";
}

}  // namespace lynxpp::ptx
