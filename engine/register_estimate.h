// Estimates the additional registers that a variant needs.
#pragma once

#include <cstdint>
#include <string>

#include "ptx/passes/reached.h"
#include "support/result.h"

namespace lynxpp::engine {

/// The maximum number of live 32-bit registers in the kernel and the functions instrumented with it: an
/// estimate from liveness, not the number that ptxas will allocate.
struct RegisterEstimate {
  std::uint32_t original = 0;
  std::uint32_t instrumented = 0;
};

/// Parses the variant's text again, which costs about as much as parsing the original.
Result<RegisterEstimate> estimate_registers(const ptx::ReachedFunctions& reached, const std::string& variant);

}  // namespace lynxpp::engine
