// Approximations by the special function unit, conversions by it, and divisions and roots that are computed
// from approximations. `again` repeats the operation, and the program's waits for it; `harmless` only makes
// the program's operation wait for the copy of an operand (dependence.h).
//
//   ex2.approx.f32 %f2, %f1;   ▶   ex2.approx.f32 result, %f1;
//                                  and.b32 none, result, zero;  xor.b32 after, %f1, none;
//                                  ex2.approx.f32 %f2, after;
#include <algorithm>
#include <array>
#include <string_view>

#include "ptx/perturb/dependence.h"
#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

/// Conversions between integers and single precision, and to integral values. Those of double precision
/// belong to fp64, and those of half precision take other pipes.
bool converts(const Instruction& instruction) {
  const DataType from = instruction.traits.type, to = instruction.traits.first_type;
  if (instruction.op() != Op::cvt || size_of(from) < 4 || size_of(to) < 4) return false;
  if (from == DataType::f64 || to == DataType::f64) return false;
  const bool is_integral =
      std::ranges::any_of(std::to_array({".rni", ".rzi", ".rmi", ".rpi"}),
                          [&](auto mode) { return instruction.opcode.find(mode) != std::string_view::npos; });
  return (from == DataType::f32) != (to == DataType::f32) || (from == DataType::f32 && is_integral);
}

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
      default: return converts(instruction);
    }
  }

  Outcome add(Additions& to) override {
    if (size_of(to.site().traits.type) < 4 || !repeat_and_wait(to)) return left_out("not of 4 or 8 bytes");
    return {};
  }
};

}  // namespace

std::unique_ptr<OperationCode> special_function_code() { return std::make_unique<SpecialFunction>(); }

}  // namespace lynxpp::ptx
