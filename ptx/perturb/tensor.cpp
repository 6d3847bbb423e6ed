// Matrix multiplications of a warp. `again` multiplies the same matrices again, and adds the product to
// accumulators; `harmless` adds nothing.
//
//   mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {d…}, {a…}, {b…}, {c…};
//   ▶   mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {sinks…}, {a…}, {b…}, {sinks…};
//       mma.sync…
// There are two sets of accumulators, which take turns.
#include <optional>
#include <string>

#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t sets = 2;
constexpr std::uint32_t most_registers = 16;  ///< of a set

class Tensor : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    const Op op = instruction.op();
    return (op == Op::mma || op == Op::wmma || op == Op::wgmma || op == Op::tcgen05) &&
           instruction.opcode.find("mma") != std::string_view::npos &&
           instruction.traits.kind == OpcodeClass::arithmetic;
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    if (site.op() == Op::wgmma || site.op() == Op::tcgen05)
      return left_out("an asynchronous operation, which other instructions wait for");
    if (site.operands.size() < 4) return left_out("an unknown form");
    const auto sum = sinks_like(to, site.operands[3]);
    const auto result = sinks_like(to, site.operands[0]);
    if (!sum || !result) return left_out("an unknown form");
    ++next_;
    if (!to.is_again()) return {};
    std::vector<CodeOperand> operands{*result, to.text(site.operands[1]), to.text(site.operands[2]), *sum};
    for (std::size_t i = 4; i < site.operands.size(); ++i) operands.emplace_back(to.text(site.operands[i]));
    to.code().emit_if(to.guard(), std::string(site.opcode), std::move(operands));
    return {};
  }

 private:
  /// Returns accumulators of the operand's types; nullopt for other types than those of 4 and 8 bytes.
  std::optional<CodeList> sinks_like(Additions& to, const Operand& operand) const {
    const bool is_vector = operand.kind == OperandKind::vector;
    const std::size_t count = is_vector ? operand.elements.size() : 1;
    if (count > most_registers) return std::nullopt;
    CodeList list{CodeList::Kind::vector, {}};
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint32_t bytes = size_of(to.type_of(is_vector ? operand.elements[i] : operand));
      if (bytes != 4 && bytes != 8) return std::nullopt;
      const std::uint32_t index = next_ % sets * most_registers + static_cast<std::uint32_t>(i);
      list.elements.emplace_back(to.accumulator(*register_of_bytes(bytes), index));
    }
    return list;
  }

  std::uint32_t next_ = 0;
};

}  // namespace

std::unique_ptr<OperationCode> tensor_code() { return std::make_unique<Tensor>(); }

}  // namespace lynxpp::ptx
