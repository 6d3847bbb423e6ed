#include "models/cumapz/symmetry.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "models/cumapz/transactions.h"

namespace lynxpp::models::cumapz {
namespace {

/// How a value follows blockIdx in one dimension: `by` for each block, and nothing when it is not linear.
struct Slope {
  std::optional<std::int64_t> by = 0;
  std::optional<std::int64_t> value = {};  ///< of what is the same in all blocks and threads

  bool operator==(const Slope&) const = default;
};

class Dimension {
 public:
  Dimension(const Description& description, const Variant& variant, unsigned dimension)
      : description_(description), variant_(variant), slopes_(description.slots) {
    slopes_[block_index + dimension] = Slope{1, {}};
    for (std::size_t i = 0; i < description.constants.size(); ++i)
      slopes_[description.constants[i].slot] = Slope{0, variant.constants[i]};
    for (unsigned d = 0; d < 3; ++d) {
      slopes_[block_size + d] = Slope{0, variant.block[d]};
      slopes_[grid_size + d] = Slope{0, variant.grid[d]};
    }
  }

  /// 0: there is none.
  std::int64_t period() {
    // Variables of loops may follow from what stands behind them: until nothing changes.
    do {
      has_changed_ = false;
      period_ = 1;
      moves_.clear();
      visit(description_.statements, false);
    } while (has_changed_);
    return period_;
  }

 private:
  void visit(const std::vector<Statement>& statements, bool is_nested) {
    for (const Statement& statement : statements) visit(statement, is_nested);
  }

  void visit(const Statement& statement, bool is_nested) {
    using Kind = Statement::Kind;
    switch (statement.kind) {
      case Kind::block: return visit(statement.statements, is_nested);
      case Kind::let: return assign(statement.slot, of(statement.first), is_nested);
      case Kind::choose: require_same(statement.first); return visit(statement.statements, true);
      case Kind::loop:
        assign(statement.slot, {of(statement.first).by, {}}, is_nested);
        if (of(statement.step).by != 0) assign(statement.slot, {std::nullopt, {}}, true);
        require_same(statement.condition);
        return visit(statement.statements, true);
      case Kind::fetch:
      case Kind::store:
      case Kind::read:
      case Kind::write:
        for (const Element& element : statement.elements) check(element);
    }
  }

  /// A variable that is set in several places, or in some threads only (the others have 0), has a slope when
  /// all agree.
  void assign(std::uint32_t slot, Slope slope, bool is_nested) {
    if (is_nested) slope.value.reset();
    Slope& known = slopes_[slot];
    const bool is_first = assigned_.insert(slot).second && !is_nested;
    if (!is_first && known.by != slope.by) slope.by.reset();
    if (!is_first && known.value != slope.value) slope.value.reset();
    if (known == slope) return;
    known = slope;
    has_changed_ = true;
  }

  void require_same(const Expression& condition) {
    if (of(condition).by != 0) period_ = 0;
  }

  void check(const Element& element) {
    const std::optional<std::int64_t> by = of(element.index).by;
    if (!by || (element.is_shared && *by != 0)) {
      period_ = 0;
      return;
    }
    if (element.is_shared) return;
    const std::int64_t bytes = (*by % largest_transaction) * variant_.array_bytes[element.array];
    const auto [move, is_new] = moves_.try_emplace(element.array, *by);
    period_ = move->second == *by
                  ? std::lcm(period_, largest_transaction / std::gcd(bytes, largest_transaction))
                  : 0;
  }

  Slope of(const Expression& expression) const { return of(expression, expression.nodes.size() - 1); }

  Slope of(const Expression& expression, std::size_t position) const {
    using enum Operation;
    const Expression::Node& node = expression.nodes[position];
    if (node.operation == number) return {0, node.value};
    if (node.operation == variable) return slopes_[node.slot];
    const Slope a = of(expression, node.operands[0]);
    const bool is_unary =
        node.operation == negate || node.operation == logical_not || node.operation == complement;
    const Slope b = is_unary ? Slope{} : of(expression, node.operands[1]);
    if (const std::optional<std::int64_t> value = folded(node, a, is_unary ? a : b)) return {0, value};
    Slope result;
    switch (node.operation) {
      case negate: result.by = scaled(a.by, -1); break;
      case add: result.by = sum(a.by, b.by); break;
      case subtract: result.by = sum(a.by, scaled(b.by, -1)); break;
      case multiply: result.by = product(a, b); break;
      case less:
      case greater:
      case less_equal:
      case greater_equal:
      case equal:
      case not_equal: result.by = a.by && a.by == b.by ? std::optional<std::int64_t>(0) : std::nullopt; break;
      case conditional: return chosen(a, b, of(expression, node.operands[2]));
      default: result.by = a.by == 0 && b.by == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
    }
    return result;
  }

  using By = std::optional<std::int64_t>;

  static std::optional<std::int64_t> folded(const Expression::Node& node, const Slope& a, const Slope& b) {
    if (!a.value || !b.value || node.operation == Operation::conditional) return std::nullopt;
    Expression expression;
    expression.nodes = {{Operation::number, *a.value, 0, {}},
                        {Operation::number, *b.value, 0, {}},
                        {node.operation, 0, 0, {0, 1, 0}}};
    const std::optional<Column> result = evaluate(expression, {}, Mask(1, 1));
    return result ? std::optional(result->front()) : std::nullopt;
  }

  static By scaled(By by, std::int64_t factor) {
    std::int64_t result = 0;
    if (!by || __builtin_mul_overflow(*by, factor, &result)) return std::nullopt;
    return result;
  }
  static By sum(By a, By b) {
    std::int64_t result = 0;
    if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return std::nullopt;
    return result;
  }
  static By product(const Slope& a, const Slope& b) {
    if (a.value) return scaled(b.by, *a.value);
    if (b.value) return scaled(a.by, *b.value);
    return a.by == 0 && b.by == 0 ? By(0) : std::nullopt;
  }
  static Slope chosen(const Slope& condition, const Slope& yes, const Slope& no) {
    if (condition.value) return *condition.value != 0 ? yes : no;
    return {condition.by == 0 && yes.by == no.by ? yes.by : std::nullopt, {}};
  }

  const Description& description_;
  const Variant& variant_;
  std::vector<Slope> slopes_;
  std::set<std::uint32_t> assigned_;
  std::map<std::uint32_t, std::int64_t> moves_;  ///< of arrays, in elements for each block
  bool has_changed_ = false;
  std::int64_t period_ = 1;
};

}  // namespace

std::array<std::int64_t, 3> periods_of(const Description& description, const Variant& variant) {
  std::array<std::int64_t, 3> result = variant.grid;
  for (unsigned d = 0; d < 3; ++d) {
    const std::int64_t period = Dimension(description, variant, d).period();
    if (period != 0) result[d] = std::min(period, variant.grid[d]);
  }
  return result;
}

}  // namespace lynxpp::models::cumapz
