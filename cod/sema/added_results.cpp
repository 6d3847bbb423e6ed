#include "cod/sema/added_results.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cod/sema/constant.h"

namespace lynxpp::cod {
namespace {

bool is_wide_integer(Type type) { return type == Type::u64 || type == Type::i64; }

bool is_global_array(const Symbol* symbol) {
  return symbol != nullptr && symbol->kind == Symbol::Kind::array && symbol->memory == Symbol::Memory::global;
}

bool is_step(const Expression& expression) {
  return (expression.kind == ExpressionKind::unary || expression.kind == ExpressionKind::postfix) &&
         (expression.op == Operator::increment || expression.op == Operator::decrement);
}

/// True if the expression only adds to an element, provided that its value is unused.
bool is_addition(const Expression& expression) {
  if (is_step(expression)) return true;
  if (expression.kind == ExpressionKind::assign)
    return expression.op == Operator::add || expression.op == Operator::subtract;
  return is_call_of(expression, Api::atomic_add) || is_call_of(expression, Api::atomic_increment);
}

/// True if the expression depends on memory other than by adding to an element of a `global` array.
bool accesses_memory(const Expression& expression) {
  using enum Api;
  const Symbol* const symbol = expression.symbol;
  const bool is_indirect = symbol != nullptr && symbol->memory == Symbol::Memory::indirect;
  const bool depends_on_memory =
      expression.api != nullptr &&
      is_one_of(expression.api->api, {count_words, device_word, allocation_id, append, is_kept, record});
  return is_global_array(symbol) || is_indirect || depends_on_memory || expression.type == Type::pointer;
}

/// Returns the `global` arrays that device code only adds to; nullopt if it accesses some array in another
/// way.
std::optional<std::set<const Symbol*>> find_added_arrays(const Program& program) {
  bool only_adds = true;
  std::set<const Symbol*> added;
  std::set<const Expression*> targets;  // of additions
  const auto visit = [&](const Expression& each) {
    const bool adds = each.discarded && is_addition(each) &&
                      each.operands[0]->kind == ExpressionKind::index &&
                      is_global_array(each.operands[0]->symbol);
    if (adds) {
      targets.insert(each.operands[0].get());
      added.insert(each.operands[0]->symbol);
    } else if (!targets.contains(&each)) {
      only_adds &= !accesses_memory(each);
    }
    return true;
  };
  for_each_device_statement(program,
                            [&](const Statement& statement) { walk(statement, all_statements, visit); });
  return only_adds ? std::optional(std::move(added)) : std::nullopt;
}

/// How a value of ON_REPORT depends on the launches whose arrays were added.
enum class Degree : std::uint8_t {
  zero,      ///< 0
  fixed,     ///< the same for all launches of a variant with one grid
  additive,  ///< the sum of the launches' values, modulo 2^64
  other,
};

Degree joined(Degree a, Degree b) {
  if (a == b || b == Degree::zero) return a;
  return a == Degree::zero ? b : Degree::other;
}

bool is_fixed(Degree degree) { return degree <= Degree::fixed; }
bool is_sum(Degree degree) { return degree == Degree::zero || degree == Degree::additive; }

bool are_equal(const Expression& a, const Expression& b) {
  return a.kind == b.kind && a.op == b.op && a.symbol == b.symbol && a.api == b.api && a.value == b.value &&
         a.real == b.real && a.extent == b.extent && a.text == b.text && a.type == b.type &&
         std::ranges::equal(a.operands, b.operands,
                            [](const auto& left, const auto& right) { return are_equal(*left, *right); });
}

/// True if emit("name", emitted) emits the value of `tested`.
bool is_value_of(const Expression& emitted, const Expression& tested) {
  const bool is_whole = emitted.kind == ExpressionKind::name && is_global_array(emitted.symbol);
  if (!is_whole) return are_equal(emitted, tested);
  return emitted.symbol->dimensions.empty() && tested.kind == ExpressionKind::index &&
         tested.symbol == emitted.symbol;
}

/// Returns `x` of `x != 0` and, if it is unsigned, of `x > 0`; else null.
const Expression* tested_for_zero(const Expression& condition) {
  if (condition.kind != ExpressionKind::binary) return nullptr;
  const Expression& tested = *condition.operands[0];
  const bool is_test =
      condition.op == Operator::not_equal || (condition.op == Operator::greater && tested.type == Type::u64);
  const std::optional<Constant> bound = evaluate(*condition.operands[1]);
  return is_test && bound && is_integer(bound->type) && bound->integer == 0 ? &tested : nullptr;
}

/// Returns the call if the statement is only emit("name", x); else null.
const Expression* emitted_alone(const Statement& statement) {
  if (statement.kind == StatementKind::block)
    return statement.children.size() == 1 ? emitted_alone(*statement.children[0]) : nullptr;
  const bool is_emit =
      statement.kind == StatementKind::expression && is_call_of(*statement.expression, Api::emit);
  return is_emit ? statement.expression.get() : nullptr;
}

bool is_loop(const Statement& statement) {
  return statement.kind == StatementKind::while_loop || statement.kind == StatementKind::do_loop ||
         statement.kind == StatementKind::for_loop;
}

/// True if the statement changes the array's elements, if at all, to 0.
bool changes_only_to_zero(const Statement& statement, const Symbol* array) {
  bool is_right = true;
  walk(statement, all_statements, [&](const Expression& each) {
    const bool is_change = each.kind == ExpressionKind::assign || is_step(each);
    if (!is_change || each.operands[0]->symbol != array) return true;
    const std::optional<Constant> value = is_step(each) ? std::nullopt : evaluate(*each.operands[1]);
    is_right &= value && each.op == Operator::none && is_integer(value->type) && value->integer == 0;
    return true;
  });
  return is_right;
}

/// Determines the degree of every variable of ON_REPORT, whatever the order of its statements, and then
/// checks results, branches and indices.
class ReportDegrees {
 public:
  ReportDegrees(const Program& program, const std::set<const Symbol*>& added) : program_(program) {
    for (const Symbol* each : added) degrees_[each] = Degree::additive;
  }

  std::optional<std::vector<AddedResult>> results() {
    std::map<const Symbol*, Degree> before;
    do {
      before = degrees_;
      visit_reports();
    } while (before != degrees_);
    is_valid_ = true;
    results_.clear();
    visit_reports();
    return is_valid_ ? std::optional(std::move(results_)) : std::nullopt;
  }

 private:
  void visit_reports() {
    names_.clear();
    has_opcodes_ = false;
    for (const HandlerBody& report : program_.reports) {
      for (const Statement* statement : report.statements) visit(*statement);
    }
  }

  void require(bool condition) { is_valid_ &= condition; }

  void visit(const Statement& statement) {
    if (statement.kind == StatementKind::if_else && statement.children.size() == 1) {
      const Expression* const tested = tested_for_zero(*statement.condition);
      const Expression* const emitted = emitted_alone(*statement.children[0]);
      if (tested != nullptr && emitted != nullptr && is_value_of(*emitted->operands[1], *tested)) {
        require(has_same_name_always(*emitted));
        return visit(*statement.children[0]);
      }
    }
    const bool is_outermost_loop = is_loop(statement) && loop_ == nullptr;
    if (is_outermost_loop) loop_ = &statement;
    visit_parts(statement);
    if (is_outermost_loop) loop_ = nullptr;
  }

  /// True if the name of a result that is not always emitted does not depend on which others are emitted: a
  /// name that exists already gets a number. In a loop, opcode(i) qualifies for array[opcodeId(i)].
  bool has_same_name_always(const Expression& emit) const {
    if (loop_ == nullptr) return true;
    const Expression& name = *emit.operands[0];
    const Expression& value = *emit.operands[1];
    if (!is_call_of(name, Api::opcode) || value.kind != ExpressionKind::index || value.operands.size() != 1)
      return false;
    const Expression& index = *value.operands[0];
    return is_call_of(index, Api::opcode_id_of) && are_equal(*index.operands[0], *name.operands[0]) &&
           changes_only_to_zero(*loop_, value.symbol);
  }

  /// Checks the name of a result: results must not be numbered because another one has the name.
  void name_result(const Expression& name) {
    if (is_call_of(name, Api::opcode)) {
      require(!has_opcodes_ && is_fixed(degree(name)));
      has_opcodes_ = true;
    } else {
      require(name.kind == ExpressionKind::string && names_.insert(name.text).second);
    }
    const auto may_be_opcode = [](const std::string& each) { return each.find('.') != std::string::npos; };
    require(!has_opcodes_ || std::ranges::none_of(names_, may_be_opcode));
  }

  void visit_parts(const Statement& statement) {
    if (statement.condition) require(is_fixed(degree(*statement.condition)));
    if (statement.expression) degree(*statement.expression);
    for (const Declarator& declarator : statement.declarators) {
      require(!declarator.is_pointer && statement.type != Type::structure);
      if (declarator.initializer) set(declarator.symbol, degree(*declarator.initializer));
      for (const ExpressionPtr& each : declarator.assignments) degree(*each);
    }
    for (const StatementPtr& child : statement.children) visit(*child);
  }

  Degree known(const Symbol* symbol) const {
    const auto found = degrees_.find(symbol);
    return found != degrees_.end() ? found->second : Degree::zero;
  }

  Degree set(const Symbol* symbol, Degree value) {
    Degree& degree = degrees_[symbol];
    degree = joined(degree, value);
    if (degree == Degree::additive && !is_wide_integer(symbol->type)) degree = Degree::other;
    return degree;
  }

  /// Returns the degree of an expression, and applies its assignments.
  Degree degree(const Expression& expression) {
    const Degree found = degree_of_kind(expression);
    const bool is_call_without_value = expression.type == Type::nothing;
    if (found == Degree::additive && !is_wide_integer(expression.type) && !is_call_without_value)
      return Degree::other;
    return found;
  }

  Degree degree_of_kind(const Expression& expression) {
    require(expression.setup.empty());
    switch (expression.kind) {
      case ExpressionKind::integer: return expression.value == 0 ? Degree::zero : Degree::fixed;
      case ExpressionKind::floating:
      case ExpressionKind::string:
      case ExpressionKind::size: return Degree::fixed;
      case ExpressionKind::name: return of_name(expression);
      case ExpressionKind::index: return of_element(expression);
      case ExpressionKind::unary:
      case ExpressionKind::postfix: return of_unary(expression);
      case ExpressionKind::binary: return of_binary(expression);
      case ExpressionKind::assign: return of_assignment(expression);
      case ExpressionKind::conditional: {
        require(is_fixed(degree(*expression.operands[0])));
        const Degree left = degree(*expression.operands[1]);
        return joined(left, degree(*expression.operands[2]));
      }
      case ExpressionKind::cast: {
        const Degree value = degree(*expression.operands[0]);
        return value == Degree::zero ? Degree::fixed : value;
      }
      case ExpressionKind::call: return of_call(expression);
      case ExpressionKind::comma: {
        Degree last = Degree::other;
        for (const ExpressionPtr& each : expression.operands) last = degree(*each);
        return last;
      }
      case ExpressionKind::null:
      case ExpressionKind::member: break;
    }
    require(false);
    return Degree::other;
  }

  Degree of_name(const Expression& name) {
    if (name.extent != 0) {
      switch (static_cast<Extent>(name.extent - 1)) {
        case Extent::blocks:
        case Extent::warps:
        case Extent::threads: return Degree::additive;
        case Extent::constant:
        case Extent::basic_blocks:
        case Extent::instructions:
        case Extent::sms:
        case Extent::lanes: return Degree::fixed;
        default: return Degree::other;
      }
    }
    if (name.symbol == nullptr || name.type == Type::pointer) return Degree::other;
    if (name.symbol->kind == Symbol::Kind::constant) return Degree::fixed;
    return name.symbol->kind == Symbol::Kind::local ? known(name.symbol) : Degree::other;
  }

  Degree of_element(const Expression& element) {
    for (const ExpressionPtr& index : element.operands) require(is_fixed(degree(*index)));
    const Symbol* const array = element.symbol;
    if (array == nullptr || array->kind != Symbol::Kind::array || array->collection != nullptr)
      return Degree::other;
    if (array->memory == Symbol::Memory::table) return Degree::fixed;
    const bool is_known = array->memory == Symbol::Memory::global || array->memory == Symbol::Memory::local;
    return is_known ? known(array) : Degree::other;
  }

  /// True if the target's degree is tracked.
  static bool is_tracked(const Expression& target) {
    if (target.kind == ExpressionKind::index)
      return target.symbol != nullptr && (target.symbol->memory == Symbol::Memory::global ||
                                          target.symbol->memory == Symbol::Memory::local);
    return target.kind == ExpressionKind::name && target.symbol != nullptr &&
           target.symbol->kind == Symbol::Kind::local;
  }

  Degree of_unary(const Expression& expression) {
    const Degree value = degree(*expression.operands[0]);
    if (is_step(expression)) {
      require(is_tracked(*expression.operands[0]));
      return set(expression.operands[0]->symbol, Degree::fixed);
    }
    require(expression.op != Operator::address_of && expression.op != Operator::dereference);
    if (expression.op == Operator::plus || expression.op == Operator::minus) return value;
    return is_fixed(value) ? Degree::fixed : Degree::other;
  }

  static Degree combined(Operator op, Degree left, Degree right) {
    if (is_fixed(left) && is_fixed(right)) return Degree::fixed;
    if ((op == Operator::add || op == Operator::subtract) && is_sum(left) && is_sum(right))
      return Degree::additive;
    const bool is_multiple = op == Operator::multiply && (is_fixed(left) || is_fixed(right));
    return is_multiple ? joined(is_fixed(left) ? Degree::zero : left, is_fixed(right) ? Degree::zero : right)
                       : Degree::other;
  }

  Degree of_binary(const Expression& expression) {
    const Degree left = degree(*expression.operands[0]);
    return combined(expression.op, left, degree(*expression.operands[1]));
  }

  Degree of_assignment(const Expression& expression) {
    const Expression& target = *expression.operands[0];
    require(is_tracked(target));
    if (!is_tracked(target)) return Degree::other;
    const Degree before = degree(target);
    const Degree value = degree(*expression.operands[1]);
    switch (expression.op) {
      case Operator::none:
      case Operator::add:
      case Operator::subtract: return set(target.symbol, value);
      default: return set(target.symbol, combined(expression.op, before, value));
    }
  }

  Degree of_call(const Expression& call) {
    if (call.api == nullptr) {
      require(false);
      return Degree::other;
    }
    switch (call.api->api) {
      case Api::emit: emit(call); return Degree::fixed;
      case Api::emit_ratio: {
        name_result(*call.operands[0]);
        for (const std::size_t i : {1u, 2u}) require(degree(*call.operands[i]) == Degree::additive);
        return Degree::fixed;
      }
      case Api::sum: return known(call.operands[0]->symbol);
      case Api::max:
      case Api::min:
      case Api::mean: return is_fixed(known(call.operands[0]->symbol)) ? Degree::fixed : Degree::other;
      case Api::grid_dim:
      case Api::warp_count: return Degree::additive;
      case Api::launch_index:
      case Api::allocation_name: require(false); return Degree::other;
      default: break;
    }
    switch (call.api->arguments) {
      case ApiArguments::none:
      case ApiArguments::bits:
      case ApiArguments::floating:
      case ApiArguments::instruction:
      case ApiArguments::block: break;
      case ApiArguments::instruction_labels:
        return is_fixed(degree(*call.operands[0])) ? Degree::fixed : Degree::other;
      default: require(false); return Degree::other;
    }
    const bool all_fixed = std::ranges::all_of(
        call.operands, [&](const ExpressionPtr& operand) { return is_fixed(degree(*operand)); });
    return all_fixed ? Degree::fixed : Degree::other;
  }

  void emit(const Expression& call) {
    const Expression& name = *call.operands[0];
    const Expression& value = *call.operands[1];
    const bool has_unit = call.operands.size() > 2;
    name_result(name);
    require(!has_unit || call.operands[2]->kind == ExpressionKind::string);
    const bool is_array = value.kind == ExpressionKind::name && is_global_array(value.symbol);
    if (is_array) {
      require(value.symbol->collection == nullptr && is_wide_integer(value.symbol->type) &&
              is_sum(known(value.symbol)));
    } else {
      require(is_sum(degree(value)));
    }
    if (name.kind == ExpressionKind::string)
      results_.push_back({name.text, has_unit ? call.operands[2]->text : std::string(),
                          is_array && !value.symbol->dimensions.empty()});
  }

  const Program& program_;
  std::map<const Symbol*, Degree> degrees_;
  bool is_valid_ = true;
  const Statement* loop_ = nullptr;  ///< the outermost loop around the statement
  std::set<std::string> names_;
  bool has_opcodes_ = false;  ///< results are named by opcodes
  std::vector<AddedResult> results_;
};

bool has_addable_storage(const Program& program) {
  const auto is_addable = [](const GlobalArray& array) {
    const auto is_of_kernel = [](const Dimension& each) {
      return each.extent == Extent::constant || each.extent == Extent::basic_blocks ||
             each.extent == Extent::instructions;
    };
    return !array.is_hidden && array.initial.empty() && std::ranges::all_of(array.dimensions, is_of_kernel);
  };
  return program.collections.empty() && program.host_initial.empty() && program.ends.empty() &&
         program.folds.empty() && program.every_launch == 1 && !program.lists_arrays &&
         !program.finds_allocations && !program.asks_if_running &&
         std::ranges::all_of(program.arrays, is_addable);
}

}  // namespace

void find_added_results(Program& program) {
  if (!has_addable_storage(program)) return;
  const std::optional<std::set<const Symbol*>> added = find_added_arrays(program);
  if (!added || !std::ranges::all_of(*added, [](const Symbol* each) { return is_wide_integer(each->type); }))
    return;
  if (!program.reports.empty()) {
    program.added_results = ReportDegrees(program, *added).results();
    return;
  }
  std::vector<AddedResult> results;
  for (const GlobalArray& array : program.arrays)
    results.push_back({array.name, "", !array.dimensions.empty()});
  program.added_results = std::move(results);
}

}  // namespace lynxpp::cod
