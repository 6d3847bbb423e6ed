#include "cod/sema/lane_values.h"

#include <algorithm>

#include "cod/sema/lane_dependence.h"

namespace lynxpp::cod {
namespace {

bool is_access_call(const Uses::Call& call) { return is_about_accesses(call.api->api); }

/// Terminates because helpers are not recursive.
bool asks_about_accesses(const Uses& uses) {
  return std::ranges::any_of(uses.calls, is_access_call) ||
         std::ranges::any_of(uses.helpers, [](const Uses::Helper& helper) {
           return asks_about_accesses(helper.symbol->function->uses);
         });
}

}  // namespace

void find_lane_values(Program& program) {
  for (HandlerBody& body : program.handlers) {
    const auto is_conditional = [](const Uses::Call& call) {
      return is_access_call(call) && call.conditional;
    };
    const auto is_helper = [](const Uses::Helper& helper) {
      return asks_about_accesses(helper.symbol->function->uses);
    };
    const auto returns = [](const Statement* statement) { return contains_return(*statement); };
    body.handler.can_use_lane_values = std::ranges::any_of(body.uses.calls, is_access_call) &&
                                       std::ranges::none_of(body.uses.calls, is_conditional) &&
                                       std::ranges::none_of(body.uses.helpers, is_helper) &&
                                       std::ranges::none_of(body.statements, returns);
  }
}

}  // namespace lynxpp::cod
