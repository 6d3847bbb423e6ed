// Single- and double-precision sums and products, and conversions to and from double precision. `again`
// performs one operation of the same kind on accumulators, several in turn so that none waits for the one
// before. `harmless` adds nothing.
//
//   fma.rn.f32 %f3, %f1, %f2, %f4;   ▶   fma.rn.f32 sink1, sink1, sink1, sink1;
//                                        fma.rn.f32 %f3, %f1, %f2, %f4;
// The program's values take no part: a further use of a product would keep the assembler from contracting it
// with its sum (ptx/analysis/flow/contraction.h). Rounding is explicit, so that the assembler does not
// contract added operations with each other.
#include <string>

#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

class FloatingPoint : public OperationCode {
 public:
  FloatingPoint(DataType type, std::uint32_t chains) : type_(type), chains_(chains) {}

  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    if (converts(instruction)) return true;
    if (instruction.traits.type != type_ || instruction.traits.first_type != type_) return false;
    switch (instruction.op()) {
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::fma:
      case Op::mad: return true;
      default: return false;
    }
  }

  Outcome add(Additions& to) override {
    const bool is_double = type_ == DataType::f64;
    const RegisterType registers = is_double ? RegisterType::b64 : RegisterType::b32;
    const VirtualRegister sink = to.accumulator(registers, next_ % chains_);
    const VirtualRegister other = to.accumulator(registers, (next_ + 1) % chains_);
    ++next_;
    const Instruction& site = to.site();
    if (converts(site)) {
      const VirtualRegister single = to.accumulator(RegisterType::b32, next_ % chains_);
      if (!to.is_again()) return {};
      if (site.traits.type == DataType::f64) {
        to.code().emit_if(to.guard(), "cvt.rn.f32.f64", {single, sink});
      } else {
        to.code().emit_if(to.guard(), "cvt.f64.f32", {sink, single});
      }
      return {};
    }
    if (!to.is_again()) return {};
    const std::string modifiers =
        std::string(".rn") + (site.has(Modifier::ftz) ? ".ftz" : "") + (is_double ? ".f64" : ".f32");
    switch (site.op()) {
      case Op::mul: to.code().emit_if(to.guard(), "mul" + modifiers, {sink, sink, sink}); break;
      case Op::add:
      case Op::sub: to.code().emit_if(to.guard(), "add" + modifiers, {sink, sink, other}); break;
      default: to.code().emit_if(to.guard(), "fma" + modifiers, {sink, sink, sink, sink}); break;
    }
    return {};
  }

 private:
  /// Conversions share a slow pipe: those between numbers of 32 and 64 bits are added for all.
  bool converts(const Instruction& instruction) const {
    return type_ == DataType::f64 && instruction.op() == Op::cvt &&
           (instruction.traits.type == DataType::f64 || instruction.traits.first_type == DataType::f64);
  }

  DataType type_;
  std::uint32_t chains_;  ///< accumulators
  std::uint32_t next_ = 0;
};

}  // namespace

// As many as hide the latency of an operation in one or two warps per scheduler.
std::unique_ptr<OperationCode> fp32_code() { return std::make_unique<FloatingPoint>(DataType::f32, 4); }
std::unique_ptr<OperationCode> fp64_code() { return std::make_unique<FloatingPoint>(DataType::f64, 2); }

}  // namespace lynxpp::ptx
