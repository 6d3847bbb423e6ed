#include "ptx/analysis/values/lane_pattern.h"

#include <algorithm>
#include <bit>
#include <map>

namespace lynxpp::ptx {
namespace {

constexpr std::size_t most_steps = 512;  // steps of a decomposition
constexpr std::int64_t most_factor = 1 << 16;
constexpr std::size_t most_lane_terms = 4;  // terms of V: each costs instructions at P
constexpr std::uint64_t highest_thread_index = 1023;
constexpr std::uint64_t highest_index = 0xffffffff;
constexpr std::uint64_t near_span = std::uint64_t{1} << 37;
// leaves a margin of indices, unused in practice, before they wrap around
constexpr std::uint64_t widest_span = 1u << 30;

std::int64_t product(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) * static_cast<std::uint64_t>(right));
}
std::int64_t sum_of(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
}
std::int64_t reduced(std::int64_t number, std::uint8_t bits) {
  return bits == 32 ? static_cast<std::int32_t>(number) : number;
}

const Operand* operand_of(const Instruction& instruction, std::size_t index) {
  return index < instruction.operands.size() ? &instruction.operands[index] : nullptr;
}

std::vector<IndexCheck> sorted(std::vector<IndexCheck> checks) {
  std::ranges::sort(checks);
  const auto same = std::ranges::unique(checks);
  checks.erase(same.begin(), same.end());
  return checks;
}

}  // namespace

/// V, with the SSA values of its registers.
struct LanePatterns::Sum {
  struct Key {
    LaneTerm::Kind kind = LaneTerm::Kind::value;
    std::uint32_t id = 0;  ///< dimension or ValueId
    auto operator<=>(const Key&) const = default;
  };
  std::uint8_t bits = 64;
  std::map<Key, std::int64_t> terms;
  std::vector<std::uint32_t> before_blocks;  ///< blocks that P must strictly dominate
  std::vector<std::uint32_t> outside_loops;  ///< loops that must not contain P
  std::vector<IndexCheck> checks = {};

  void add(Key key, std::int64_t coefficient) {
    std::int64_t& known = terms[key];
    known = reduced(sum_of(known, coefficient), bits);
    if (known == 0) terms.erase(key);
  }
  void add(const Sum& other, std::int64_t factor) {
    for (const auto& [key, coefficient] : other.terms) add(key, product(coefficient, factor));
    require(other);
  }
  void require(const Sum& other) {
    before_blocks.insert(before_blocks.end(), other.before_blocks.begin(), other.before_blocks.end());
    outside_loops.insert(outside_loops.end(), other.outside_loops.begin(), other.outside_loops.end());
    checks.insert(checks.end(), other.checks.begin(), other.checks.end());
  }
  /// The largest difference between lanes, if all terms are thread indices and it is small enough.
  std::optional<std::uint32_t> span() const {
    std::uint64_t span = 0;
    for (const auto& [key, coefficient] : terms) {
      const std::int64_t size = coefficient < 0 ? -coefficient : coefficient;
      if (key.kind != LaneTerm::Kind::thread_index || bits != 32) return std::nullopt;
      span += static_cast<std::uint64_t>(size) * highest_thread_index;
    }
    return span > widest_span ? std::nullopt : std::optional(static_cast<std::uint32_t>(span));
  }
};

/// Decomposes an address into the terms it is computed from.
class LanePatterns::Decomposition {
 public:
  Decomposition(const LanePatterns& all, std::uint8_t bits, Lanes lanes, Indices indices)
      : all_(all), bits_(bits), lanes_(lanes), indices_(indices) {}

  /// Adds `factor` times the value of `operand` of the instruction `at`; `block` is where the value is used.
  bool add_operand(std::uint32_t at, const Operand* operand, std::int64_t factor, std::uint32_t block,
                   Sum& sum) {
    if (operand == nullptr || operand->negated) return false;
    if (operand->kind == OperandKind::integer) return true;
    if (operand->kind == OperandKind::special_register) return add_special(operand->name, factor, sum);
    if (operand->kind != OperandKind::identifier) return false;
    const RegisterId reg = all_.usage_.find(operand->name, at);
    if (reg == no_register) return true;  // the address of a variable
    if (all_.usage_.registers()[reg].name != operand->name) return false;
    return add_value(all_.ssa_.read_of(at, reg), factor, block, sum);
  }

  bool add_value(ValueId value, std::int64_t factor, std::uint32_t block, Sum& sum) {
    if (value == no_value || ++steps_ > most_steps) return false;
    if (is_uniform(value, block)) return true;
    if (std::ranges::find(open_, value) != open_.end()) return add_register(value, factor, sum);
    if (bits_of(value) != bits_) return false;
    const Value& made = all_.ssa_.values()[value];
    if (!leave_together(all_.loops_.loop_of(made.block), block)) return add_register(value, factor, sum);
    if (add_affine(value, factor, block, sum)) return true;
    if (made.kind == ValueKind::phi) {
      Sum common{bits_, {}, {}, {}};
      if (!join(value, common)) return add_register(value, factor, sum);
      sum.add(common, factor);
      return true;
    }
    if (made.kind == ValueKind::write && made.previous == no_value) {
      Sum parts{bits_, {}, {}, {}};
      if (add_result(made.instruction, block, parts)) {
        sum.add(parts, factor);
        return true;
      }
    }
    return add_register(value, factor, sum);
  }

 private:
  bool is_uniform(ValueId value, std::uint32_t block) const {
    return (all_.uniformity_.of_value_at(value, block) & varies_in_warp) == 0;
  }

  /// If lanes may execute the access apart, a sum found inside a loop holds after it only if they left in one
  /// iteration.
  bool leave_together(std::uint32_t loop, std::uint32_t block) const {
    if (lanes_ == Lanes::same) return true;
    for (; loop != no_loop && !all_.loops_.contains(loop, block); loop = all_.loops_.loops()[loop].parent) {
      if ((all_.uniformity_.of_loop_exit(loop) & varies_in_warp) != 0) return false;
    }
    return true;
  }

  /// True if all lanes that are together at the block have reached it on the same path.
  bool converge(std::uint32_t block) const {
    return lanes_ == Lanes::same || (all_.uniformity_.of_join(block) & varies_in_warp) == 0;
  }

  std::uint8_t bits_of(ValueId value) const {
    const Register& reg = all_.usage_.registers()[all_.ssa_.values()[value].reg];
    if (reg.is_predicate || reg.type == DataType::opaque) return 0;
    return static_cast<std::uint8_t>(8 * size_of(reg.type));
  }

  bool add_register(ValueId value, std::int64_t factor, Sum& sum) const {
    sum.add({LaneTerm::Kind::value, value}, factor);
    return true;
  }

  bool add_special(std::string_view name, std::int64_t factor, Sum& sum) const {
    if ((variance_of_special_register(name) & varies_in_warp) == 0) return true;
    if (bits_ != 32 || name.size() != 6 || !name.starts_with("%tid.")) return false;
    sum.add({LaneTerm::Kind::thread_index, static_cast<std::uint32_t>(name.back() - 'x')}, factor);
    return true;
  }

  /// Adds an exact form in thread indices and uniform symbols.
  bool add_affine(ValueId value, std::int64_t factor, std::uint32_t block, Sum& sum) const {
    const std::optional<AffineForm> form = all_.affine_.of_value(value);
    if (!form || !form->exact || form->bits != bits_) return false;
    Sum parts{bits_, {}, {}, {}};
    for (const Term& term : form->terms) {
      const Symbol& first = all_.affine_.symbols()[term.product.symbols[0]];
      if (term.product.degree == 1 && first.kind == SymbolKind::tid) {
        parts.add({LaneTerm::Kind::thread_index, first.index}, term.coefficient);
        continue;
      }
      for (std::uint8_t i = 0; i < term.product.degree; ++i) {
        const Symbol& symbol = all_.affine_.symbols()[term.product.symbols[i]];
        if (symbol.kind == SymbolKind::tid) return false;
        if (symbol.kind == SymbolKind::value && !is_uniform(symbol.index, block)) return false;
        if (symbol.kind != SymbolKind::iteration) continue;
        const std::uint32_t header = all_.loops_.loops()[symbol.index].header;
        if (!leave_together(symbol.index, block) || !converge(header)) return false;
        // Lanes that iterate together have all iterated equally often since they entered the loop.
        const bool is_same_inside = lanes_ == Lanes::same && all_.loops_.contains(symbol.index, block) &&
                                    (all_.uniformity_.of_join(header) & varies_in_warp) == 0;
        if (!is_same_inside) parts.outside_loops.push_back(symbol.index);
      }
    }
    sum.add(parts, factor);
    return true;
  }

  /// Adds the V of a phi whose lanes arrive together and whose inputs all have the same V; around a loop V
  /// must be unchanged.
  bool join(ValueId phi, Sum& common) {
    const std::uint32_t block = all_.ssa_.values()[phi].block;
    if (block == 0 || !converge(block)) return false;
    const auto& predecessors = all_.graph_.blocks[block].predecessors;
    const auto inputs = all_.ssa_.phi_inputs(phi);
    open_.push_back(phi);
    bool is_known = false;
    bool fits = true;
    for (std::size_t i = 0; fits && i < inputs.size(); ++i) {
      if (!all_.dominators_.is_reachable(predecessors[i])) continue;
      Sum input{bits_, {}, {}, {}};
      fits = add_value(inputs[i], 1, predecessors[i], input);
      common.require(input);
      const bool is_itself = input.terms.size() == 1 && input.terms.begin()->second == 1 &&
                             input.terms.begin()->first == Sum::Key{LaneTerm::Kind::value, phi};
      if (is_itself) continue;
      fits = fits && !input.terms.contains({LaneTerm::Kind::value, phi}) &&
             (!is_known || common.terms == input.terms);
      common.terms = input.terms;
      is_known = true;
    }
    open_.pop_back();
    common.before_blocks.push_back(block);
    return fits && is_known;
  }

  /// Adds the result of an instruction if it is a sum.
  bool add_result(std::uint32_t at, std::uint32_t block, Sum& sum) {
    const Instruction& instruction = all_.function_.body->instructions[at];
    const OpcodeTraits& traits = instruction.traits;
    if (instruction.guarded() || traits.is_floating || instruction.has(Modifier::sat)) return false;
    if (instruction.operands.empty() || instruction.operands[0].kind != OperandKind::identifier) return false;
    const auto add = [&](std::size_t index, std::int64_t factor) {
      return add_operand(at, operand_of(instruction, index), factor, block, sum);
    };
    const bool is_own_size = 8 * size_of(traits.type) == bits_;
    switch (traits.op) {
      case Op::cvt: return add_widened(at, 1, traits.first_type, block, 1, sum);
      case Op::cvta: return instruction.has(Modifier::global) && size_of(traits.type) == 8 && add(1, 1);
      case Op::mul: return add_product(at, false, block, sum);
      case Op::mad: return add_product(at, true, block, sum);
      case Op::mov: return is_own_size && add(1, 1);
      case Op::add: return is_own_size && add(1, 1) && add(2, 1);
      case Op::sub: return is_own_size && add(1, 1) && add(2, -1);
      case Op::bit_or:
      case Op::bit_xor: return is_own_size && all_.affine_.adds_disjoint_bits(at) && add(1, 1) && add(2, 1);
      case Op::bit_and: return is_own_size && add_masked(at, sum);
      case Op::shl: break;
      default: return false;
    }
    const Operand* amount = operand_of(instruction, 2);
    const bool is_constant = amount != nullptr && amount->kind == OperandKind::integer &&
                             amount->integer >= 0 && amount->integer < bits_;
    return is_own_size && is_constant &&
           add(1, static_cast<std::int64_t>(std::uint64_t{1} << amount->integer));
  }

  /// Adds a masked multiple of %tid.x if the mask keeps all bits that differ between the lanes of a row.
  bool add_masked(std::uint32_t at, Sum& sum) {
    const Operand* const mask = operand_of(all_.function_.body->instructions[at], 2);
    const std::optional<std::int64_t> factor = factor_of_index(at);
    constexpr std::int64_t lanes = 31;
    if (mask == nullptr || mask->kind != OperandKind::integer || !factor ||
        (*factor * lanes & ~mask->integer) != 0)
      return false;
    sum.add({LaneTerm::Kind::thread_index, 0}, *factor);
    return true;
  }

  /// The power of two by which %tid.x is multiplied in the first source operand, in launches with whole rows;
  /// nullopt if it is anything else.
  std::optional<std::int64_t> factor_of_index(std::uint32_t at) const {
    const Operand* const source = operand_of(all_.function_.body->instructions[at], 1);
    if (!all_.has_whole_rows_ || source == nullptr || source->kind != OperandKind::identifier)
      return std::nullopt;
    const RegisterId reg = all_.usage_.find(source->name, at);
    if (reg == no_register) return std::nullopt;
    const std::optional<AffineForm> form = all_.affine_.of_value(all_.ssa_.read_of(at, reg));
    if (!form || !form->exact || form->bits != bits_ || form->constant != 0 || form->terms.size() != 1)
      return std::nullopt;
    const auto& [product, factor] = form->terms[0];
    const Symbol& symbol = all_.affine_.symbols()[product.symbols[0]];
    const bool is_index = symbol.kind == SymbolKind::tid && symbol.index == 0 && product.degree == 1;
    const bool is_power =
        factor > 0 && factor <= most_factor && std::has_single_bit(static_cast<std::uint64_t>(factor));
    return is_index && is_power ? std::optional(factor) : std::nullopt;
  }

  bool add_product(std::uint32_t at, bool has_addend, std::uint32_t block, Sum& sum) {
    const Instruction& instruction = all_.function_.body->instructions[at];
    const bool is_wide = instruction.has(Modifier::wide);
    if (!is_wide && !instruction.has(Modifier::lo)) return false;
    const std::uint32_t bits = 8 * size_of(instruction.traits.type);
    if ((is_wide ? 2 * bits : bits) != bits_) return false;
    for (const std::size_t constant : {1, 2}) {
      const Operand* factor = operand_of(instruction, constant);
      if (factor == nullptr || factor->kind != OperandKind::integer) continue;
      const bool is_unsigned = instruction.traits.type == DataType::u32;
      const std::int64_t number = !is_wide      ? factor->integer
                                  : is_unsigned ? static_cast<std::uint32_t>(factor->integer)
                                                : static_cast<std::int32_t>(factor->integer);
      const std::size_t other = 3 - constant;
      const bool made =
          is_wide ? add_widened(at, other, is_unsigned ? DataType::u64 : DataType::s64, block, number, sum)
                  : add_operand(at, operand_of(instruction, other), number, block, sum);
      if (!made) return false;
      return !has_addend || add_operand(at, operand_of(instruction, 3), 1, block, sum);
    }
    return false;
  }

  /// Adds operand `index`, a 32-bit register, as the instruction reads it, or the source of a conversion that
  /// does not change it.
  bool add_widened(std::uint32_t at, std::size_t index, DataType target, std::uint32_t block,
                   std::int64_t factor, Sum& sum) {
    const Instruction& instruction = all_.function_.body->instructions[at];
    const DataType source = instruction.traits.type;
    const Operand* operand = operand_of(instruction, index);
    if (operand == nullptr || is_floating(source) || is_floating(target)) return false;
    if (size_of(target) * 8 != bits_) return false;
    if (size_of(source) == size_of(target)) return add_operand(at, operand, factor, block, sum);
    if (bits_ != 64 || size_of(source) != 4 || operand->kind != OperandKind::identifier) return false;
    const RegisterId reg = all_.usage_.find(operand->name, at);
    if (reg == no_register || all_.usage_.registers()[reg].name != operand->name) return false;
    const ValueId value = all_.ssa_.read_of(at, reg);
    if (value == no_value || bits_of(value) != 32) return false;
    if (is_uniform(value, block)) return true;
    const bool is_signed = source == DataType::s32;
    if (indices_ == Indices::followed && follow(value, {at, reg, 0, is_signed}, block, factor, sum))
      return true;
    sum.add({is_signed ? LaneTerm::Kind::sign_extended : LaneTerm::Kind::zero_extended, value}, factor);
    return true;
  }

  /// Adds the 32-bit index as if it did not wrap around.
  bool follow(ValueId value, IndexCheck check, std::uint32_t block, std::int64_t factor, Sum& sum) {
    Sum index{32, {}, {}, {}};
    Decomposition decomposition(all_, 32, lanes_, indices_);
    decomposition.steps_ = steps_;
    const bool is_known = decomposition.add_value(value, 1, block, index);
    steps_ = decomposition.steps_;
    const std::optional<std::uint32_t> span = index.span();
    if (!is_known || !span) return false;
    sum.add(index, factor);
    check.span = *span;
    if (check.span != 0) sum.checks.push_back(check);
    return true;
  }

  const LanePatterns& all_;
  const std::uint8_t bits_;
  const Lanes lanes_;
  const Indices indices_;
  std::size_t steps_ = 0;
  std::vector<ValueId> open_;  ///< phis whose inputs are being visited
};

LanePatterns::LanePatterns(const Function& function, const ControlFlowGraph& graph,
                           const DominatorTree& dominators, const LoopNest& loops, const RegisterUsage& usage,
                           const SsaForm& ssa, const Uniformity& uniformity, const AffineAnalysis& affine,
                           const LaunchShape& launch)
    : function_(function),
      graph_(graph),
      dominators_(dominators),
      loops_(loops),
      usage_(usage),
      ssa_(ssa),
      uniformity_(uniformity),
      affine_(affine),
      has_whole_rows_(launch.has_whole_rows),
      cohorts_(function, graph, dominators, loops, uniformity),
      writes_of_(usage.registers().size()) {
  for (std::uint32_t at = 0; at < function.body->instructions.size(); ++at) {
    for (const RegisterWrite& write : usage.writes(at)) ++writes_of_[write.reg];
  }
}

std::optional<LanePatterns::Sum> LanePatterns::sum_of_address(std::uint32_t instruction,
                                                              const Operand& address, Lanes lanes,
                                                              Indices indices) const {
  const std::uint32_t block = graph_.block_of[instruction];
  if (address.elements.size() != 1 || !dominators_.is_reachable(block) || loops_.is_irreducible(block))
    return std::nullopt;
  const Operand& base = address.elements[0];
  const RegisterId reg =
      base.kind == OperandKind::identifier ? usage_.find(base.name, instruction) : no_register;
  const std::uint32_t bytes = reg == no_register ? 8 : size_of(usage_.registers()[reg].type);
  if (bytes != 4 && bytes != 8) return std::nullopt;
  const auto bits = static_cast<std::uint8_t>(8 * bytes);
  Sum sum{bits, {}, {}, {}};
  if (!Decomposition(*this, bits, lanes, indices).add_operand(instruction, &base, 1, block, sum))
    return std::nullopt;
  if (sum.terms.size() > most_lane_terms) return std::nullopt;
  return sum;
}

std::optional<LanePattern> LanePatterns::of_address(std::uint32_t instruction, const Operand& address) const {
  if (is_guarded_apart(instruction)) return std::nullopt;
  const std::optional<Sum> sum = sum_of_address(instruction, address, Lanes::same);
  return sum ? place(instruction, *sum) : std::nullopt;
}

/// True if the guard may diverge.
bool LanePatterns::is_guarded_apart(std::uint32_t instruction) const {
  const Instruction& access = function_.body->instructions[instruction];
  if (!access.guarded()) return false;
  const RegisterId guard = usage_.find(access.guard.predicate, instruction);
  return guard == no_register || (uniformity_.of_register_read(instruction, guard) & varies_in_warp) != 0;
}

std::optional<IndexPattern> LanePatterns::of_index(std::uint32_t instruction, const Operand& address) const {
  if (is_guarded_apart(instruction)) return std::nullopt;
  std::optional<Sum> sum = sum_of_address(instruction, address, Lanes::same, Indices::followed);
  if (!sum) return std::nullopt;
  const std::optional<LanePattern> pattern = place(instruction, *sum);
  if (!pattern) return std::nullopt;
  return IndexPattern{*pattern, sorted(std::move(sum->checks))};
}

bool LanePatterns::is_near(std::uint32_t instruction, const Operand& address) const {
  const std::optional<Sum> sum = sum_of_address(instruction, address, Lanes::same);
  if (!sum || sum->bits != 64 || !sum->before_blocks.empty() || !sum->outside_loops.empty()) return false;
  std::uint64_t span = 0;
  for (const auto& [key, coefficient] : sum->terms) {
    const std::uint64_t size =
        coefficient < 0 ? -static_cast<std::uint64_t>(coefficient) : static_cast<std::uint64_t>(coefficient);
    if (key.kind == LaneTerm::Kind::value || size > near_span) return false;
    span += size * (key.kind == LaneTerm::Kind::thread_index ? highest_thread_index : highest_index);
  }
  return span < near_span;
}

/// No branch has diverged on any path to P, so all lanes are there whenever one is, and each has passed a P
/// that dominates the access equally often.
std::optional<LanePattern> LanePatterns::of_some_lanes(std::uint32_t instruction,
                                                       const Operand& address) const {
  if (!function_.is_entry) return std::nullopt;
  const std::optional<Sum> sum = sum_of_address(instruction, address, Lanes::some);
  if (!sum) return std::nullopt;
  std::vector<std::uint32_t> converged_blocks;
  for (std::uint32_t block = graph_.block_of[instruction]; block != no_block;
       block = dominators_.immediate(block)) {
    if (cohorts_.is_converged(block)) converged_blocks.push_back(block);
    if (makes_term(block, *sum)) break;
  }
  for (std::size_t i = converged_blocks.size(); i-- > 0;) {
    const std::optional<std::uint32_t> position = position_in(converged_blocks[i], instruction, *sum);
    if (position) return pattern_at(converged_blocks[i], *position, *sum);
  }
  return std::nullopt;
}

/// All lanes of a warp pass the kernel's entry together, and thread indices never change.
std::optional<LaneStep> LanePatterns::step_of_some_lanes(std::uint32_t instruction,
                                                         const Operand& address) const {
  if (!function_.is_entry) return std::nullopt;
  std::optional<Sum> sum = sum_of_address(instruction, address, Lanes::some, Indices::followed);
  const auto holds_entry = [&](std::uint32_t loop) { return loops_.contains(loop, 0); };
  if (!sum || sum->bits != 64 || std::ranges::any_of(sum->outside_loops, holds_entry)) return std::nullopt;
  LaneStep step;
  for (const auto& [key, coefficient] : sum->terms) {
    if (key.kind != LaneTerm::Kind::thread_index) return std::nullopt;
    if (key.id == 0) step.bytes = coefficient;  // %tid.y and %tid.z are uniform in a row
  }
  step.checks = sorted(std::move(sum->checks));
  return step;
}

/// True if the block defines a term, which no dominating block then has available.
bool LanePatterns::makes_term(std::uint32_t block, const Sum& sum) const {
  return std::ranges::any_of(sum.terms, [&](const auto& term) {
    if (term.first.kind == LaneTerm::Kind::thread_index) return false;
    const Value& value = ssa_.values()[term.first.id];
    return value.kind == ValueKind::write && value.block == block;
  });
}

/// Returns the first position from `first` on after which no lanes join before `end`.
std::uint32_t LanePatterns::after_joins(std::uint32_t first, std::uint32_t end) const {
  for (std::uint32_t at = end; at > first; --at) {
    if (may_join_lanes(function_.body->instructions[at - 1])) return at;
  }
  return first;
}

/// Searches upwards from the access while the lanes are the same; returns the earliest possible P.
std::optional<LanePattern> LanePatterns::place(std::uint32_t instruction, const Sum& sum) const {
  const std::uint32_t own_block = graph_.block_of[instruction];
  std::vector<std::uint32_t> blocks;
  bool joins = false;
  for (std::uint32_t block = own_block;; block = dominators_.immediate(block)) {
    // Hardware may not have reconverged all lanes at P yet, unless they never diverged.
    if (!joins || is_converged_in_kernel(block)) blocks.push_back(block);
    if (makes_term(block, sum)) break;
    const LaneCohorts::Link link = cohorts_.link(block);
    if (link == LaneCohorts::Link::apart) break;
    joins |= link == LaneCohorts::Link::joining;
    if (block == own_block) {
      const std::uint32_t begin = graph_.blocks[block].begin;
      joins |= after_joins(begin, instruction) != begin;
    }
  }
  for (std::size_t i = blocks.size(); i-- > 0;) {
    std::optional<std::uint32_t> position = position_in(blocks[i], instruction, sum);
    if (!position) continue;
    if (blocks[i] == own_block && !is_converged_in_kernel(own_block))
      position = after_joins(*position, instruction);
    return pattern_at(blocks[i], *position, sum);
  }
  return std::nullopt;
}

bool LanePatterns::is_converged_in_kernel(std::uint32_t block) const {
  return function_.is_entry && cohorts_.is_converged(block);
}

LanePattern LanePatterns::pattern_at(std::uint32_t block, std::uint32_t position, const Sum& sum) const {
  LanePattern pattern{block, position, sum.bits, {}};
  for (const auto& [key, coefficient] : sum.terms) {
    const bool is_index = key.kind == LaneTerm::Kind::thread_index;
    pattern.terms.push_back({key.kind, is_index ? key.id : ssa_.values()[key.id].reg, coefficient});
  }
  std::ranges::sort(pattern.terms);
  return pattern;
}

/// Returns the first instruction of the block before which all terms are available, each in a register that
/// never holds another value.
std::optional<std::uint32_t> LanePatterns::position_in(std::uint32_t block, std::uint32_t access,
                                                       const Sum& sum) const {
  const auto is_behind = [&](std::uint32_t later) {
    return block != later && dominators_.dominates(block, later);
  };
  const auto holds = [&](std::uint32_t loop) { return loops_.contains(loop, block); };
  if (!std::ranges::all_of(sum.before_blocks, is_behind) || std::ranges::any_of(sum.outside_loops, holds))
    return std::nullopt;
  std::uint32_t position = graph_.blocks[block].begin;
  for (const auto& [key, coefficient] : sum.terms) {
    if (key.kind == LaneTerm::Kind::thread_index) continue;
    const Value& value = ssa_.values()[key.id];
    const bool is_fixed = value.kind == ValueKind::write
                              ? value.previous == no_value && writes_of_[value.reg] == 1
                              : value.kind == ValueKind::entry && writes_of_[value.reg] == 0;
    if (!is_fixed) return std::nullopt;
    if (value.kind != ValueKind::write) continue;
    if (!dominators_.dominates(value.block, block)) return std::nullopt;
    if (value.block == block) position = std::max(position, value.instruction + 1);
  }
  const std::uint32_t end = block == graph_.block_of[access] ? access + 1 : graph_.blocks[block].end;
  if (position >= end) return std::nullopt;
  const Body& body = *function_.body;
  for (const auto& [key, coefficient] : sum.terms) {
    if (key.kind == LaneTerm::Kind::thread_index) continue;
    const Value& value = ssa_.values()[key.id];
    const std::uint32_t maker = value.kind == ValueKind::write ? value.instruction : access;
    const auto declared_at = [&](std::uint32_t at) {
      return body.find_register(usage_.registers()[value.reg].name,
                                body.statements[body.instructions[at].statement].scope);
    };
    if (declared_at(position) != declared_at(maker)) return std::nullopt;
  }
  return position;
}

std::string to_string(const LanePattern& pattern, const RegisterUsage& usage) {
  std::string text;
  for (const LaneTerm& term : pattern.terms) {
    const bool is_negative = term.coefficient < 0;
    const std::uint64_t size = is_negative ? -static_cast<std::uint64_t>(term.coefficient)
                                           : static_cast<std::uint64_t>(term.coefficient);
    text += text.empty() ? (is_negative ? "-" : "") : (is_negative ? " - " : " + ");
    if (size != 1) text += std::to_string(size) + "*";
    if (term.kind == LaneTerm::Kind::thread_index) {
      text += std::string("tid.") + static_cast<char>('x' + term.id);
      continue;
    }
    const std::string name(usage.registers()[term.id].name);
    text += term.kind == LaneTerm::Kind::value           ? name
            : term.kind == LaneTerm::Kind::sign_extended ? "s(" + name + ")"
                                                         : "z(" + name + ")";
  }
  return text.empty() ? "0" : text;
}

}  // namespace lynxpp::ptx
