// Approximations by the special function unit, and divisions and roots that are computed from them. `again`
// repeats the operation; an unknown 0 in its operand keeps the assembler from using the program's result.
// `harmless` only reads the operand.
//
//   ex2.approx.f32 %f2, %f1;   ▶   xor.b32 copy, %f1, zero;  ex2.approx.f32 result, copy;
//                                  xor.b32 sink, sink, result;
//                                  ex2.approx.f32 %f2, %f1;
#include <string>

#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

class SpecialFunction : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    switch (instruction.op()) {
      case Op::sin:
      case Op::cos:
      case Op::ex2:
      case Op::lg2:
      case Op::tanh:
      case Op::rcp:
      case Op::sqrt:
      case Op::rsqrt:
      case Op::div: return instruction.traits.is_floating;
      default: return false;
    }
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    const Operand& source = site.operands.back();
    const std::uint32_t bytes = size_of(site.traits.type);
    if (bytes != 4 || size_of(to.type_of(source)) != 4) return left_out("not of a register of 32 bits");
    const VirtualRegister copy = to.code().b32("xor.b32", {to.text(source), to.word(HiddenSlot::Kind::zero)});
    if (!to.is_again()) {
      to.keep({copy});
      return {};
    }
    const VirtualRegister result = to.code().fresh(RegisterType::b32);
    std::vector<CodeOperand> operands{result};
    for (std::size_t i = 1; i + 1 < site.operands.size(); ++i)
      operands.emplace_back(to.text(site.operands[i]));
    operands.emplace_back(copy);
    to.code().emit_if(to.guard(), std::string(site.opcode), std::move(operands));
    to.keep({result});
    return {};
  }
};

}  // namespace

std::unique_ptr<OperationCode> special_function_code() { return std::make_unique<SpecialFunction>(); }

}  // namespace lynxpp::ptx
