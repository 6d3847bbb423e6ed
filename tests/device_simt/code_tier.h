// Kinds of code with which a kernel can be executed.
#pragma once

#include <cstdint>
#include <optional>

#include "device/cpu/simt/compile/segment_compiler.h"

namespace lynxpp::device::cpu::test {

struct Tier {
  const char* name;
  CodeTier tier;
  std::uint32_t runs = 0;  ///< before promotion
};
/// The first tier is the reference for the others.
inline constexpr Tier tiers[] = {
    {"forms", CodeTier::forms},
    {"segments", CodeTier::segments},
    {"blocks", CodeTier::blocks, 2},
    {"regions", CodeTier::regions},
    {"regions late", CodeTier::regions, 5},
    {"automatic", CodeTier::automatic},
};

/// Selects the tier for programs that are compiled during its lifetime.
class ChosenTier {
 public:
  explicit ChosenTier(const Tier& tier) { choose_code_tier(tier.tier, tier.runs); }
  ~ChosenTier() { choose_code_tier(std::nullopt); }
  ChosenTier(const ChosenTier&) = delete;
  ChosenTier& operator=(const ChosenTier&) = delete;
};

}  // namespace lynxpp::device::cpu::test
