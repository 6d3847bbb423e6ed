#include "cod/sema/counters.h"

#include <algorithm>
#include <optional>
#include <set>

#include "cod/sema/constant.h"

namespace lynxpp::cod {
namespace {

std::optional<CounterIndex> index_of(const Expression& expression, const Dimension& dimension) {
  if (is_call_of(expression, Api::basic_block_id) && dimension.extent == Extent::basic_blocks)
    return CounterIndex{CounterIndex::Kind::basic_block, 0};
  if (is_call_of(expression, Api::instruction_id) && dimension.extent == Extent::instructions)
    return CounterIndex{CounterIndex::Kind::instruction, 0};
  const std::optional<Constant> constant = evaluate(expression);
  const bool fits = constant && is_integer(constant->type) && dimension.extent == Extent::constant &&
                    constant->integer < dimension.constant;
  return fits ? std::optional(CounterIndex{CounterIndex::Kind::constant, constant->integer}) : std::nullopt;
}

bool has_known_extents(const Symbol& array) {
  for (const Dimension& dimension : array.dimensions) {
    if (dimension.extent != Extent::constant && dimension.extent != Extent::basic_blocks &&
        dimension.extent != Extent::instructions)
      return false;
  }
  return true;
}

/// A statement that may become a SiteCounter or a Tally.
template <typename Counted>
struct Candidate {
  Counted counted;
  const Symbol* array = nullptr;
  Statement* statement = nullptr;
};

/// Reads the array and the indices of `array[…][…]`.
template <typename Counted>
bool read_element(const Expression& element, Candidate<Counted>& candidate) {
  const Symbol* array = candidate.array = element.symbol;
  const bool fits = element.kind == ExpressionKind::index && array != nullptr &&
                    array->kind == Symbol::Kind::array && array->collection == nullptr &&
                    array->memory == Symbol::Memory::global && is_integer(array->type) &&
                    bytes_of(array->type) >= 4 && has_known_extents(*array);
  if (!fits || !element.setup.empty()) return false;
  // After sema the operands are the indices, outermost first.
  if (element.operands.size() != array->dimensions.size()) return false;
  for (std::size_t i = 0; i < element.operands.size(); ++i) {
    const std::optional<CounterIndex> index = index_of(*element.operands[i], array->dimensions[i]);
    if (!index) return false;
    candidate.counted.indices.push_back(*index);
  }
  candidate.counted.array = array->index;
  return true;
}

bool read_addend(const Expression& addend, Type type, SiteCounter& counter) {
  if (addend.kind == ExpressionKind::call && addend.api != nullptr) {
    switch (addend.api->api) {
      case Api::basic_block_instruction_count:
        counter.addend = SiteCounter::Addend::instructions;
        return true;
      case Api::basic_block_predicated_instruction_count:
        counter.addend = SiteCounter::Addend::guarded;
        return true;
      case Api::basic_block_executed_instruction_count:
        counter.addend = SiteCounter::Addend::executed;
        return !counter.counts_warps;
      case Api::access_size: counter.addend = SiteCounter::Addend::access_size; return true;
      case Api::bank_groups: counter.addend = SiteCounter::Addend::bank_groups; return true;
      default: return false;
    }
  }
  const std::optional<Constant> constant = evaluate(addend);
  if (!constant || !is_arithmetic(constant->type)) return false;
  counter.constant = convert(*constant, type).integer;
  return true;
}

/// Returns the API function whose result the expression is, possibly through variables that hold only that
/// result; else null.
const ApiFunction* source_of(const Expression& expression) {
  if (expression.kind == ExpressionKind::call) return expression.api;
  const Expression* value = only_value(expression);
  return value != nullptr && expression.symbol->type == Type::u32 ? source_of(*value) : nullptr;
}

/// True if it is the result of firstInSector(), possibly through variables that hold only that result.
bool is_first_in_sector(const Expression& expression) {
  if (!expression.setup.empty()) return false;
  if (expression.kind == ExpressionKind::cast)
    return is_integer(expression.type) && is_first_in_sector(*expression.operands[0]);
  if (expression.kind != ExpressionKind::name) return is_call_of(expression, Api::first_in_sector);
  const Expression* value = only_value(expression);
  return value != nullptr && is_integer(expression.symbol->type) && is_first_in_sector(*value);
}

/// True if the value depends only on the active lanes, the size of the access and the differences between the
/// lanes' addresses.
bool follows_from_banks(const Expression& expression) {
  if (!expression.setup.empty()) return false;
  switch (expression.kind) {
    case ExpressionKind::integer: return true;
    case ExpressionKind::name:
      if (expression.symbol == nullptr || expression.symbol->kind != Symbol::Kind::local) return false;
      break;
    case ExpressionKind::call:
      using enum Api;
      if (expression.api == nullptr ||
          !is_one_of(expression.api->api, {bank_conflicts, bank_groups, bank_groups_spared, bank_wavefronts,
                                           access_size, least_active_thread_in_warp}))
        return false;
      break;
    case ExpressionKind::unary:
    case ExpressionKind::binary:
    case ExpressionKind::cast:
    case ExpressionKind::conditional: break;
    default: return false;
  }
  return std::ranges::all_of(expression.operands,
                             [](const ExpressionPtr& operand) { return follows_from_banks(*operand); });
}

bool asks_for_banks(const Uses::Call& call) {
  return is_one_of(call.api->api, {Api::bank_wavefronts, Api::bank_conflicts, Api::bank_groups_spared});
}

/// True if banks are queried at every execution of the handler's sites and by all lanes of it.
bool asks_all_lanes_for_banks(const Uses& uses) {
  return std::ranges::any_of(uses.calls, asks_for_banks) &&
         std::ranges::none_of(
             uses.calls, [](const Uses::Call& call) { return asks_for_banks(call) && call.conditional; });
}

bool chooses_only_bra(const Handler& handler) {
  return !handler.filter.opcodes.empty() &&
         std::ranges::all_of(handler.filter.opcodes,
                             [](const std::string& each) { return each.starts_with("bra"); });
}

/// divergentWarp(branchTarget())
bool is_divergence(const Expression* expression) {
  return expression != nullptr && is_call_of(*expression, Api::divergent_warp) &&
         expression->operands.size() == 1 && is_call_of(*expression->operands[0], Api::branch_target);
}

/// Matches `diverges && leastActiveThreadInWarp()` in either order, where the variable is only ever assigned
/// a divergence vote.
bool elects_for_divergence(const Expression& condition) {
  if (condition.kind != ExpressionKind::binary || condition.op != Operator::logical_and) return false;
  const auto is_known = [](const Expression& each) { return is_divergence(only_value(each)); };
  const Expression& left = *condition.operands[0];
  const Expression& right = *condition.operands[1];
  return (is_known(left) && is_call_of(right, Api::least_active_thread_in_warp)) ||
         (is_known(right) && is_call_of(left, Api::least_active_thread_in_warp));
}

bool is_plain_if(const Statement& statement) {
  return statement.kind == StatementKind::if_else && statement.children.size() == 1;
}

/// `if (leastActiveThreadInWarp())`
bool is_election(const Statement& statement) {
  return is_plain_if(statement) && is_call_of(*statement.condition, Api::least_active_thread_in_warp);
}

class CounterFinder {
 public:
  explicit CounterFinder(Program& program) : program_(program) {}

  void run() {
    for (std::uint32_t i = 0; i < program_.handlers.size(); ++i) {
      HandlerBody& body = program_.handlers[i];
      const bool has_sites = body.handler.target == TargetKind::basic_block_entry ||
                             body.handler.target == TargetKind::basic_block_exit ||
                             body.handler.target == TargetKind::instruction;
      if (!has_sites || body.is_sampled()) continue;
      handler_ = i;
      returned_ = false;
      for (Statement* statement : body.statements) find_in(*statement);
    }
    find_tallies();
    find_touched();
    for (Candidate<SiteCounter>& candidate : candidates_) {
      if (touched_.contains(candidate.array)) continue;
      candidate.statement->is_counted = true;
      program_.counters.push_back(std::move(candidate.counted));
    }
    for (Candidate<Tally>& candidate : tallies_) {
      if (touched_.contains(candidate.array)) continue;
      program_.tallies.push_back(std::move(candidate.counted));
      candidate.statement->tally = static_cast<std::uint32_t>(program_.tallies.size());
    }
    for (HandlerBody& body : program_.handlers) {
      bool is_counted = !program_.counters.empty() && !body.statements.empty();
      bool holds_counter = false;
      for (Statement* statement : body.statements) is_counted &= is_all_counted(*statement, holds_counter);
      body.handler.is_counted = is_counted && holds_counter;
      body.handler.measures = measured_by(body);
    }
  }

 private:
  Handler::Measures measured_by(const HandlerBody& body) const {
    const auto all = [&](const auto& measures) { return std::ranges::all_of(body.statements, measures); };
    const bool is_of_banks = asks_all_lanes_for_banks(body.uses) &&
                             all([&](const Statement* each) { return measures_banks(*each); });
    if (is_of_banks) return Handler::Measures::banks;
    const bool is_of_sectors =
        !body.is_sampled() && all([&](const Statement* each) { return measures_sectors(*each, false); });
    return is_of_sectors ? Handler::Measures::sectors : Handler::Measures::anything;
  }

  void find_tallies() {
    for (const Candidate<SiteCounter>& candidate : candidates_) known_.insert(candidate.statement);
    for (std::uint32_t i = 0; i < program_.handlers.size(); ++i) {
      HandlerBody& body = program_.handlers[i];
      if (body.handler.target != TargetKind::instruction) continue;
      handler_ = i;
      for (Statement* statement : body.statements) find_tallies(*statement);
    }
  }

  void find_tallies(Statement& statement) {
    for (const StatementPtr& child : statement.children) find_tallies(*child);
    if (statement.kind != StatementKind::expression || known_.contains(&statement)) return;
    const Expression& call = *statement.expression;
    const bool adds = is_call_of(call, Api::atomic_add);
    if (!adds && !is_call_of(call, Api::atomic_increment)) return;
    Candidate<Tally> candidate;
    Tally& tally = candidate.counted;
    if (!read_element(*call.operands[0], candidate)) return;
    tally.adds_one = !adds;
    if (adds && !read_tally(*call.operands[1], tally)) return;
    const ApiFunction* source = adds ? source_of(*call.operands[1]) : nullptr;
    tally.is_wide_only = source != nullptr && source->api == Api::bank_groups_spared;
    tally.is_paced = tally.is_wide_only || (source != nullptr && source->api == Api::bank_conflicts);
    tally.handler = handler_;
    candidate.statement = &statement;
    tallies_.push_back(std::move(candidate));
    known_.insert(&statement);
  }

  static bool read_tally(const Expression& addend, Tally& tally) {
    if (const std::optional<Constant> constant = evaluate(addend); constant) {
      tally.adds_one = is_integer(constant->type) && constant->integer == 1;
      return is_integer(constant->type) && constant->integer <= 0xffffffffu;
    }
    return is_integer(addend.type) && !is_signed(addend.type) && bits_of(addend.type) <= 32;
  }

  /// Searches the statements at the top level of a handler.
  void find_in(Statement& statement) {
    if (returned_) return;
    if (statement.kind == StatementKind::block) {
      for (const StatementPtr& child : statement.children) find_in(*child);
      return;
    }
    if (is_election(statement) && !exits_of(statement).returns)
      return find_elected(*statement.children[0], false);
    if (counts_divergences(statement) && !exits_of(statement).returns)
      return find_elected(*statement.children[0], true);
    add_candidate(statement, false, false);
    returned_ = exits_of(statement).returns;
  }

  bool counts_divergences(const Statement& statement) const {
    const HandlerBody& body = program_.handlers[handler_];
    return body.handler.target == TargetKind::instruction && is_plain_if(statement) &&
           elects_for_divergence(*statement.condition) && chooses_only_bra(body.handler);
  }

  void find_elected(Statement& statement, bool is_divergence) {
    if (statement.kind == StatementKind::block) {
      for (const StatementPtr& child : statement.children) find_elected(*child, is_divergence);
      return;
    }
    add_candidate(statement, true, is_divergence);
  }

  void add_candidate(Statement& statement, bool is_elected, bool is_divergence) {
    if (statement.kind != StatementKind::expression) return;
    const Expression& update = *statement.expression;
    const bool is_sum = update.kind == ExpressionKind::assign && update.op == Operator::add;
    const bool has_addend = is_sum || is_call_of(update, Api::atomic_add);
    if (!has_addend && !is_call_of(update, Api::atomic_increment)) return;
    Candidate<SiteCounter> candidate;
    SiteCounter& counter = candidate.counted;
    candidate.statement = &statement;
    counter.handler = handler_;
    counter.counts_warps = is_elected;
    counter.counts_divergences = is_divergence;
    counter.location = program_.locate(statement.position);
    if (!read_element(*update.operands[0], candidate)) return;
    if (has_addend && !read_addend(*update.operands[1], candidate.array->type, counter)) return;
    candidates_.push_back(std::move(candidate));
  }

  /// Collects the arrays that device code refers to outside of the candidates.
  void find_touched() {
    const auto is_unknown = [this](const Statement& each) { return !known_.contains(&each); };
    const auto touch_all = [this](const Expression& each) { return touch(each); };
    for_each_device_statement(program_,
                              [&](const Statement& statement) { walk(statement, is_unknown, touch_all); });
    for (const Candidate<Tally>& candidate : tallies_) {
      const auto& operands = candidate.statement->expression->operands;
      if (operands.size() > 1) walk(*operands[1], touch_all);
    }
  }

  bool touch(const Expression& expression) {
    if (expression.symbol != nullptr)
      for_each_part(*expression.symbol, [this](const Symbol& part) { touched_.insert(&part); });
    return true;
  }

  /// True if the statement only adds results of bankConflicts() and bankGroupsSpared() to tallies.
  bool measures_banks(const Statement& statement) const {
    if (statement.is_counted) return true;
    if (statement.condition && !follows_from_banks(*statement.condition)) return false;
    switch (statement.kind) {
      case StatementKind::empty:
      case StatementKind::block:
      case StatementKind::if_else: break;
      case StatementKind::declaration:
        return std::ranges::all_of(statement.declarators, [](const Declarator& declarator) {
          return declarator.assignments.empty() && declarator.initializer != nullptr &&
                 follows_from_banks(*declarator.initializer);
        });
      case StatementKind::expression:
        return statement.tally != 0 && program_.tallies[statement.tally - 1].is_paced;
      default: return false;
    }
    return std::ranges::all_of(statement.children,
                               [this](const StatementPtr& child) { return measures_banks(*child); });
  }

  /// True if the statement only adds one to tallies in the first lane of each sector. `is_first`: only those
  /// lanes reach it.
  bool measures_sectors(const Statement& statement, bool is_first) const {
    switch (statement.kind) {
      case StatementKind::empty: return true;
      case StatementKind::block:
        return std::ranges::all_of(statement.children, [&](const StatementPtr& child) {
          return measures_sectors(*child, is_first);
        });
      case StatementKind::if_else:
        return !is_first && statement.children.size() == 1 && is_first_in_sector(*statement.condition) &&
               measures_sectors(*statement.children[0], true);
      case StatementKind::declaration:
        return !is_first && std::ranges::all_of(statement.declarators, [](const Declarator& declarator) {
          return declarator.assignments.empty() && declarator.initializer != nullptr &&
                 is_first_in_sector(*declarator.initializer);
        });
      case StatementKind::expression:
        return is_first && statement.tally != 0 && program_.tallies[statement.tally - 1].adds_one;
      default: return false;
    }
  }

  /// True if no code of the statement remains; an `if` that contains only counters is removed with them.
  static bool is_all_counted(Statement& statement, bool& holds_counter) {
    if (statement.kind == StatementKind::empty) return true;
    if (statement.is_counted) return holds_counter = true;
    if (statement.kind == StatementKind::declaration) {
      return std::ranges::all_of(statement.declarators, [](const Declarator& each) {
        return each.assignments.empty() && is_divergence(each.initializer.get());
      });
    }
    const bool is_choice =
        is_election(statement) || (is_plain_if(statement) && elects_for_divergence(*statement.condition));
    if (statement.kind != StatementKind::block && !is_choice) return false;
    bool all = true;
    for (const StatementPtr& child : statement.children) all &= is_all_counted(*child, holds_counter);
    if (is_choice && all) statement.is_counted = true;
    return all;
  }

  Program& program_;
  std::uint32_t handler_ = 0;
  bool returned_ = false;  ///< some lanes may have left the handler
  std::vector<Candidate<SiteCounter>> candidates_;
  std::vector<Candidate<Tally>> tallies_;
  std::set<const Statement*> known_;  ///< statements of both lists
  std::set<const Symbol*> touched_;
};

}  // namespace

void find_counters(Program& program) { CounterFinder(program).run(); }

}  // namespace lynxpp::cod
