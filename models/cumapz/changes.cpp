#include "models/cumapz/changes.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

namespace lynxpp::models::cumapz {
namespace {

using Visit = std::function<void(const Statement&)>;

void for_each_statement(const std::vector<Statement>& statements, const Visit& visit) {
  for (const Statement& statement : statements) {
    visit(statement);
    for_each_statement(statement.statements, visit);
  }
}

std::set<std::uint32_t> variables_of(const Expression& expression) {
  std::set<std::uint32_t> slots;
  for (const Expression::Node& node : expression.nodes) {
    if (node.operation == Operation::variable) slots.insert(node.slot);
  }
  return slots;
}

bool is_constant(const Description& description, std::uint32_t slot) {
  return std::ranges::any_of(description.constants, [&](const Constant& each) { return each.slot == slot; });
}

/// Finds alternative references for each fetch.
class Fetches {
 public:
  explicit Fetches(const Description& description) : description_(description) {
    for_each_statement(description.statements, [&](const Statement& statement) {
      using Kind = Statement::Kind;
      if (statement.kind == Kind::let || statement.kind == Kind::loop) ++assignments_[statement.slot];
      if (statement.kind == Kind::read) reads_.push_back(&statement.elements[0]);
      const bool is_access =
          statement.kind == Kind::read || statement.kind == Kind::write || statement.kind == Kind::store;
      if (is_access && statement.elements[0].is_shared) used_by_name_.insert(statement.elements[0].array);
      if (statement.kind == Kind::fetch) ++fetches_of_[statement.elements[0].array];
    });
  }

  std::vector<Change> changes() {
    visit(description_.statements);
    return std::move(result_);
  }

 private:
  void visit(const std::vector<Statement>& statements) {
    for (const Statement& statement : statements) {
      using Kind = Statement::Kind;
      const bool is_assignment = statement.kind == Kind::let || statement.kind == Kind::loop;
      if (is_assignment) known_.insert(statement.slot);
      if (statement.kind == Kind::fetch) add(statement);
      visit(statement.statements);
      if (statement.kind == Kind::loop) known_.erase(statement.slot);
    }
  }

  /// The fetched element may change only if no statement accesses the shared array by name.
  void add(const Statement& fetch) {
    const Element& shared = fetch.elements[0];
    const Element& global = fetch.elements[1];
    if (used_by_name_.contains(shared.array)) return;
    const std::string& name = description_.shared[shared.array].name;
    Change change{Change::Kind::fetch, "fetch(" + name + ")", {global.text}, fetch.reference, {global}, {}};
    if (fetches_of_[shared.array] > 1)
      change.name = "fetch(" + name + ", line " + std::to_string(fetch.position.line) + ")";
    for (const Element* read : reads_) {
      const bool is_same_array = !read->is_shared && read->array == global.array;
      if (!is_same_array || std::ranges::find(change.values, read->text) != change.values.end()) continue;
      if (!is_known(read->index)) continue;
      change.values.push_back(read->text);
      change.elements.push_back(*read);
    }
    change.values.emplace_back("nothing");
    change.elements.emplace_back();
    result_.push_back(std::move(change));
  }

  /// True if its variables have their only value at the fetch.
  bool is_known(const Expression& index) {
    return std::ranges::all_of(variables_of(index), [&](std::uint32_t slot) {
      if (slot < builtins || is_constant(description_, slot)) return true;
      return assignments_[slot] == 1 && known_.contains(slot);
    });
  }

  const Description& description_;
  std::map<std::uint32_t, int> assignments_;
  std::vector<const Element*> reads_;
  std::set<std::uint32_t> used_by_name_;  ///< shared arrays
  std::map<std::uint32_t, int> fetches_of_;
  std::set<std::uint32_t> known_;
  std::vector<Change> result_;
};

/// The constants that determine a block's size, directly or through others.
std::set<std::uint32_t> constants_of_block(const Description& description) {
  std::set<std::uint32_t> slots;
  for (const Expression& extent : description.block) slots.merge(variables_of(extent));
  // A constant refers only to earlier ones.
  for (auto each = description.constants.rbegin(); each != description.constants.rend(); ++each) {
    if (!slots.contains(each->slot)) continue;
    for (const Expression& value : each->values) slots.merge(variables_of(value));
  }
  return slots;
}

void add_constants(const Description& description, const std::map<std::string, std::int64_t>& given,
                   std::vector<Change>& changes) {
  const std::set<std::uint32_t> of_block = constants_of_block(description);
  for (std::uint32_t i = 0; i < description.constants.size(); ++i) {
    const Constant& constant = description.constants[i];
    const bool is_number = !constant.is_choice && variables_of(constant.values.front()).empty();
    if (!is_number || !of_block.contains(constant.slot) || given.contains(constant.name)) continue;
    const auto value = evaluate(constant.values.front(), Frame(), Mask(1, 1));
    if (!value || value->front() < 2 || value->front() > 1024) continue;
    Change change{Change::Kind::constant, constant.name, {}, i, {}, {}};
    change.numbers = {value->front(), value->front() / 2, value->front() * 2};
    for (const std::int64_t number : change.numbers) change.values.push_back(std::to_string(number));
    changes.push_back(std::move(change));
  }
}

/// Collects the constants that an index is multiplied by.
class Factors {
 public:
  Factors(const Description& description, const Variant& variant)
      : description_(description), frame_(description.slots, Column(1, 0)) {
    for (std::size_t i = 0; i < description.constants.size(); ++i)
      frame_[description.constants[i].slot][0] = variant.constants[i];
    for (unsigned d = 0; d < 3; ++d) {
      frame_[block_size + d][0] = variant.block[d];
      frame_[grid_size + d][0] = variant.grid[d];
    }
    for_each_statement(description.statements, [&](const Statement& statement) {
      if (statement.kind != Statement::Kind::let) return;
      const bool is_new = lets_.try_emplace(statement.slot, &statement.first).second;
      if (!is_new) lets_[statement.slot] = nullptr;
    });
  }

  std::set<std::int64_t> of(const Expression& expression) {
    factors_.clear();
    collect(expression, expression.nodes.size() - 1, 0);
    return factors_;
  }

 private:
  void collect(const Expression& expression, std::size_t position, unsigned depth) {
    constexpr unsigned deepest = 16;  // nesting of variables defined by others
    const Expression::Node& node = expression.nodes[position];
    if (node.operation == Operation::number) return;
    if (node.operation == Operation::variable) {
      const auto let = lets_.find(node.slot);
      if (let == lets_.end() || let->second == nullptr || depth == deepest) return;
      return collect(*let->second, let->second->nodes.size() - 1, depth + 1);
    }
    if (node.operation == Operation::multiply) {
      const auto left = value_of(expression, node.operands[0]),
                 right = value_of(expression, node.operands[1]);
      if (left.has_value() != right.has_value()) factors_.insert(left ? *left : *right);
    }
    for (unsigned i = 0; i < operands_of(node.operation); ++i) collect(expression, node.operands[i], depth);
  }

  static unsigned operands_of(Operation operation) {
    using enum Operation;
    if (operation == number || operation == variable) return 0;
    if (operation == negate || operation == logical_not || operation == complement) return 1;
    return operation == conditional ? 3 : 2;
  }

  bool is_known(const Expression& expression, std::size_t position) const {
    const Expression::Node& node = expression.nodes[position];
    if (node.operation == Operation::variable)
      return (node.slot >= block_size && node.slot < builtins) || is_constant(description_, node.slot);
    for (unsigned i = 0; i < operands_of(node.operation); ++i) {
      if (!is_known(expression, node.operands[i])) return false;
    }
    return true;
  }

  std::optional<std::int64_t> value_of(const Expression& expression, std::size_t position) const {
    if (!is_known(expression, position)) return std::nullopt;
    Expression part;
    part.nodes.assign(expression.nodes.begin(),
                      expression.nodes.begin() + static_cast<std::ptrdiff_t>(position) + 1);
    const auto value = evaluate(part, frame_, Mask(1, 1));
    return value ? std::optional(value->front()) : std::nullopt;
  }

  const Description& description_;
  Frame frame_;
  std::map<std::uint32_t, const Expression*> lets_;  ///< null: assigned more than once
  std::set<std::int64_t> factors_;
};

}  // namespace

std::vector<Change> changes_of(const Description& description,
                               const std::map<std::string, std::int64_t>& given) {
  std::vector<Change> changes = Fetches(description).changes();
  for (std::uint32_t i = 0; i < description.shared.size(); ++i) {
    const std::string& name = description.shared[i].name;
    changes.push_back({Change::Kind::padding, "pad(" + name + ")", {"0", "1"}, i, {}, {}});
    changes.push_back({Change::Kind::layout, "layout(" + name + ")", {"rows", "columns"}, i, {}, {}});
  }
  changes.push_back({Change::Kind::threads, "threads", {"as written", "swapped"}, 0, {}, {}});
  if (description.order[0].empty())
    changes.push_back({Change::Kind::blocks, "blocks", {"as launched", "diagonal"}, 0, {}, {}});
  add_constants(description, given, changes);
  return changes;
}

std::int64_t row_of(const Description& description, const Variant& variant, std::uint32_t shared) {
  const std::int64_t elements = variant.shared_elements[shared];
  std::int64_t row = 0;
  Factors factors(description, variant);
  for_each_statement(description.statements, [&](const Statement& statement) {
    for (const Element& element : statement.elements) {
      if (!element.is_shared || element.array != shared) continue;
      for (const std::int64_t factor : factors.of(element.index)) {
        if (factor > row && factor > 1 && factor < elements && elements % factor == 0) row = factor;
      }
    }
  });
  return row;
}

}  // namespace lynxpp::models::cumapz
