// Single- and double-precision sums and products, comparisons and selections, and conversions to and from
// double precision. `again` performs one more operation of the same kind. If an operand is known that the
// program's operation waits for, the added one preserves its value, and the program's uses the result
// (dependence.h):
//
//   fma.rn.f32 %f3, %f3, %f1, %f2;   ▶   fma.rn.f32 after, %f3, one, minus_zero;
//                                        fma.rn.f32 %f3, after, %f1, %f2;
// The assembler knows neither 1 nor -0. NaNs may lose their payload and subnormal numbers may be flushed, as
// they are in the program's operation next. Otherwise it works on accumulators, several in turn so that none
// waits for the one before:
//
//   add.f32 %f3, %f1, %f2;           ▶   add.rn.f32 sink1, sink1, sink2;
//                                        add.f32 %f3, %f1, %f2;
// So it does at products and sums that the assembler may contract (ptx/analysis/flow/contraction.h): an
// operation between them would keep it from that. Rounding is explicit, so that the assembler does not
// contract added operations. Conversions, which preserve no value, are repeated. `harmless` adds nothing but
// the wait for a copy of the operand, at conversions.
#include <optional>
#include <set>
#include <string>

#include "ptx/analysis/flow/contraction.h"
#include "ptx/perturb/dependence.h"
#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t minus_zero = 0x80000000;  ///< the upper word, in double precision

class FloatingPoint : public OperationCode {
 public:
  FloatingPoint(DataType type, std::uint32_t chains, bool is_waited_for)
      : type_(type), chains_(chains), is_waited_for_(is_waited_for) {}

  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    if (converts(instruction)) return true;
    if (instruction.traits.type != type_ || instruction.traits.first_type != type_) return false;
    return computes(instruction.op()) || compares(instruction.op());
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    if (converts(site) && !is_waited_for_) return left_out("nothing can be added that nothing waits for");
    if (converts(site)) return repeat_and_wait(to) ? Outcome{} : left_out("an unknown form");
    if (is_waited_for_ && !compares(site.op()) && add_before_operand(to)) return {};
    // Minima take the pipe of comparisons and selections; those of double precision take several steps.
    add_independent(to, !compares(site.op()) ? operation(site) : is_double() ? "add.rn" : "min");
    return independent();
  }

 private:
  static bool computes(Op op) {
    return op == Op::add || op == Op::sub || op == Op::mul || op == Op::fma || op == Op::mad;
  }
  static bool compares(Op op) { return op == Op::min || op == Op::max || op == Op::setp || op == Op::selp; }

  bool converts(const Instruction& instruction) const {
    return is_double() && instruction.op() == Op::cvt &&
           (instruction.traits.type == DataType::f64 || instruction.traits.first_type == DataType::f64);
  }

  static std::string operation(const Instruction& site) {
    const std::string ftz = site.has(Modifier::ftz) ? ".ftz" : "";
    switch (site.op()) {
      case Op::mul: return "mul.rn" + ftz;
      case Op::add:
      case Op::sub: return "add.rn" + ftz;
      default: return "fma.rn" + ftz;
    }
  }

  /// Adds the operation to the operand that the site waits for. Returns false without such an operand.
  bool add_before_operand(Additions& to) {
    const Instruction& site = to.site();
    if (!contracted_) find_contracted(to);
    if (contracted_->contains(to.site_index())) return false;
    std::vector<std::size_t> sources;
    for (std::size_t i = 1; i < site.operands.size(); ++i) {
      if (size_of(to.type_of(site.operands[i])) == size_of(type_)) sources.push_back(i);
    }
    const std::optional<std::size_t> found = operand_to_precede(to, sources);
    if (!found) return false;
    if (!to.is_again()) return true;
    const std::string opcode = operation(site);
    const Operand& operand = site.operands[*found];
    const VirtualRegister after = to.code().fresh(registers());
    std::vector<CodeOperand> operands{after, Name{std::string(operand.name)}};
    if (opcode.starts_with("add")) {
      operands.emplace_back(number(to, minus_zero));
    } else {
      constexpr std::uint32_t single_one = 0x3f800000, double_one = 0x3ff00000;
      operands.emplace_back(number(to, is_double() ? double_one : single_one));
      if (opcode.starts_with("fma")) operands.emplace_back(number(to, minus_zero));
    }
    to.code().emit_if(to.guard(), opcode + suffix(), std::move(operands));
    to.replace(operand, after);
    return true;
  }

  void add_independent(Additions& to, const std::string& opcode) {
    const VirtualRegister sink = to.accumulator(registers(), next_ % chains_);
    const VirtualRegister other = to.accumulator(registers(), (next_ + 1) % chains_);
    ++next_;
    if (!to.is_again()) return;
    std::vector<CodeOperand> operands{sink, sink, opcode.starts_with("mul") ? sink : other};
    if (opcode.starts_with("fma")) operands = {sink, sink, sink, sink};
    to.code().emit_if(to.guard(), opcode + suffix(), std::move(operands));
  }

  void find_contracted(Additions& to) {
    contracted_.emplace();
    for (const ContractionStretch& stretch : find_contractions(to.analyses())) {
      for (const auto& [product, sum] : stretch.pairs) contracted_->insert({product, sum});
    }
  }

  bool is_double() const { return type_ == DataType::f64; }
  RegisterType registers() const { return is_double() ? RegisterType::b64 : RegisterType::b32; }
  const char* suffix() const { return is_double() ? ".f64" : ".f32"; }
  VirtualRegister number(Additions& to, std::uint32_t upper) const {
    return is_double() ? to.unknown_upper(upper) : to.unknown(upper);
  }

  DataType type_;
  std::uint32_t chains_;  ///< accumulators
  bool is_waited_for_;    ///< false: the program never waits for what is added
  std::uint32_t next_ = 0;
  std::optional<std::set<std::uint32_t>> contracted_;  ///< instructions
};

}  // namespace

// As many as hide the latency of an operation in one or two warps per scheduler.
std::unique_ptr<OperationCode> fp32_code(bool is_waited_for) {
  return std::make_unique<FloatingPoint>(DataType::f32, 4, is_waited_for);
}
std::unique_ptr<OperationCode> fp64_code(bool is_waited_for) {
  return std::make_unique<FloatingPoint>(DataType::f64, 2, is_waited_for);
}

}  // namespace lynxpp::ptx
