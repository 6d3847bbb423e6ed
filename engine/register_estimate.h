// How many registers a variant needs beyond what the original does.
#pragma once

#include <cstdint>
#include <string>

#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::engine {

/// 32-bit registers that are live at once, at the worst place of the kernel and the functions instrumented
/// with it: an estimate from liveness, not what ptxas will allocate.
struct RegisterEstimate {
  std::uint32_t original = 0;
  std::uint32_t instrumented = 0;
};

/// Reads the variant's text again, which costs about as much as parsing the original.
Result<RegisterEstimate> estimate_registers(ptx::InstrumentationUnit& unit, const std::string& variant);

}  // namespace lynxpp::engine
