// Finds induction variables and trip counts.
#include <algorithm>
#include <limits>

#include "ptx/analysis/values/affine.h"

namespace lynxpp::ptx {
namespace {

/// A comparison of `start + k × step` with `bound` that keeps a loop running.
struct Condition {
  Comparison comparison = Comparison::equal;
  Wide start = 0;
  Wide step = 0;
  Wide bound = 0;
};

Comparison swap_sides(Comparison comparison) {
  using enum Comparison;
  switch (comparison) {
    case less: return greater;
    case less_or_equal: return greater_or_equal;
    case greater: return less;
    case greater_or_equal: return less_or_equal;
    default: return comparison;
  }
}

/// Returns the first k for which the condition does not hold; nullopt if it always holds or this is unknown.
std::optional<Wide> first_failure(Condition condition) {
  if (condition.comparison == Comparison::equal) {
    if (condition.start != condition.bound) return 0;
    return condition.step == 0 ? std::nullopt : std::optional<Wide>(1);
  }
  if (condition.comparison == Comparison::unequal) {
    const Wide distance = condition.bound - condition.start;
    if (distance == 0) return 0;
    if (condition.step == 0 || distance % condition.step != 0 || distance / condition.step < 0)
      return std::nullopt;
    return distance / condition.step;
  }
  if (condition.comparison == Comparison::greater || condition.comparison == Comparison::greater_or_equal) {
    condition = {swap_sides(condition.comparison), -condition.start, -condition.step, -condition.bound};
  }
  if (condition.comparison == Comparison::less_or_equal) ++condition.bound;
  if (condition.start >= condition.bound) return 0;
  if (condition.step <= 0) return std::nullopt;
  return (condition.bound - condition.start + condition.step - 1) / condition.step;
}

/// Reads a constant of a form as an integer of the comparison's type.
Wide number_of(std::int64_t constant, DataType type) {
  if (type == DataType::u32) return static_cast<std::uint32_t>(constant);
  if (type == DataType::u64) return static_cast<std::uint64_t>(constant);
  return constant;
}

Interval range_of(DataType type) {
  switch (type) {
    case DataType::u32: return {0, std::numeric_limits<std::uint32_t>::max()};
    case DataType::s32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case DataType::u64: return {0, std::numeric_limits<std::uint64_t>::max()};
    default: return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

}  // namespace

void AffineAnalysis::find_induction_variables() {
  induction_.clear();
  for (std::uint32_t loop = 0; loop < loops_.loops().size(); ++loop) {
    for (const ValueId phi : ssa_.phis(loops_.loops()[loop].header)) {
      if (auto variable = induction_of(loop, phi)) induction_.push_back(std::move(*variable));
    }
  }
}

std::optional<InductionVariable> AffineAnalysis::induction_of(std::uint32_t loop, ValueId phi) {
  const std::uint8_t bits = bits_of(phi);
  if (bits == 0) return std::nullopt;
  const auto& predecessors = graph_.blocks[ssa_.values()[phi].block].predecessors;
  const auto inputs = ssa_.phi_inputs(phi);
  const AffineForm negative_self = scale(symbol_form(value_symbol(phi), bits), -1);
  std::optional<AffineForm> initial, step;
  for (std::size_t index = 0; index < inputs.size(); ++index) {
    const ValueId input = inputs[index];
    const bool comes_back = index < predecessors.size() && loops_.contains(loop, predecessors[index]);
    if (input == no_value && index < predecessors.size() && !dominators_.is_reachable(predecessors[index]))
      continue;
    if (input == no_value || !forms_[input]) return std::nullopt;
    std::optional<AffineForm> form = comes_back ? add(*forms_[input], negative_self) : forms_[input];
    std::optional<AffineForm>& known = comes_back ? step : initial;
    if (!form || (known && *known != *form)) return std::nullopt;
    known = std::move(form);
  }
  if (!initial || !step || !is_invariant(*step, loop)) return std::nullopt;
  return InductionVariable{loop, phi, ssa_.values()[phi].reg, std::move(*initial), std::move(*step)};
}

/// True if the form has the same value in all iterations of the loop.
bool AffineAnalysis::is_invariant(const AffineForm& form, std::uint32_t loop) const {
  return std::ranges::all_of(form.terms, [&](const Term& term) {
    return std::all_of(term.product.symbols.begin(), term.product.symbols.begin() + term.product.degree,
                       [&](SymbolId id) {
                         const Symbol& symbol = symbols_[id];
                         if (symbol.kind != SymbolKind::value) return true;
                         const Value& value = ssa_.values()[symbol.index];
                         return value.kind == ValueKind::entry || !loops_.contains(loop, value.block);
                       });
  });
}

void AffineAnalysis::find_trip_counts() {
  for (std::uint32_t loop = 0; loop < trip_counts_.size(); ++loop) trip_counts_[loop] = count_trips(loop);
  for (const InductionVariable& variable : induction_) {
    const std::optional<std::uint64_t> trips = trip_counts_[variable.loop];
    if (!trips || *trips > (std::uint64_t{1} << 32)) continue;
    if (!variable.initial.is_constant() || !variable.step.is_constant()) continue;
    const Wide first = variable.initial.constant;
    const Wide last = first + Wide{variable.step.constant} * static_cast<Wide>(*trips - 1);
    constexpr Wide limit = Wide{1} << 62;
    if (last > limit || last < -limit) continue;
    Symbol& symbol = symbols_[value_symbol(variable.phi)];
    symbol.minimum = static_cast<std::int64_t>(std::min(first, last));
    symbol.maximum = static_cast<std::int64_t>(std::max(first, last));
    symbol.is_bounded = true;
  }
}

/// The test of the loop's only exit, if every iteration executes it exactly once and it is in no inner loop.
std::optional<AffineAnalysis::ExitTest> AffineAnalysis::exit_test_of(std::uint32_t index) const {
  const Loop& loop = loops_.loops()[index];
  if (loop.exiting.size() != 1) return std::nullopt;
  const std::uint32_t block = loop.exiting[0];
  const BasicBlock& node = graph_.blocks[block];
  const bool always_tested = std::ranges::all_of(
      loop.latches, [&](std::uint32_t latch) { return dominators_.dominates(block, latch); });
  if (!always_tested || loops_.loop_of(block) != index || loops_.is_irreducible(block) || node.size() == 0 ||
      node.leaves_function || node.targets.size() != 1 || node.fall_through == no_block)
    return std::nullopt;
  const Instruction& branch = function_.body->instructions[node.end - 1];
  const bool stays_when_taken = loops_.contains(index, node.targets[0]);
  if (!branch.guarded() || stays_when_taken == loops_.contains(index, node.fall_through)) return std::nullopt;
  const RegisterId guard = usage_.find(branch.guard.predicate, node.end - 1);
  const ValueId tested = guard == no_register ? no_value : ssa_.read_of(node.end - 1, guard);
  if (tested == no_value || ssa_.values()[tested].kind != ValueKind::write ||
      ssa_.values()[tested].previous != no_value)
    return std::nullopt;
  if (loops_.loop_of(ssa_.values()[tested].block) != index) return std::nullopt;
  return ExitTest{ssa_.values()[tested].instruction, stays_when_taken != branch.guard.negated};
}

std::optional<std::uint64_t> AffineAnalysis::count_trips(std::uint32_t index) {
  const std::optional<ExitTest> exit = exit_test_of(index);
  if (!exit) return std::nullopt;
  const std::uint32_t at = exit->instruction;
  const Instruction& test = function_.body->instructions[at];
  const DataType type = test.traits.type;
  const bool is_number =
      type == DataType::u32 || type == DataType::s32 || type == DataType::u64 || type == DataType::s64;
  if (test.op() != Op::setp || !test.traits.comparison || test.operands.size() != 3 || !is_number ||
      test.operands[0].kind != OperandKind::identifier)
    return std::nullopt;
  Condition condition;
  condition.comparison = *test.traits.comparison;
  const auto bits = static_cast<std::uint8_t>(size_of(type) * 8);
  std::optional<AffineForm> variable = operand_form(at, 1, bits);
  std::optional<AffineForm> bound = operand_form(at, 2, bits);
  if (!variable || !bound) return std::nullopt;
  if (variable->is_constant()) {
    std::swap(variable, bound);
    condition.comparison = swap_sides(condition.comparison);
  }
  if (!exit->stays_when_true) condition.comparison = opposite_of(condition.comparison);
  if (!bound->is_constant() || !variable->exact || variable->terms.size() != 1) return std::nullopt;

  // induction_ is in the order of the loops.
  const auto first = std::ranges::lower_bound(induction_, index, {}, &InductionVariable::loop);
  for (auto each = first; each != induction_.end() && each->loop == index; ++each) {
    const InductionVariable& candidate = *each;
    const std::int64_t factor = variable->coefficient_of(value_symbol(candidate.phi));
    if (factor == 0 || !candidate.initial.is_constant() || !candidate.step.is_constant() ||
        candidate.initial.bits != bits)
      continue;
    const AffineForm start = *substitute(*variable, value_symbol(candidate.phi), candidate.initial);
    condition.start = number_of(start.constant, type);
    condition.step = scale(candidate.step, factor).constant;
    condition.bound = number_of(bound->constant, type);
    const std::optional<Wide> failure = first_failure(condition);
    const Interval range = range_of(type);
    if (!failure || *failure >= std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    // Nothing may wrap around before; the sequence is monotonic, so checking the last value is enough.
    const Wide last = condition.start + *failure * condition.step;
    if (last < range.minimum || last > range.maximum) return std::nullopt;
    return static_cast<std::uint64_t>(*failure) + 1;
  }
  return std::nullopt;
}

/// Replaces loop variables by initial + iteration × step everywhere.
void AffineAnalysis::close_induction_variables() {
  for (InductionVariable& variable : induction_) {
    Symbol symbol{SymbolKind::iteration, variable.loop, {}, 0, 0, false};
    if (const auto trips = trip_counts_[variable.loop]; trips && *trips <= (std::uint64_t{1} << 32)) {
      symbol.maximum = static_cast<std::int64_t>(*trips - 1);
      symbol.is_bounded = true;
    }
    // Variables of outer loops come first; those that start from one of them are expressed in its terms.
    const std::optional<AffineForm> initial = resolve(variable.initial);
    const std::optional<AffineForm> step = resolve(variable.step);
    if (!initial || !step) continue;
    const auto change = multiply(*step, symbol_form(intern(symbol), step->bits));
    const auto whole = change ? add(*initial, *change) : std::nullopt;
    variable.initial = *initial;
    variable.step = *step;
    if (whole) closed_.emplace(value_symbol(variable.phi), *whole);
  }
  for (auto* forms : {&forms_, &addresses_}) {
    for (std::optional<AffineForm>& form : *forms) {
      if (!form) continue;
      // If the result is too long, keep the form with the loop variables as values.
      if (auto resolved = resolve(*form)) form = std::move(resolved);
    }
  }
}

std::optional<AffineForm> AffineAnalysis::resolve(AffineForm form) const {
  std::vector<SymbolId> loop_variables;
  for (const Term& term : form.terms) {
    for (std::uint8_t index = 0; index < term.product.degree; ++index) {
      const SymbolId symbol = term.product.symbols[index];
      if (closed_.contains(symbol) && std::ranges::find(loop_variables, symbol) == loop_variables.end())
        loop_variables.push_back(symbol);
    }
  }
  for (const SymbolId symbol : loop_variables) {
    AffineForm replacement = closed_.at(symbol);
    if (replacement.bits > form.bits) replacement = narrow(replacement, form.bits);
    // If a loop variable was widened, either it provably fits or the form is marked as inexact.
    replacement.bits = form.bits;
    auto replaced = substitute(form, symbol, replacement);
    if (!replaced) return std::nullopt;
    form = std::move(*replaced);
  }
  return form;
}

}  // namespace lynxpp::ptx
