// Integer arithmetic, logic and shifts. `again` performs one operation on accumulators, on the same pipe:
// products as products, shifts as shifts, bit counts as bit counts, everything else as a sum and an exclusive
// or in turn, because the assembler merges two equal ones into one with three operands. `harmless` adds
// nothing.
//
//   add.s32 %r3, %r1, %r2;          ▶   add.u32 sink, sink, seed;   (or xor.b32)
//                                       add.s32 %r3, %r1, %r2;
//   mul.wide.s32 %rd2, %r1, 4;      ▶   mad.wide.s32 wide_sink, sink, 4, wide_sink;
//                                       mul.wide.s32 %rd2, %r1, 4;
// The program's values take no part: a further use of a product would keep the assembler from computing it
// and its sum at once.
#include <array>
#include <optional>
#include <string>

#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t integer_chains = 2;
constexpr std::uint32_t seed = integer_chains;  ///< an accumulator that nothing changes

enum class Kind : std::uint8_t { none, simple, shift, product, count };

Kind kind_of(Op op) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::addc:
    case Op::subc:
    case Op::min:
    case Op::max:
    case Op::abs:
    case Op::neg:
    case Op::sad:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::bit_not:
    case Op::lop3:
    case Op::bfe:
    case Op::bfi:
    case Op::prmt:
    case Op::selp:
    case Op::setp:
    case Op::set: return Kind::simple;
    case Op::shl:
    case Op::shr:
    case Op::shf: return Kind::shift;
    case Op::mul:
    case Op::mad:
    case Op::mul24:
    case Op::mad24: return Kind::product;
    case Op::popc:
    case Op::clz:
    case Op::bfind:
    case Op::brev: return Kind::count;
    default: return Kind::none;
  }
}

bool is_integer(DataType type) {
  switch (type) {
    case DataType::b16:
    case DataType::b32:
    case DataType::b64:
    case DataType::u16:
    case DataType::u32:
    case DataType::u64:
    case DataType::s16:
    case DataType::s32:
    case DataType::s64: return true;
    default: return false;
  }
}

class Integer : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    return kind_of(instruction.op()) != Kind::none && is_integer(instruction.traits.type) &&
           !instruction.traits.is_floating;
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    const bool is_wide = size_of(site.traits.type) == 8;
    switch (kind_of(site.op())) {
      case Kind::product: add_product(to); break;
      case Kind::count: add_count(to); break;
      case Kind::shift:
      case Kind::simple:
        add_one(to);
        if (is_wide) add_one(to);  // two machine operations
        break;
      case Kind::none: break;
    }
    return {};
  }

 private:
  VirtualRegister next(Additions& to) {
    chain_ = (chain_ + 1) % integer_chains;
    return to.accumulator(RegisterType::b32, chain_);
  }

  void add_one(Additions& to) {
    const VirtualRegister sink = next(to);
    const VirtualRegister operand = to.accumulator(RegisterType::b32, seed);
    if (!to.is_again()) return;
    if (kind_of(to.site().op()) == Kind::shift) {
      to.code().emit_if(to.guard(), "shf.l.wrap.b32", {sink, sink, operand, amount_of(to, operand)});
      return;
    }
    bool& adds = adds_.at(chain_);
    adds = !adds;
    to.code().emit_if(to.guard(), adds ? "add.u32" : "xor.b32", {sink, sink, operand});
  }

  void add_count(Additions& to) {
    const VirtualRegister sink = next(to);
    if (to.is_again()) to.code().emit_if(to.guard(), "popc.b32", {sink, sink});
  }

  void add_product(Additions& to) {
    const Instruction& site = to.site();
    const VirtualRegister sink = next(to);
    const VirtualRegister factor = to.accumulator(RegisterType::b32, seed);
    const Operand* const number = site.operands.size() > 2 && site.operands[2].kind == OperandKind::integer
                                      ? &site.operands[2]
                                      : nullptr;
    const std::uint32_t bytes = size_of(site.traits.type);
    const bool is_wide = (site.has(Modifier::wide) && bytes == 4) || bytes == 8;
    // A product by a number may be a shift and a sum.
    const CodeOperand other = number != nullptr && bytes == 4
                                  ? CodeOperand(static_cast<std::int32_t>(number->integer))
                                  : CodeOperand(factor);
    if (is_wide) {
      const VirtualRegister wide = to.accumulator(RegisterType::b64, 0);
      if (to.is_again()) to.code().emit_if(to.guard(), "mad.wide.s32", {wide, sink, other, wide});
    } else if (to.is_again()) {
      to.code().emit_if(to.guard(), site.has(Modifier::hi) ? "mad.hi.s32" : "mad.lo.s32",
                        {sink, sink, other, sink});
    }
  }

  /// Returns the site's shift amount, unless it shifts by nothing.
  static CodeOperand amount_of(Additions& to, VirtualRegister any) {
    constexpr std::int64_t bits = 32;
    const Operand& amount = to.site().operands.back();
    if (amount.kind != OperandKind::integer) return any;
    return amount.integer % bits == 0 ? std::int64_t{7} : amount.integer % bits;
  }

  std::uint32_t chain_ = 0;                  ///< the last one in use
  std::array<bool, integer_chains> adds_{};  ///< what each chain did last
};

}  // namespace

std::unique_ptr<OperationCode> integer_code() { return std::make_unique<Integer>(); }

}  // namespace lynxpp::ptx
