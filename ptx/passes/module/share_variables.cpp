#include "ptx/passes/module/share_variables.h"

#include "ptx/passes/probes/memory_address.h"

namespace lynxpp::ptx {
namespace {

constexpr std::string_view address_register = "%lynxpp_address";

class ShareVariables final : public Pass {
 public:
  std::string_view name() const override { return "share-variables"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    if (unit.shared_variables.empty()) return false;
    unit_ = &unit;
    const std::size_t before = unit.edits.edits().size();
    for (const FunctionUnit& function : unit.functions) rewrite(function);
    return unit.edits.edits().size() != before;
  }

 private:
  const std::uint64_t* address_of(const Operand& operand, const Body& body, std::uint32_t scope) const {
    if (operand.kind != OperandKind::identifier) return nullptr;
    const auto found = unit_->shared_variables.find(operand.name);
    if (found == unit_->shared_variables.end()) return nullptr;
    // A register or local variable of the same name hides the module's.
    if (body.find_register(operand.name, scope) != nullptr ||
        body.find_variable(operand.name, scope) != nullptr) {
      return nullptr;
    }
    return &found->second;
  }

  void rewrite(const FunctionUnit& function) {
    const Body& body = *function.function->body;
    bool needs_register = false;
    for (const Instruction& instruction : body.instructions) {
      needs_register |= rewrite(body, instruction, body.statements[instruction.statement].scope);
    }
    if (needs_register) {
      unit_->edits.insert_before(function.function->body_text.begin + 1,
                                 "\n\t.reg .b64 " + std::string(address_register) + ";");
    }
  }

  /// True when the address register is used.
  bool rewrite(const Body& body, const Instruction& instruction, std::uint32_t scope) {
    const std::string_view opcode = instruction.opcode;
    const bool converts_address = opcode.starts_with("cvta") && names_shared_space(opcode);
    bool used = false;
    bool immediate_in_conversion = false;
    for (std::size_t i = 0; i < instruction.operands.size(); ++i) {
      const Operand& operand = instruction.operands[i];
      if (operand.kind == OperandKind::address && !operand.elements.empty()) {
        used |= rewrite_address(body, instruction, operand, scope);
      } else {
        immediate_in_conversion |= rewrite_value(body, operand, scope) && converts_address;
      }
    }
    if (opcode.starts_with("ld") && opcode.find(".const") != std::string_view::npos) {
      rewrite_constant_load(body, instruction);
    } else if (converts_address &&
               (opcode.find(".const") != std::string_view::npos || immediate_in_conversion)) {
      // The address is generic already; cvta does not take an immediate either.
      unit_->edits.replace(body.opcode_range(instruction, unit_->module.source()), "mov.b64");
    }
    return used;
  }

  static bool names_shared_space(std::string_view opcode) {
    return opcode.find(".const") != std::string_view::npos ||
           opcode.find(".global") != std::string_view::npos;
  }

  bool rewrite_address(const Body& body, const Instruction& instruction, const Operand& operand,
                       std::uint32_t scope) {
    const Operand& base = operand.elements[0];
    const std::uint64_t* address = address_of(base, body, scope);
    if (address == nullptr) return false;
    if (const auto element = array_element(operand))
      return rewrite_element(body, instruction, operand, *element, *address);
    unit_->edits.insert_before(instruction.text.begin, "mov.b64 " + std::string(address_register) + ", " +
                                                           std::to_string(*address) + ";\n\t");
    const std::uint32_t begin = base.text.begin;
    if (begin == operand.text.begin) {  // a[1], without brackets around it
      unit_->edits.replace(operand.text,
                           "[" + std::string(address_register) + "+" + std::to_string(operand.offset) + "]");
      return true;
    }
    unit_->edits.replace({begin, begin + static_cast<std::uint32_t>(base.name.size())},
                         std::string(address_register));
    return true;
  }

  /// a[%r1], the address itself where nothing is accessed.
  bool rewrite_element(const Body& body, const Instruction& instruction, const Operand& operand,
                       const ArrayElement& element, std::uint64_t address) {
    const std::string target(address_register);
    std::string text;
    append_element_offset(body, instruction, element, target, text);
    text += "\tadd.s64 " + target + ", " + target + ", " + std::to_string(address) + ";\n\t";
    unit_->edits.insert_before(instruction.text.begin, text.substr(1));  // behind the instruction's own tab
    unit_->edits.replace(operand.text, instruction.traits.is_memory_access() ? "[" + target + "]" : target);
    return true;
  }

  bool rewrite_value(const Body& body, const Operand& operand, std::uint32_t scope) {
    bool rewritten = false;
    for (const Operand& element : operand.elements) rewritten |= rewrite_value(body, element, scope);
    const std::uint64_t* address = address_of(operand, body, scope);
    if (address == nullptr) return rewritten;
    unit_->edits.replace(operand.text, std::to_string(*address + static_cast<std::uint64_t>(operand.offset)));
    return true;
  }

  void rewrite_constant_load(const Body& body, const Instruction& instruction) {
    std::string opcode(instruction.opcode);
    const std::size_t at = opcode.find(".const");
    // `ld.const` proper reads what no kernel can write: the non-coherent path may serve it.
    const bool plain = at == 2;
    opcode.replace(at, 6, plain ? ".global.nc" : ".global");
    unit_->edits.replace(body.opcode_range(instruction, unit_->module.source()), opcode);
  }

  InstrumentationUnit* unit_ = nullptr;
};

}  // namespace

std::unique_ptr<Pass> make_share_variables_pass() { return std::make_unique<ShareVariables>(); }

}  // namespace lynxpp::ptx
