#include "cod/sema/lane_dependence.h"

#include <algorithm>

namespace lynxpp::cod {
namespace {

/// `in_loop`, `in_switch`: the statement contains the loop or switch that a `continue` or `break` refers to.
bool leaves(const Statement& statement, bool in_loop, bool in_switch) {
  switch (statement.kind) {
    case StatementKind::return_value: return true;
    case StatementKind::break_loop: return !in_loop && !in_switch;
    case StatementKind::continue_loop: return !in_loop;
    case StatementKind::while_loop:
    case StatementKind::do_loop:
    case StatementKind::for_loop: in_loop = true; break;
    case StatementKind::switch_case: in_switch = true; break;
    default: break;
  }
  return std::ranges::any_of(statement.children,
                             [&](const StatementPtr& child) { return leaves(*child, in_loop, in_switch); });
}

bool asks(const ExpressionPtr& expression) { return expression != nullptr && asks_about_lanes(*expression); }

}  // namespace

bool is_about_accesses(Api api) {
  using enum Api;
  return is_one_of(api, {first_in_sector, bank_wavefronts, bank_conflicts, bank_groups_spared});
}

bool means_lanes(Api api) {
  using enum Api;
  return is_about_accesses(api) ||
         is_one_of(api,
                   {active_mask, active_thread_count, least_active_thread_in_warp, divergent_warp, ballot,
                    unique_element_count, warp_sum, warp_max, warp_min, warp_any, warp_all, sync_warp});
}

/// Terminates because helpers are not recursive.
bool asks_about_lanes(const Uses& uses) {
  return std::ranges::any_of(uses.calls, [](const Uses::Call& call) { return means_lanes(call.api->api); }) ||
         std::ranges::any_of(uses.helpers, [](const Uses::Helper& helper) {
           return asks_about_lanes(helper.symbol->function->uses);
         });
}

bool asks_about_lanes(const Expression& expression) {
  if (expression.kind == ExpressionKind::call) {
    if (expression.api != nullptr && means_lanes(expression.api->api)) return true;
    const Symbol* helper = expression.api == nullptr ? expression.symbol : nullptr;
    if (helper != nullptr && helper->function != nullptr && asks_about_lanes(helper->function->uses))
      return true;
  }
  return std::ranges::any_of(expression.setup, asks) || std::ranges::any_of(expression.operands, asks);
}

bool asks_about_lanes(const Statement& statement) {
  const auto declares = [](const Declarator& declarator) {
    return asks(declarator.initializer) || std::ranges::any_of(declarator.assignments, asks);
  };
  return asks(statement.condition) || asks(statement.expression) ||
         std::ranges::any_of(statement.declarators, declares) ||
         std::ranges::any_of(statement.children,
                             [](const StatementPtr& child) { return asks_about_lanes(*child); });
}

bool lets_lanes_leave(const Statement& statement) { return leaves(statement, false, false); }

}  // namespace lynxpp::cod
