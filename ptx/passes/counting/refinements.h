// Optimizations beyond one counter per edge off the spanning tree, or one probe per access. Counts are
// identical with and without each of them: `lynxpp ptx instrument --without NAME` and LYNXPP_WITHOUT=NAME
// disable one, which is how its gain is measured.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lynxpp::ptx {

enum class Refinement : std::uint8_t {
#define PTX_REFINEMENT(name, summary, gain) name,
#include "ptx/passes/counting/refinements.def"
#undef PTX_REFINEMENT
};

struct RefinementDescription {
  Refinement refinement;
  std::string_view name;
  std::string_view summary;
};

/// In the order in which they are applied.
std::span<const RefinementDescription> refinement_table();

/// Returns nullopt if the name is unknown.
std::optional<Refinement> refinement_named(std::string_view name);

}  // namespace lynxpp::ptx
