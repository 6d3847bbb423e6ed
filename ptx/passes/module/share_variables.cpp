#include "ptx/passes/module/share_variables.h"

#include "ptx/passes/probes/operand_reader.h"

namespace lynxpp::ptx {
namespace {

class ShareVariables {
 public:
  ShareVariables(const Module& module, const SharedVariables& shared, EditList& edits)
      : module_(module), shared_(shared), edits_(edits) {}

  void rewrite(const Function& function) {
    body_ = &*function.body;
    names_ = &edits_.names(function);
    for (const Instruction& instruction : body_->instructions) rewrite(instruction);
  }

 private:
  /// Returns the position in variable_table; null if the operand does not name a shared variable.
  const std::uint32_t* position_of(const Operand& operand, std::uint32_t scope) const {
    if (operand.kind != OperandKind::identifier) return nullptr;
    const auto found = shared_.find(operand.name);
    if (found == shared_.end()) return nullptr;
    // A register or local variable of the same name hides the module's variable.
    const bool is_hidden = body_->find_register(operand.name, scope) != nullptr ||
                           body_->find_variable(operand.name, scope) != nullptr;
    return is_hidden ? nullptr : &found->second;
  }

  void rewrite(const Instruction& instruction) {
    const std::uint32_t scope = body_->statements[instruction.statement].scope;
    const bool names_constant = instruction.has(Modifier::constant);
    const bool converts_address =
        instruction.op() == Op::cvta && (names_constant || instruction.has(Modifier::global));
    bool converts_shared = false;
    for (const Operand& operand : instruction.operands) {
      if (operand.kind == OperandKind::address && !operand.elements.empty()) {
        rewrite_address(instruction, operand, scope);
      } else {
        converts_shared |= rewrite_value(instruction, operand, scope) && converts_address;
      }
    }
    if (instruction.op() == Op::ld && names_constant) {
      // `ld.const` reads memory that no kernel can write, so the non-coherent path is safe.
      std::string load(instruction.opcode);
      const std::size_t at = load.find(".const");
      rewrite_opcode(instruction, load.replace(at, 6, at == 2 ? ".global.nc" : ".global"));
    } else if (converts_address && (names_constant || converts_shared)) {
      // The address is generic already.
      rewrite_opcode(instruction, "mov.b64");
    }
  }

  void rewrite_opcode(const Instruction& instruction, const std::string& opcode) {
    edits_.replace(body_->opcode_range(instruction, module_.source()), opcode);
  }

  void rewrite_address(const Instruction& instruction, const Operand& operand, std::uint32_t scope) {
    const Operand& base = operand.elements[0];
    const std::uint32_t* position = position_of(base, scope);
    if (position == nullptr) return;
    CodeBuilder code(*names_);
    const VirtualRegister target = code.fresh(RegisterType::b64);
    load_shared_address(*position, target, code);
    if (const auto element = array_element(operand)) {  // a[%r1]: the address itself if nothing is accessed
      const VirtualRegister offset = code.fresh(RegisterType::b64);
      OperandReader(module_, shared_, *body_, instruction, code).add_element_offset(*element, offset);
      code.emit("add.s64", {target, target, offset});
      const bool accesses = instruction.traits.is_memory_access();
      edits_.replace(operand.text, accesses ? CodeOperand(CodeAddress{target}) : target);
    } else {
      const std::uint32_t begin = base.text.begin;
      if (begin == operand.text.begin) {  // a[1], without brackets around it
        edits_.replace(operand.text, CodeAddress{target, operand.offset});
      } else {
        edits_.replace({begin, begin + static_cast<std::uint32_t>(base.name.size())}, target);
      }
    }
    edits_.insert_before(instruction.text.begin, code.take());
  }

  bool rewrite_value(const Instruction& instruction, const Operand& operand, std::uint32_t scope) {
    bool rewritten = false;
    for (const Operand& element : operand.elements) rewritten |= rewrite_value(instruction, element, scope);
    const std::uint32_t* position = position_of(operand, scope);
    if (position == nullptr) return rewritten;
    CodeBuilder code(*names_);
    const VirtualRegister target = code.fresh(RegisterType::b64);
    load_shared_address(*position, target, code);
    if (operand.offset != 0) code.emit("add.s64", {target, target, operand.offset});
    edits_.replace(operand.text, CodeOperand(target));
    edits_.insert_before(instruction.text.begin, code.take());
    return true;
  }

  const Module& module_;
  const SharedVariables& shared_;
  EditList& edits_;
  const Body* body_ = nullptr;
  NameSource* names_ = nullptr;
};

}  // namespace

void replace_shared_variables(const Module& module, const ReachedFunctions& reached,
                              const SharedVariables& shared, EditList& edits) {
  if (shared.empty()) return;
  ShareVariables pass(module, shared, edits);
  for (const FunctionUnit& function : reached.functions) pass.rewrite(*function.function);
}

}  // namespace lynxpp::ptx
