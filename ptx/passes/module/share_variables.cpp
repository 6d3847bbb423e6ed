#include "ptx/passes/module/share_variables.h"

#include "ptx/passes/probes/operand_reader.h"

namespace lynxpp::ptx {
namespace {

class ShareVariables {
 public:
  explicit ShareVariables(InstrumentationUnit& unit) : unit_(unit) {}

  Status run() {
    if (unit_.variant.shared_variables.empty()) return success();
    for (const FunctionUnit& function : unit_.reached.functions) rewrite(function);
    return success();
  }

 private:
  const std::uint64_t* address_of(const Operand& operand, std::uint32_t scope) const {
    if (operand.kind != OperandKind::identifier) return nullptr;
    const auto found = unit_.variant.shared_variables.find(operand.name);
    if (found == unit_.variant.shared_variables.end()) return nullptr;
    // A register or local variable of the same name hides the module's variable.
    const bool is_hidden = body_->find_register(operand.name, scope) != nullptr ||
                           body_->find_variable(operand.name, scope) != nullptr;
    return is_hidden ? nullptr : &found->second;
  }

  void rewrite(const FunctionUnit& function) {
    body_ = &*function.function->body;
    names_ = &unit_.edits.names(*function.function);
    for (const Instruction& instruction : body_->instructions) rewrite(instruction);
  }

  void rewrite(const Instruction& instruction) {
    const std::string_view opcode = instruction.opcode;
    const std::uint32_t scope = body_->statements[instruction.statement].scope;
    const bool names_constant = opcode.find(".const") != std::string_view::npos;
    const bool converts_address =
        opcode.starts_with("cvta") && (names_constant || opcode.find(".global") != std::string_view::npos);
    bool immediate_in_conversion = false;
    for (const Operand& operand : instruction.operands) {
      if (operand.kind == OperandKind::address && !operand.elements.empty()) {
        rewrite_address(instruction, operand, scope);
      } else {
        immediate_in_conversion |= rewrite_value(operand, scope) && converts_address;
      }
    }
    if (opcode.starts_with("ld") && names_constant) {
      // `ld.const` reads memory that no kernel can write, so the non-coherent path is safe.
      std::string load(opcode);
      const std::size_t at = load.find(".const");
      rewrite_opcode(instruction, load.replace(at, 6, at == 2 ? ".global.nc" : ".global"));
    } else if (converts_address && (names_constant || immediate_in_conversion)) {
      // The address is generic already, and cvta does not accept an immediate.
      rewrite_opcode(instruction, "mov.b64");
    }
  }

  void rewrite_opcode(const Instruction& instruction, const std::string& opcode) {
    unit_.edits.replace(body_->opcode_range(instruction, unit_.module.source()), opcode);
  }

  void rewrite_address(const Instruction& instruction, const Operand& operand, std::uint32_t scope) {
    const Operand& base = operand.elements[0];
    const std::uint64_t* address = address_of(base, scope);
    if (address == nullptr) return;
    CodeBuilder code(*names_);
    const VirtualRegister target = code.fresh(RegisterType::b64);
    if (const auto element = array_element(operand)) {  // a[%r1]: the address itself if nothing is accessed
      OperandReader(unit_, *body_, instruction, code).add_element_offset(*element, target);
      code.emit("add.s64", {target, target, *address});
      const bool accesses = instruction.traits.is_memory_access();
      unit_.edits.replace(operand.text, accesses ? CodeOperand(CodeAddress{target}) : target);
    } else {
      code.mov(target, *address);
      const std::uint32_t begin = base.text.begin;
      if (begin == operand.text.begin) {  // a[1], without brackets around it
        unit_.edits.replace(operand.text, CodeAddress{target, operand.offset});
      } else {
        unit_.edits.replace({begin, begin + static_cast<std::uint32_t>(base.name.size())}, target);
      }
    }
    unit_.edits.insert_before(instruction.text.begin, code.take());
  }

  bool rewrite_value(const Operand& operand, std::uint32_t scope) {
    bool rewritten = false;
    for (const Operand& element : operand.elements) rewritten |= rewrite_value(element, scope);
    const std::uint64_t* address = address_of(operand, scope);
    if (address == nullptr) return rewritten;
    unit_.edits.replace(operand.text, CodeOperand(*address + static_cast<std::uint64_t>(operand.offset)));
    return true;
  }

  InstrumentationUnit& unit_;
  const Body* body_ = nullptr;
  NameSource* names_ = nullptr;
};

}  // namespace

Status replace_shared_variables(InstrumentationUnit& unit) { return ShareVariables(unit).run(); }

}  // namespace lynxpp::ptx
