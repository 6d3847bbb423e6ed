#include "ptx/passes/probes/memory_address.h"

namespace lynxpp::ptx {
namespace {

/// ptxas computes offsets of elements modulo 2^32.
constexpr std::int64_t low_word = 0xffffffff;

/// Of `base`, a name, and `offset`. Addresses in registers of 32 bits wrap around there.
void add_base(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
              const Operand& base, std::int64_t offset, VirtualRegister target, CodeBuilder& code) {
  const Name name{std::string(base.name)};
  const std::uint32_t scope = body.statements[instruction.statement].scope;
  const RegisterDeclaration* declared = body.find_register(base.name, scope);
  if (declared != nullptr && size_of(declared->type) == 4) {
    if (offset == 0) return code.emit("cvt.u64.u32", {target, name});
    const VirtualRegister sum = code.b32("add.s32", {name, static_cast<std::int32_t>(offset)});
    return code.emit("cvt.u64.u32", {target, sum});
  }
  const auto shared = unit.variant.shared_variables.find(base.name);
  if (declared != nullptr) {
    code.emit("mov.b64", {target, name});
  } else if (shared != unit.variant.shared_variables.end()) {
    code.mov(target, shared->second);
  } else if (instruction.traits.space == StateSpace::param) {
    code.mov(target, 0);
  } else {
    code.emit("mov.u64", {target, name});
  }
  if (offset != 0) code.emit("add.s64", {target, target, offset});
}

}  // namespace

void add_element_offset(const Body& body, const Instruction& instruction, const ArrayElement& element,
                        VirtualRegister target, CodeBuilder& code) {
  const Operand& index = *element.index;
  const std::uint32_t scope = body.statements[instruction.statement].scope;
  const RegisterDeclaration* declared = body.find_register(index.name, scope);
  const bool is_short = declared != nullptr && size_of(declared->type) == 2;
  code.emit(is_short ? "cvt.u64.u16" : "cvt.u64.u32", {target, Name{std::string(index.name)}});
  if (index.offset != 0) code.emit("add.s64", {target, target, index.offset});
  code.emit("mul.lo.u64", {target, target, element.bytes});
  code.emit("and.b64", {target, target, low_word});
}

void add_memory_address(const InstrumentationUnit& unit, const Body& body, const Instruction& instruction,
                        const Operand* address, VirtualRegister target, CodeBuilder& code) {
  if (address == nullptr || address->elements.empty()) return code.mov(target, 0);
  const Operand& base = address->elements[0];
  const std::int64_t offset = address->offset + base.offset;
  if (base.kind == OperandKind::integer) return code.mov(target, base.integer + offset);
  const std::optional<ArrayElement> element = array_element(*address);
  if (element && instruction.traits.space != StateSpace::param) {
    const std::uint32_t scope = body.statements[instruction.statement].scope;
    const auto shared = unit.variant.shared_variables.find(base.name);
    if (shared != unit.variant.shared_variables.end() && body.find_variable(base.name, scope) == nullptr) {
      add_element_offset(body, instruction, *element, target, code);
      code.emit("add.s64", {target, target, shared->second});
    } else {
      code.emit("mov.u64", {target, Name{std::string(unit.module.text(address->text))}});
    }
    return;
  }
  add_base(unit, body, instruction, base, offset, target, code);
}

}  // namespace lynxpp::ptx
