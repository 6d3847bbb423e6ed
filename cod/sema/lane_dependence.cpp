#include "cod/sema/lane_dependence.h"

#include <algorithm>

namespace lynxpp::cod {
namespace {

/// True if it calls such a function, directly or through helpers. Terminates because helpers are not
/// recursive.
bool calls_any(const Uses& uses, bool (*is_wanted)(Api)) {
  return std::ranges::any_of(uses.calls, [&](const Uses::Call& call) { return is_wanted(call.api->api); }) ||
         std::ranges::any_of(uses.helpers, [&](const Uses::Helper& helper) {
           return calls_any(helper.symbol->function->uses, is_wanted);
         });
}

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

bool asks_about_lanes(const Uses& uses) { return calls_any(uses, means_lanes); }

bool asks_about_lanes(const Expression& expression) {
  bool asks = false;
  walk(expression, [&](const Expression& each) {
    const bool is_helper = each.kind == ExpressionKind::call && each.api == nullptr &&
                           each.symbol != nullptr && each.symbol->function != nullptr;
    asks = asks || (each.api != nullptr && means_lanes(each.api->api)) ||
           (is_helper && asks_about_lanes(each.symbol->function->uses));
    return !asks;
  });
  return asks;
}

bool asks_about_lanes(const Statement& statement) {
  bool asks = false;
  walk(statement, all_statements, [&](const Expression& each) {
    asks = asks || asks_about_lanes(each);
    return false;
  });
  return asks;
}

void find_lane_values(Program& program) {
  for (HandlerBody& body : program.handlers) {
    const auto is_access_call = [](const Uses::Call& call) { return is_about_accesses(call.api->api); };
    const auto is_conditional = [&](const Uses::Call& call) {
      return is_access_call(call) && call.conditional;
    };
    const auto calls_in_helper = [](const Uses::Helper& helper) {
      return calls_any(helper.symbol->function->uses, is_about_accesses);
    };
    const auto returns = [](const Statement* statement) { return exits_of(*statement).returns; };
    body.handler.can_use_lane_values = std::ranges::any_of(body.uses.calls, is_access_call) &&
                                       std::ranges::none_of(body.uses.calls, is_conditional) &&
                                       std::ranges::none_of(body.uses.helpers, calls_in_helper) &&
                                       std::ranges::none_of(body.statements, returns);
  }
}

}  // namespace lynxpp::cod
