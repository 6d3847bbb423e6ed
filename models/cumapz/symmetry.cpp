#include "models/cumapz/symmetry.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "models/cumapz/transactions.h"

namespace lynxpp::models::cumapz {
namespace {

/// The range of a value over all threads, loops and other dimensions of the grid.
struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;

  bool operator==(const Range&) const = default;
};

constexpr Range truth{0, 1};

/// A value as a linear function of blockIdx in one dimension: `by` per block, nullopt if it is not linear;
/// plus `rest`, nullopt if it has no known bounds.
struct Slope {
  std::optional<std::int64_t> by = 0;
  std::optional<Range> rest = Range{};

  bool operator==(const Slope&) const = default;
  /// The value if it is constant over all blocks and threads.
  std::optional<std::int64_t> value() const {
    return by == 0 && rest && rest->least == rest->most ? std::optional(rest->least) : std::nullopt;
  }
};

Slope constant(std::int64_t value) { return {0, Range{value, value}}; }

using By = std::optional<std::int64_t>;
using Rest = std::optional<Range>;
__extension__ typedef __int128 Wide;

Rest range(Wide least, Wide most) {
  constexpr Wide limit = Wide{1} << 62;
  if (least < -limit || most > limit) return std::nullopt;
  return Range{static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)};
}
Rest hull(const Rest& a, const Rest& b) {
  if (!a || !b) return std::nullopt;
  return Range{std::min(a->least, b->least), std::max(a->most, b->most)};
}
Rest sum(const Rest& a, const Rest& b) {
  if (!a || !b) return std::nullopt;
  return range(Wide{a->least} + b->least, Wide{a->most} + b->most);
}
Rest negated(const Rest& a) { return a ? range(-Wide{a->most}, -Wide{a->least}) : std::nullopt; }
Rest product(const Rest& a, const Rest& b) {
  if (!a || !b) return std::nullopt;
  const auto [least, most] = std::minmax({Wide{a->least} * b->least, Wide{a->least} * b->most,
                                          Wide{a->most} * b->least, Wide{a->most} * b->most});
  return range(least, most);
}
Rest quotient(const Rest& a, std::int64_t by) {
  if (!a || by <= 0) return std::nullopt;
  return Range{a->least / by, a->most / by};
}
Rest remainder(const Rest& a, std::int64_t by) {
  if (!a || by <= 0) return std::nullopt;
  return Range{a->least < 0 ? 1 - by : 0, a->least < 0 ? by - 1 : std::min(a->most, by - 1)};
}

By scaled(By by, std::int64_t factor) {
  std::int64_t result = 0;
  if (!by || __builtin_mul_overflow(*by, factor, &result)) return std::nullopt;
  return result;
}
By sum(By a, By b) {
  std::int64_t result = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return std::nullopt;
  return result;
}
By product(const Slope& a, const Slope& b) {
  if (a.value()) return scaled(b.by, *a.value());
  if (b.value()) return scaled(a.by, *b.value());
  return a.by == 0 && b.by == 0 ? By(0) : std::nullopt;
}

Wide rounded_up(Wide numerator, Wide denominator) {
  const Wide quotient = numerator / denominator;
  return quotient + (numerator % denominator > 0 ? 1 : 0);
}

/// The blocks from `first` to before `last` for which comparing `by * block + rest` with 0 has different
/// results for different values of the rest; the result is uniform before and after them. `by` is not 0.
struct Change {
  Wide first = 0;
  Wide last = 0;
};

Change change_of(Operation operation, std::int64_t by, const Range& rest) {
  using enum Operation;
  const bool falls = by < 0;
  const Wide step = falls ? -Wide{by} : Wide{by};
  const Wide least = falls ? -Wide{rest.most} : Wide{rest.least};
  const Wide most = falls ? -Wide{rest.least} : Wide{rest.most};
  const bool is_equality = operation == equal || operation == not_equal;
  const bool is_below = (operation == less || operation == greater_equal) != falls;
  const Wide zero = rounded_up(-most, step);
  if (is_equality) return {zero, rounded_up(1 - least, step)};
  return is_below ? Change{zero, rounded_up(-least, step)}
                  : Change{rounded_up(1 - most, step), rounded_up(1 - least, step)};
}

class Dimension {
 public:
  Dimension(const Description& description, const Variant& variant, unsigned dimension)
      : description_(description),
        variant_(variant),
        extent_(variant.grid[dimension]),
        slopes_(description.slots),
        origins_(description.slots) {
    for (unsigned d = 0; d < 3; ++d) {
      slopes_[thread_index + d] = {0, Range{0, variant.block[d] - 1}};
      slopes_[block_index + d] = {0, Range{0, variant.grid[d] - 1}};
      slopes_[block_size + d] = constant(variant.block[d]);
      slopes_[grid_size + d] = constant(variant.grid[d]);
    }
    slopes_[block_index + dimension] = {1, Range{}};
    for (std::size_t i = 0; i < description.constants.size(); ++i)
      slopes_[description.constants[i].slot] = constant(variant.constants[i]);
  }

  /// Moves of references to arrays in global memory, in elements per block; 0 if all blocks differ.
  const std::map<const Element*, std::int64_t>& moves() const { return moves_; }
  bool all_differ() const { return period_ == 0; }

  std::vector<Segment> segments() {
    // Loop variables may depend on later statements: iterate to a fixed point.
    do {
      has_changed_ = false;
      period_ = 1;
      moves_.clear();
      begins_ = {0};
      visit(description_.statements, false);
    } while (has_changed_);
    if (period_ == 0) return {{0, extent_, extent_}};
    std::vector<Segment> result;
    for (auto begin = begins_.begin(); begin != begins_.end(); ++begin) {
      const std::int64_t end = std::next(begin) == begins_.end() ? extent_ : *std::next(begin);
      result.push_back({*begin, end, std::min(period_, end - *begin)});
    }
    return result;
  }

 private:
  void visit(const std::vector<Statement>& statements, bool is_nested) {
    for (const Statement& statement : statements) visit(statement, is_nested);
  }

  void visit(const Statement& statement, bool is_nested) {
    using Kind = Statement::Kind;
    switch (statement.kind) {
      case Kind::block: return visit(statement.statements, is_nested);
      case Kind::let: return assign(statement, of(statement.first), is_nested);
      case Kind::arithmetic:
        if (of(statement.first).by != 0) period_ = 0;
        return;
      case Kind::choose: require_same(statement.first); return visit(statement.statements, true);
      case Kind::loop:
        assign(statement, {of(statement.first).by, rest_of_loop(statement)}, is_nested);
        if (of(statement.step).by != 0) assign(statement, {std::nullopt, {}}, true);
        require_same(statement.condition);
        return visit(statement.statements, true);
      case Kind::fetch:
      case Kind::store:
      case Kind::read:
      case Kind::write:
        for (const Element& element : statement.elements) check(element);
    }
  }

  /// Range of an ascending `for (i = first; i < limit; i += step)`; nullopt for other loops.
  Rest rest_of_loop(const Statement& loop) {
    const Expression::Node& last = loop.condition.nodes.back();
    const bool is_less = last.operation == Operation::less;
    if (!is_less && last.operation != Operation::less_equal) return std::nullopt;
    const Expression::Node& counter = loop.condition.nodes[last.operands[0]];
    if (counter.operation != Operation::variable || counter.slot != loop.slot) return std::nullopt;
    const Slope first = of(loop.first), limit = of(loop.condition, last.operands[1]), step = of(loop.step);
    if (first.by != 0 || limit.by != 0 || step.by != 0) return std::nullopt;
    if (!first.rest || !limit.rest || !step.rest || step.rest->least < 0) return std::nullopt;
    const Wide most = Wide{limit.rest->most} - (is_less ? 1 : 0) + step.rest->most;
    return range(first.rest->least, std::max(most, Wide{first.rest->most}));
  }

  /// A variable assigned at several points, or only in some threads (the others have 0), has a slope if all
  /// assignments agree, and bounds if there is one assignment.
  void assign(const Statement& statement, Slope slope, bool is_nested) {
    constexpr unsigned most_changes = 4;  // bounds that keep growing are dropped
    if (is_nested) slope.rest = hull(slope.rest, Range{});
    Slope& known = slopes_[statement.slot];
    Origin& origin = origins_[statement.slot];
    const bool is_first = origin.statement == nullptr && !is_nested;
    if (origin.statement == nullptr) origin.statement = &statement;
    if (!is_first && known.by != slope.by) slope.by.reset();
    if (origin.statement != &statement || origin.changes > most_changes) origin.has_no_bounds = true;
    if (origin.has_no_bounds) slope.rest.reset();
    if (known == slope) return;
    known = slope;
    ++origin.changes;
    has_changed_ = true;
  }

  void require_same(const Expression& condition) {
    if (truth_of(of(condition)).by != 0) period_ = 0;
  }

  void check(const Element& element) {
    const std::optional<std::int64_t> by = of(element.index).by;
    if (!element.is_shared) moves_[&element] = by.value_or(0);
    if (!by || (element.is_shared && *by != 0)) {
      period_ = 0;
      return;
    }
    if (element.is_shared) return;
    const std::int64_t bytes = (*by % largest_transaction) * variant_.array_bytes[element.array];
    period_ = std::lcm(period_, largest_transaction / std::gcd(bytes, largest_transaction));
  }

  Slope of(const Expression& expression) { return of(expression, expression.nodes.size() - 1); }

  Slope of(const Expression& expression, std::size_t position) {
    using enum Operation;
    const Expression::Node& node = expression.nodes[position];
    if (node.operation == number) return constant(node.value);
    if (node.operation == variable) return slopes_[node.slot];
    const Slope a = of(expression, node.operands[0]);
    const bool is_unary =
        node.operation == negate || node.operation == logical_not || node.operation == complement;
    const Slope b = is_unary ? Slope{} : of(expression, node.operands[1]);
    if (const std::optional<std::int64_t> value = folded(node, a, is_unary ? a : b)) return constant(*value);
    if (node.operation == conditional) return chosen(truth_of(a), b, of(expression, node.operands[2]));
    return combined(node.operation, a, b);
  }

  Slope combined(Operation operation, const Slope& a, const Slope& b) {
    using enum Operation;
    const auto flat = [](const Slope& x, const Slope& y) {
      return x.by == 0 && y.by == 0 ? By(0) : std::nullopt;
    };
    switch (operation) {
      case negate: return {scaled(a.by, -1), negated(a.rest)};
      case add: return {sum(a.by, b.by), sum(a.rest, b.rest)};
      case subtract: return {sum(a.by, scaled(b.by, -1)), sum(a.rest, negated(b.rest))};
      case multiply: return {product(a, b), product(a.rest, b.rest)};
      case divide: return {flat(a, b), quotient(a.rest, b.value().value_or(0))};
      case remainder: return {flat(a, b), cumapz::remainder(a.rest, b.value().value_or(0))};
      case less:
      case greater:
      case less_equal:
      case greater_equal:
      case equal:
      case not_equal: return compared(operation, a, b);
      case logical_not: return {truth_of(a).by, truth};
      case logical_and:
      case logical_or: return {flat(truth_of(a), truth_of(b)), truth};
      default: return {flat(a, b), std::nullopt};
    }
  }

  /// As a condition: whether the value differs from 0.
  Slope truth_of(const Slope& slope) {
    return slope.by == 0 ? slope : compared(Operation::not_equal, slope, constant(0));
  }

  /// The result is the same in all blocks of a segment; adds the segments' borders.
  Slope compared(Operation operation, const Slope& a, const Slope& b) {
    constexpr Wide most_borders = 1 << 16;
    const Slope unknown{std::nullopt, truth};
    if (a.by && a.by == b.by) return {0, truth};
    const By by = sum(a.by, scaled(b.by, -1));
    const Rest rest = sum(a.rest, negated(b.rest));
    if (!by || !rest || !is_bounded(a) || !is_bounded(b)) return unknown;
    const Change change = change_of(operation, *by, *rest);
    const Wide first = std::clamp(change.first, Wide{0}, Wide{extent_});
    const Wide last = std::clamp(change.last, Wide{0}, Wide{extent_});
    if (last - first > most_borders) return unknown;
    for (Wide at = first; at <= last; ++at) {
      if (at < extent_) begins_.insert(static_cast<std::int64_t>(at));
    }
    return {0, truth};
  }

  /// True if it wraps around in no block.
  bool is_bounded(const Slope& slope) const {
    const Wide step = Wide{*slope.by} * extent_;
    return range(slope.rest->least + std::min(step, Wide{0}), slope.rest->most + std::max(step, Wide{0}))
        .has_value();
  }

  static std::optional<std::int64_t> folded(const Expression::Node& node, const Slope& a, const Slope& b) {
    if (!a.value() || !b.value() || node.operation == Operation::conditional) return std::nullopt;
    Expression expression;
    expression.nodes = {{Operation::number, *a.value(), 0, {}},
                        {Operation::number, *b.value(), 0, {}},
                        {node.operation, 0, 0, {0, 1, 0}}};
    const std::optional<Column> result = evaluate(expression, {}, Mask(1, 1));
    return result ? std::optional(result->front()) : std::nullopt;
  }

  static Slope chosen(const Slope& condition, const Slope& yes, const Slope& no) {
    if (condition.value()) return *condition.value() != 0 ? yes : no;
    return {condition.by == 0 && yes.by == no.by ? yes.by : std::nullopt, hull(yes.rest, no.rest)};
  }

  /// The assignment of a variable.
  struct Origin {
    const Statement* statement = nullptr;
    unsigned changes = 0;
    bool has_no_bounds = false;
  };

  const Description& description_;
  const Variant& variant_;
  std::int64_t extent_;
  std::vector<Slope> slopes_;
  std::vector<Origin> origins_;
  std::map<const Element*, std::int64_t> moves_;
  std::set<std::int64_t> begins_;  ///< beginnings of segments
  bool has_changed_ = false;
  std::int64_t period_ = 1;
};

/// Determines if two sets of elements, one of them moved, have a transaction in common.
class Meetings {
 public:
  Meetings(const MovingElements& left, const MovingElements& right)
      : left_(left), right_(right), margin_((largest_transaction + left.bytes - 1) / left.bytes) {}

  /// Returns how far the left set has moved towards the right one, `distance` blocks after the first, which
  /// decides how they meet; nullopt if they do not.
  std::optional<std::int64_t> at(const std::array<std::int64_t, 3>& distance) {
    std::int64_t ahead = 0;
    for (std::size_t d = 0; d < distance.size(); ++d) ahead += (left_.move[d] - right_.move[d]) * distance[d];
    if (left_.elements.back() + ahead + margin_ <= right_.elements.front() ||
        right_.elements.back() + margin_ <= left_.elements.front() + ahead)
      return std::nullopt;
    const auto [known, is_new] = known_.try_emplace(ahead, false);
    if (is_new) known->second = meet(ahead);
    return known->second ? std::optional(ahead) : std::nullopt;
  }

 private:
  bool meet(std::int64_t ahead) const {
    auto right = right_.elements.begin();
    for (const std::int64_t element : left_.elements) {
      while (right != right_.elements.end() && *right + margin_ <= element + ahead) ++right;
      if (right == right_.elements.end()) return false;
      if (*right - margin_ < element + ahead) return true;
    }
    return false;
  }

  const MovingElements &left_, &right_;
  std::int64_t margin_;
  std::map<std::int64_t, bool> known_;
};

}  // namespace

Symmetry symmetry_of(const Description& description, const Variant& variant) {
  Symmetry result;
  for (unsigned d = 0; d < 3; ++d) {
    Dimension dimension(description, variant, d);
    result.segments[d] = dimension.segments();
    result.all_differ[d] = dimension.all_differ();
    for (const auto& [element, by] : dimension.moves()) result.moves[element][d] = by;
  }
  std::map<std::uint32_t, std::array<std::int64_t, 3>> first;  // by array
  for (const auto& [element, move] : result.moves)
    result.moves_differ |= first.try_emplace(element->array, move).first->second != move;
  return result;
}

std::vector<BlockKind> kinds_of(const std::array<Segment, 3>& blocks,
                                const std::vector<MovingElements>& accessed) {
  std::vector<Meetings> meetings;
  for (std::size_t i = 0; i < accessed.size(); ++i) {
    for (std::size_t k = i + 1; k < accessed.size(); ++k) {
      if (accessed[i].array == accessed[k].array) meetings.emplace_back(accessed[i], accessed[k]);
    }
  }
  std::map<std::vector<std::int64_t>, BlockKind> kinds;
  std::vector<std::int64_t> key;
  std::array<std::int64_t, 3> at{};
  const auto add = [&] {
    const std::array<std::int64_t, 3> distance{at[0] - blocks[0].begin, at[1] - blocks[1].begin,
                                               at[2] - blocks[2].begin};
    key.clear();
    for (const MovingElements& each : accessed) {
      std::int64_t moved = 0;
      for (std::size_t d = 0; d < at.size(); ++d)
        moved += each.move[d] % largest_transaction * (distance[d] % largest_transaction) * each.bytes;
      key.push_back((moved % largest_transaction + largest_transaction) % largest_transaction);
    }
    for (Meetings& each : meetings) {
      const std::optional<std::int64_t> ahead = each.at(distance);
      key.push_back(ahead ? 1 : 0);
      key.push_back(ahead.value_or(0));
    }
    ++kinds.try_emplace(key, BlockKind{at, 0}).first->second.blocks;
  };
  for (at[2] = blocks[2].begin; at[2] < blocks[2].end; ++at[2]) {
    for (at[1] = blocks[1].begin; at[1] < blocks[1].end; ++at[1]) {
      for (at[0] = blocks[0].begin; at[0] < blocks[0].end; ++at[0]) add();
    }
  }
  std::vector<BlockKind> result;
  for (const auto& [each, kind] : kinds) result.push_back(kind);
  return result;
}

}  // namespace lynxpp::models::cumapz
