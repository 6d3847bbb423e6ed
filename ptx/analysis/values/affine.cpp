// Computes forms of values, instruction by instruction in reverse post-order. Loop variables are symbols of
// their own until induction.cpp has found how they change.
#include "ptx/analysis/values/affine.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "ptx/ir/array_element.h"

namespace lynxpp::ptx {
namespace {

bool is_integer_of(DataType type, std::uint8_t bits) {
  return !is_floating(type) && type != DataType::opaque && size_of(type) * 8 == bits;
}
constexpr Wide most_masked = Wide{1} << 62;

bool is_signed_type(DataType type) {
  return type == DataType::s8 || type == DataType::s16 || type == DataType::s32 || type == DataType::s64;
}

/// Returns the number of low bits of the form that are always zero.
int trailing_zeros(const AffineForm& form) {
  const auto zeros = [](std::int64_t value) {
    return value == 0 ? 64 : __builtin_ctzll(static_cast<std::uint64_t>(value));
  };
  int least = zeros(form.constant);
  for (const Term& term : form.terms) least = std::min(least, zeros(term.coefficient));
  return least;
}

std::optional<std::uint32_t> dimension_of(std::string_view name) {
  if (name.size() < 2 || name[name.size() - 2] != '.') return std::nullopt;
  const char letter = name.back();
  if (letter < 'x' || letter > 'z') return std::nullopt;
  return static_cast<std::uint32_t>(letter - 'x');
}

std::optional<Interval> range_of_type(DataType type) {
  switch (type) {
    case DataType::b8:
    case DataType::u8: return Interval{0, 255};
    case DataType::s8: return Interval{-128, 127};
    case DataType::b16:
    case DataType::u16: return Interval{0, 65535};
    case DataType::s16: return Interval{-32768, 32767};
    default: return std::nullopt;
  }
}

}  // namespace

AffineAnalysis::AffineAnalysis(const Function& function, const ControlFlowGraph& graph,
                               const DominatorTree& dominators, const LoopNest& loops,
                               const RegisterUsage& usage, const SsaForm& ssa, std::uint32_t most_threads)
    : function_(function),
      graph_(graph),
      dominators_(dominators),
      loops_(loops),
      usage_(usage),
      ssa_(ssa),
      most_threads_(most_threads),
      trip_counts_(loops.loops().size()) {
  evaluate_all();
  find_induction_variables();
  if (!loops.loops().empty()) {
    // Repeat with known ranges of the loop variables: more of the widened values provably fit.
    find_trip_counts();
    evaluate_all();
    find_induction_variables();
  }
  addresses_.resize(graph.block_of.size());
  for (std::uint32_t at = 0; at < graph.block_of.size(); ++at) {
    if (dominators.is_reachable(graph.block_of[at])) addresses_[at] = address_form(at);
  }
  close_induction_variables();
}

// ---------------------------------------------------------------- symbols

SymbolId AffineAnalysis::intern(Symbol symbol) {
  const SymbolKey key{symbol.kind, symbol.index, symbol.name, symbol.is_bounded ? symbol.maximum : -1};
  const auto [entry, fresh] = interned_.try_emplace(key, static_cast<SymbolId>(symbols_.size()));
  if (fresh) symbols_.push_back(symbol);
  return entry->second;
}

SymbolId AffineAnalysis::value_symbol(ValueId value) {
  // Bounds of a value are added later; they are not part of its key.
  const auto [entry, fresh] = interned_.try_emplace(SymbolKey{SymbolKind::value, value, {}, -1},
                                                    static_cast<SymbolId>(symbols_.size()));
  if (fresh) symbols_.push_back({SymbolKind::value, value, {}, 0, 0, false});
  return entry->second;
}

std::optional<SymbolId> AffineAnalysis::special_register(std::string_view name) {
  const std::optional<std::uint32_t> dimension = dimension_of(name);
  if (!dimension) return std::nullopt;
  const std::string_view root = name.substr(0, name.size() - 2);
  const bool depth = *dimension == 2;
  const std::int64_t blocks = *dimension == 0 ? std::numeric_limits<std::int32_t>::max() : 65535;
  const std::int64_t threads = std::min<std::int64_t>(most_threads_, depth ? 64 : 1024);
  if (root == "%tid") return intern({SymbolKind::tid, *dimension, {}, 0, threads - 1, true});
  if (root == "%ntid") return intern({SymbolKind::ntid, *dimension, {}, 1, threads, true});
  if (root == "%ctaid") return intern({SymbolKind::ctaid, *dimension, {}, 0, blocks - 1, true});
  if (root == "%nctaid") return intern({SymbolKind::nctaid, *dimension, {}, 1, blocks, true});
  return std::nullopt;
}

std::uint8_t AffineAnalysis::bits_of(ValueId value) const {
  const DataType type = usage_.registers()[ssa_.values()[value].reg].type;
  if (is_integer_of(type, 32)) return 32;
  return is_integer_of(type, 64) ? 64 : 0;
}

// ---------------------------------------------------------------- walk

void AffineAnalysis::evaluate_all() {
  forms_.assign(ssa_.values().size(), std::nullopt);
  disjoint_.assign(graph_.block_of.size(), false);
  for (const std::uint32_t block : dominators_.reverse_post_order()) evaluate_block(block);
}

void AffineAnalysis::evaluate_block(std::uint32_t block) {
  for (const ValueId phi : ssa_.phis(block)) {
    if (bits_of(phi) != 0) forms_[phi] = evaluate_phi(phi);
  }
  for (std::uint32_t at = graph_.blocks[block].begin; at < graph_.blocks[block].end; ++at) {
    for (const ValueId read : ssa_.reads(at)) {
      const bool is_entry = read != no_value && ssa_.values()[read].kind == ValueKind::entry;
      if (is_entry && !forms_[read] && bits_of(read) != 0)
        forms_[read] = symbol_form(value_symbol(read), bits_of(read));
    }
    const auto writes = ssa_.writes(at);
    for (const ValueId value : writes) {
      const std::uint8_t bits = bits_of(value);
      if (bits == 0) continue;
      if (writes.size() == 1 && ssa_.values()[value].previous == no_value) forms_[value] = evaluate(at);
      if (forms_[value] && forms_[value]->bits == bits) continue;
      forms_[value] = symbol_form(value_symbol(value), bits);
      if (writes.size() == 1) bound_value(value, at);
    }
  }
}

AffineForm AffineAnalysis::evaluate_phi(ValueId phi) {
  const std::uint32_t block = ssa_.values()[phi].block;
  const std::uint32_t loop = loops_.loop_of(block);
  const bool is_header = loop != no_loop && loops_.loops()[loop].header == block;
  std::optional<AffineForm> common;
  bool same = !is_header;
  for (const ValueId input : ssa_.phi_inputs(phi)) {
    if (input == no_value) continue;
    if (!forms_[input] || (common && *common != *forms_[input])) same = false;
    if (!same) break;
    common = forms_[input];
  }
  return same && common ? *common : symbol_form(value_symbol(phi), bits_of(phi));
}

void AffineAnalysis::bound_value(ValueId value, std::uint32_t at) {
  const std::optional<Interval> range = range_of_result(at);
  if (!range || ssa_.values()[value].previous != no_value) return;
  Symbol& symbol = symbols_[value_symbol(value)];
  symbol.minimum = static_cast<std::int64_t>(range->minimum);
  symbol.maximum = static_cast<std::int64_t>(range->maximum);
  symbol.is_bounded = true;
}

/// The range of the result implied by the opcode alone.
std::optional<Interval> AffineAnalysis::range_of_result(std::uint32_t at) {
  const Instruction& instruction = function_.body->instructions[at];
  const Op op = instruction.op();
  if (op == Op::ld || op == Op::ldu || op == Op::cvt) return range_of_type(instruction.traits.type);
  if (op == Op::popc || op == Op::clz) return Interval{0, 64};
  if (op == Op::mov && instruction.operands.size() == 2 && instruction.operands[1].name == "%laneid")
    return Interval{0, 31};
  if (instruction.operands.size() != 3) return std::nullopt;
  const Operand& last = instruction.operands[2];
  if (last.kind != OperandKind::integer || last.integer < 0) return std::nullopt;
  const DataType type = instruction.traits.type;
  if (op == Op::bit_and) return Interval{0, last.integer};
  if (op == Op::rem && last.integer > 0 && (type == DataType::u32 || type == DataType::u64))
    return Interval{0, last.integer - 1};
  if (op == Op::shr && type == DataType::u32 && last.integer >= 1 && last.integer < 32)
    return Interval{0, (Wide{1} << (32 - last.integer)) - 1};
  return std::nullopt;
}

// ---------------------------------------------------------------- operands

std::optional<AffineForm> AffineAnalysis::operand_form(std::uint32_t at, std::size_t index,
                                                       std::uint8_t bits) {
  const auto& operands = function_.body->instructions[at].operands;
  return index < operands.size() ? operand_form(at, operands[index], bits) : std::nullopt;
}

std::optional<AffineForm> AffineAnalysis::operand_form(std::uint32_t at, const Operand& operand,
                                                       std::uint8_t bits) {
  if (operand.negated) return std::nullopt;
  switch (operand.kind) {
    case OperandKind::integer: return constant_form(operand.integer, bits);
    case OperandKind::special_register: {
      const std::optional<SymbolId> symbol = special_register(operand.name);
      if (!symbol || bits != 32) return std::nullopt;
      return symbol_form(*symbol, bits);
    }
    case OperandKind::identifier: break;
    default: return std::nullopt;
  }
  const RegisterId reg = usage_.find(operand.name, at);
  if (reg == no_register) {
    AffineForm form = symbol_form(intern({SymbolKind::variable, 0, operand.name, 0, 0, false}), bits);
    form.constant = operand.offset;
    return form;
  }
  const ValueId value = ssa_.read_of(at, reg);
  if (value == no_value || !forms_[value] || forms_[value]->bits != bits) return std::nullopt;
  return forms_[value];
}

std::optional<AffineForm> AffineAnalysis::address_form(std::uint32_t at) {
  for (const Operand& operand : function_.body->instructions[at].operands) {
    if (operand.kind != OperandKind::address || operand.elements.empty()) continue;
    if (array_element(operand)) return std::nullopt;  // a[%r1]: a 32-bit address that no compiler emits
    std::optional<AffineForm> form = operand_form(at, operand.elements[0], 64);
    if (!form) form = operand_form(at, operand.elements[0], 32);
    if (!form) return std::nullopt;
    return add(*form, constant_form(operand.offset, form->bits));
  }
  return std::nullopt;
}

// ---------------------------------------------------------------- instructions

std::optional<AffineForm> AffineAnalysis::evaluate(std::uint32_t at) {
  const Instruction& instruction = function_.body->instructions[at];
  if (instruction.traits.is_memory_access()) return evaluate_parameter(at);
  if (instruction.has(Modifier::sat) || instruction.traits.is_floating) return std::nullopt;
  const DataType type = instruction.traits.type;
  const std::uint8_t bits = is_integer_of(type, 32) ? 32 : is_integer_of(type, 64) ? 64 : 0;
  switch (instruction.op()) {
    case Op::cvt:
    case Op::cvta: return evaluate_conversion(at);
    case Op::mul:
    case Op::mad: return evaluate_product(at, bits);
    case Op::shl:
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::bit_not: return evaluate_bits(at, bits);
    case Op::mov:
    case Op::add:
    case Op::sub:
    case Op::neg: return evaluate_arithmetic(at, bits);
    default: return std::nullopt;
  }
}

std::optional<AffineForm> AffineAnalysis::evaluate_arithmetic(std::uint32_t at, std::uint8_t bits) {
  const Op op = function_.body->instructions[at].op();
  std::optional<AffineForm> first = operand_form(at, 1, bits);
  if (bits == 0 || !first) return std::nullopt;
  if (op == Op::mov) return first;
  if (op == Op::neg) return scale(*first, -1);
  const std::optional<AffineForm> second = operand_form(at, 2, bits);
  if (!second) return std::nullopt;
  return add(*first, op == Op::sub ? scale(*second, -1) : *second);
}

std::optional<AffineForm> AffineAnalysis::evaluate_product(std::uint32_t at, std::uint8_t bits) {
  const Instruction& instruction = function_.body->instructions[at];
  const bool is_wide = instruction.has(Modifier::wide);
  if (bits == 0 || (!is_wide && !instruction.has(Modifier::lo))) return std::nullopt;
  if (is_wide && bits != 32) return std::nullopt;
  std::optional<AffineForm> first = operand_form(at, 1, bits);
  std::optional<AffineForm> second = operand_form(at, 2, bits);
  if (!first || !second) return std::nullopt;
  if (is_wide) {
    // Widen a constant as the instruction reads it.
    const bool is_signed = is_signed_type(instruction.traits.type);
    first = widen(*first, is_signed);
    second = widen(*second, is_signed);
    if (!first || !second) return std::nullopt;
  }
  std::optional<AffineForm> product = multiply(*first, *second);
  if (!product || instruction.op() == Op::mul) return product;
  const std::optional<AffineForm> addend = operand_form(at, 3, product->bits);
  return addend ? add(*product, *addend) : std::nullopt;
}

/// True if `and` with the mask does not change the form's value.
bool AffineAnalysis::keeps_all_bits(const AffineForm& form, const AffineForm& mask) const {
  const std::optional<Interval> range = interval_of(form, symbols_);
  if (!mask.is_constant() || !range || range->minimum < 0 || range->maximum > most_masked) return false;
  const auto bits = std::bit_ceil(static_cast<std::uint64_t>(range->maximum) + 1) - 1;
  const std::uint64_t possible = bits >> trailing_zeros(form) << trailing_zeros(form);
  return (possible & ~static_cast<std::uint64_t>(mask.constant)) == 0;
}

std::optional<AffineForm> AffineAnalysis::evaluate_bits(std::uint32_t at, std::uint8_t bits) {
  const Op op = function_.body->instructions[at].op();
  const std::optional<AffineForm> first = operand_form(at, 1, bits);
  if (bits == 0 || !first) return std::nullopt;
  if (op == Op::bit_not) return add(scale(*first, -1), constant_form(-1, bits));  // ~x = -x - 1
  if (op == Op::shl) {
    const std::optional<AffineForm> amount = operand_form(at, 2, 32);
    if (!amount || !amount->is_constant() || amount->constant < 0 || amount->constant >= bits)
      return std::nullopt;
    return scale(*first, static_cast<std::int64_t>(std::uint64_t{1} << amount->constant));
  }
  const std::optional<AffineForm> second = operand_form(at, 2, bits);
  if (!second) return std::nullopt;
  if (op == Op::bit_and) return keeps_all_bits(*first, *second) ? first : std::nullopt;
  // One is a multiple of 2^n and the other less than that: their bits are disjoint.
  const auto fits_below = [this](const AffineForm& small, const AffineForm& large) {
    const std::optional<Interval> range = interval_of(small, symbols_);
    const int zeros = std::min(trailing_zeros(large), 62);
    return range && range->minimum >= 0 && range->maximum < (Wide{1} << zeros);
  };
  // Trailing zeros hold even if 32-bit arithmetic has overflowed, ranges do not.
  disjoint_[at] =
      (first->exact && fits_below(*first, *second)) || (second->exact && fits_below(*second, *first));
  if (!fits_below(*first, *second) && !fits_below(*second, *first)) return std::nullopt;
  return add(*first, *second);
}

/// Extends the form to 64 bits. nullopt if too little is known to justify an assumption.
std::optional<AffineForm> AffineAnalysis::widen(const AffineForm& form, bool is_signed) const {
  AffineForm wide = form;
  wide.bits = 64;
  if (form.is_constant()) {
    if (!is_signed) wide.constant = static_cast<std::int64_t>(static_cast<std::uint32_t>(form.constant));
    return wide;
  }
  const std::optional<Interval> range = interval_of(form, symbols_);
  const Wide lowest = is_signed ? std::numeric_limits<std::int32_t>::min() : 0;
  const Wide highest = is_signed ? Wide{std::numeric_limits<std::int32_t>::max()}
                                 : Wide{std::numeric_limits<std::uint32_t>::max()};
  if (range && range->minimum >= lowest && range->maximum <= highest) return wide;
  const bool is_structured = std::ranges::any_of(form.terms, [this](const Term& term) {
    const auto end = term.product.symbols.begin() + term.product.degree;
    return std::any_of(term.product.symbols.begin(), end, [this](SymbolId symbol) {
      if (symbols_[symbol].kind != SymbolKind::value) return true;
      // A loop variable may still turn out to have a form.
      return ssa_.values()[symbols_[symbol].index].kind == ValueKind::phi;
    });
  });
  if (!is_structured) return std::nullopt;
  wide.exact = false;
  return wide;
}

std::optional<AffineForm> AffineAnalysis::evaluate_conversion(std::uint32_t at) {
  const Instruction& instruction = function_.body->instructions[at];
  if (instruction.op() == Op::cvta) {
    // Global addresses equal their generic addresses; other state spaces are offset.
    return instruction.has(Modifier::global) ? operand_form(at, 1, 64) : std::nullopt;
  }
  const DataType source = instruction.traits.type;  // the last type of the opcode
  const DataType target = instruction.traits.first_type;
  for (const std::uint8_t bits : {std::uint8_t{32}, std::uint8_t{64}}) {
    if (!is_integer_of(source, bits)) continue;
    std::optional<AffineForm> form = operand_form(at, 1, bits);
    if (!form) return std::nullopt;
    if (is_integer_of(target, bits)) return form;
    if (bits == 32 && is_integer_of(target, 64)) return widen(*form, is_signed_type(source));
    if (bits == 64 && is_integer_of(target, 32)) return narrow(*form, 32);
  }
  return std::nullopt;
}

std::optional<AffineForm> AffineAnalysis::evaluate_parameter(std::uint32_t at) {
  const Instruction& instruction = function_.body->instructions[at];
  if (!function_.is_entry || !instruction.traits.reads_memory || instruction.operands.size() != 2 ||
      instruction.traits.space != StateSpace::param || is_floating(instruction.traits.type)) {
    return std::nullopt;
  }
  const Operand& address = instruction.operands[1];
  if (address.elements.size() != 1 || address.elements[0].kind != OperandKind::identifier ||
      address.offset < 0 || address.offset > std::numeric_limits<std::uint32_t>::max())
    return std::nullopt;
  const std::string_view name = address.elements[0].name;
  const auto has_name = [name](const Variable& parameter) { return parameter.name == name; };
  if (std::ranges::none_of(function_.parameters, has_name)) return std::nullopt;
  const std::uint8_t bits = bits_of(ssa_.writes(at)[0]);
  Symbol symbol{SymbolKind::parameter, static_cast<std::uint32_t>(address.offset), name, 0, 0, false};
  if (const std::optional<Interval> range = range_of_type(instruction.traits.type)) {
    symbol.minimum = static_cast<std::int64_t>(range->minimum);
    symbol.maximum = static_cast<std::int64_t>(range->maximum);
    symbol.is_bounded = true;
  } else if (!is_integer_of(instruction.traits.type, bits)) {
    return std::nullopt;
  }
  return symbol_form(intern(symbol), bits);
}

}  // namespace lynxpp::ptx
