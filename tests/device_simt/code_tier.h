// Kinds of code that a kernel may be executed as.
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
/// The first one is what the others are compared to.
inline constexpr Tier tiers[] = {
    {"forms", CodeTier::forms},
    {"segments", CodeTier::segments},
    {"blocks", CodeTier::blocks, 2},
    {"regions", CodeTier::regions},
    {"regions late", CodeTier::regions, 5},
    {"automatic", CodeTier::automatic},
};

/// Until it ends, programs are compiled for the tier.
class ChosenTier {
 public:
  explicit ChosenTier(const Tier& tier) { choose_code_tier(tier.tier, tier.runs); }
  ~ChosenTier() { choose_code_tier(std::nullopt); }
  ChosenTier(const ChosenTier&) = delete;
  ChosenTier& operator=(const ChosenTier&) = delete;
};

}  // namespace lynxpp::device::cpu::test
