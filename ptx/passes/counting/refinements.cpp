#include "ptx/passes/counting/refinements.h"

#include <algorithm>
#include <iterator>

namespace lynxpp::ptx {
namespace {

constexpr RefinementDescription refinements[] = {
#define PTX_REFINEMENT(name, summary, gain) {Refinement::name, #name, summary},
#include "ptx/passes/counting/refinements.def"
#undef PTX_REFINEMENT
};

}  // namespace

std::span<const RefinementDescription> refinement_table() { return refinements; }

std::optional<Refinement> refinement_named(std::string_view name) {
  const auto found = std::ranges::find(refinements, name, &RefinementDescription::name);
  return found == std::end(refinements) ? std::nullopt : std::optional(found->refinement);
}

}  // namespace lynxpp::ptx
