// Registers of a kernel and of its variant: estimates from liveness, and the budget of kernels that
// redistribute registers with setmaxnreg, whose register counts are fixed, whatever a variant needs.
#pragma once

#include <cstdint>
#include <string>

#include "ptx/ir/module.h"
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

/// True if the kernel contains setmaxnreg, and at some program point it leaves too few registers to keep the
/// counters of a variant in some of them.
bool has_few_registers(const ptx::Module& module, const ptx::FunctionUnit& kernel);

/// Fails if, at some program point of the kernel, the variant has more live values than setmaxnreg leaves
/// registers, some of them across calls. In this case ptxas would take minutes and gigabytes inside the
/// program before it fails. Succeeds for kernels without setmaxnreg, whose register count ptxas chooses, and
/// without calls: ptxas then spills what does not fit.
Status check_register_budget(const ptx::Module& module, const ptx::Function& kernel,
                             const std::string& variant);

}  // namespace lynxpp::engine
