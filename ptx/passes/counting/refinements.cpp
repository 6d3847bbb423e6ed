#include "ptx/passes/counting/refinements.h"

#include <algorithm>
#include <iterator>

#include "ptx/passes/counting/draft.h"
#include "ptx/passes/counting/refine/columns.h"
#include "ptx/passes/counting/refine/grid_uniform.h"

namespace lynxpp::ptx {
namespace {

constexpr RefinementDescription refinements[] = {
#define PTX_REFINEMENT(name, summary, gain, apply) {Refinement::name, #name, summary, apply},
#include "ptx/passes/counting/refinements.def"
#undef PTX_REFINEMENT
};

}  // namespace

std::span<const RefinementDescription> refinement_table() { return refinements; }

std::optional<Refinement> refinement_named(std::string_view name) {
  const auto found = std::ranges::find(refinements, name, &RefinementDescription::name);
  return found == std::end(refinements) ? std::nullopt : std::optional(found->refinement);
}

void refine(PlanDraft& plan) {
  for (const RefinementDescription& each : refinements) {
    if (each.apply != nullptr && plan.has(each.refinement)) each.apply(plan);
  }
}

}  // namespace lynxpp::ptx
