// Integer arithmetic, logic and shifts. `again` performs one more operation on the same pipe. If an operand
// of 32 bits is known that the program's operation waits for, the added one preserves its value, and the
// program's uses the result (dependence.h):
//
//   mad.lo.s32 %r3, %r3, 31, %r2;   ▶   mad.lo.s32 after, %r3, one, zero;
//                                       mad.lo.s32 %r3, after, 31, %r2;
//   add.s32 %r3, %r3, %r2;          ▶   shf.l.wrap.b32 after, %r3, %r3, zero;
//                                       add.s32 %r3, after, %r2;
// The assembler knows neither 1 nor 0. Sums, logic and shifts get a rotation, because it merges others with
// the program's into operations of three operands. Bit counts and upper halves of products, which do not
// preserve values, are repeated. Otherwise, and at comparisons, counters, addresses and sums that the
// assembler computes together with a product, the added one works on accumulators, sums and exclusive or in
// turn:
//
//   add.s64 %rd3, %rd1, %rd2;       ▶   add.u32 sink1, sink1, seed;  xor.b32 sink2, sink2, seed;
//                                       add.s64 %rd3, %rd1, %rd2;
// `harmless` adds nothing but the wait for a copy of an operand, at repeated operations.
//
// Divisions and remainders, which the assembler computes by two dozen instructions, are a class of their own.
#include <array>
#include <optional>
#include <string>

#include "ptx/perturb/dependence.h"
#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t integer_chains = 2;
constexpr std::uint32_t seed = integer_chains;  ///< an accumulator that nothing changes

enum class Kind : std::uint8_t { none, simple, shift, product, count, division };

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
    case Op::div:
    case Op::rem: return Kind::division;
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
  explicit Integer(bool is_waited_for) : is_waited_for_(is_waited_for) {}

  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    const Kind kind = kind_of(instruction.op());
    return kind != Kind::none && kind != Kind::division && is_integer(instruction.traits.type) &&
           !instruction.traits.is_floating;
  }

  Outcome add(Additions& to) override {
    const Instruction& site = to.site();
    const bool is_wide = size_of(site.traits.type) == 8;
    const Kind kind = kind_of(site.op());
    const bool is_upper_half = kind == Kind::product && site.has(Modifier::hi);
    const bool is_repeated = kind == Kind::count || is_upper_half;
    if (is_repeated && !is_waited_for_) return left_out("nothing can be added that nothing waits for");
    if (is_repeated) return repeat_and_wait(to) ? Outcome{} : left_out("an unknown form");
    if (is_waited_for_ && add_before_operand(to)) return {};
    if (kind == Kind::product) {
      add_product(to);
    } else {
      add_one(to);
      if (is_wide) add_one(to);  // two machine operations
    }
    return independent();
  }

 private:
  /// Adds an operation to the operand that the site waits for. Returns false without such an operand.
  static bool add_before_operand(Additions& to) {
    const Instruction& site = to.site();
    const bool is_comparison = site.op() == Op::setp || site.op() == Op::set;
    if (size_of(site.traits.type) != 4 || site.has(Modifier::wide) || is_comparison ||
        to.order().is_for_addresses(to.site_index()))
      return false;
    std::vector<std::size_t> sources;
    for (std::size_t i = 1; i < site.operands.size(); ++i) {
      if (size_of(to.type_of(site.operands[i])) == 4 && !is_counter(site, i) && !is_computed_together(to, i))
        sources.push_back(i);
    }
    const std::optional<std::size_t> found = operand_to_precede(to, sources);
    if (!found) return false;
    if (!to.is_again()) return true;
    const Operand& operand = site.operands[*found];
    const Name name{std::string(operand.name)};
    const VirtualRegister after = to.code().fresh(RegisterType::b32);
    if (kind_of(site.op()) == Kind::product) {
      to.code().emit_if(to.guard(), "mad.lo.s32", {after, name, to.unknown(1), to.unknown(0)});
    } else {
      to.code().emit_if(to.guard(), "shf.l.wrap.b32", {after, name, name, to.unknown(0)});
    }
    to.replace(operand, after);
    return true;
  }

  /// True for `add.s32 %r1, %r1, 4`: the assembler unrolls loops whose counters it understands.
  static bool is_counter(const Instruction& site, std::size_t operand) {
    const bool is_sum = site.op() == Op::add || site.op() == Op::sub;
    return is_sum && site.operands[operand].name == site.operands[0].name &&
           site.operands.back().kind == OperandKind::integer;
  }

  /// True if the assembler may compute the site, a sum, and the instruction that yields the operand as one.
  static bool is_computed_together(Additions& to, std::size_t operand) {
    const Op op = to.site().op();
    if (op != Op::add && op != Op::sub) return false;
    const Instruction* const made = to.order().definition(to.site_index(), to.site().operands[operand]);
    return made != nullptr && (made->op() == Op::mul || made->op() == Op::shl);
  }

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
      to.code().emit_if(to.guard(), "mad.lo.s32", {sink, sink, other, sink});
    }
  }

  /// Returns the site's shift amount, unless it shifts by nothing.
  static CodeOperand amount_of(Additions& to, VirtualRegister any) {
    constexpr std::int64_t bits = 32;
    const Operand& amount = to.site().operands.back();
    if (amount.kind != OperandKind::integer) return any;
    return amount.integer % bits == 0 ? std::int64_t{7} : amount.integer % bits;
  }

  bool is_waited_for_;                       ///< false: the program never waits for what is added
  std::uint32_t chain_ = 0;                  ///< the last one in use
  std::array<bool, integer_chains> adds_{};  ///< what each chain did last
};

class IntegerDivision : public OperationCode {
 public:
  bool selects(const FunctionUnit& /*function*/, const Instruction& instruction) const override {
    return kind_of(instruction.op()) == Kind::division && is_integer(instruction.traits.type) &&
           !instruction.traits.is_floating;
  }

  Outcome add(Additions& to) override {
    return repeat_and_wait(to) ? Outcome{} : left_out("an unknown form");
  }
};

}  // namespace

std::unique_ptr<OperationCode> integer_division_code() { return std::make_unique<IntegerDivision>(); }

std::unique_ptr<OperationCode> integer_code(bool is_waited_for) {
  return std::make_unique<Integer>(is_waited_for);
}

}  // namespace lynxpp::ptx
