// Chooses register limits for variants that use more registers than their original.
//
// Counters are kept in registers, and each allocation step of registers lowers the number of resident warps.
// ptxas does not consider this by itself; with a limit it often generates equally good code, or spills values
// that loops do not use (docs/measurements/register-limits.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"

namespace lynxpp::device::cuda {

/// Each limit costs a compilation by the driver, so longer variants are not limited.
inline constexpr std::size_t longest_text_with_limits = std::size_t{256} << 10;

/// Returns register counts per thread to recompile `variant` with, the one with most warps first; empty if
/// `variant` has no fewer resident warps than `original`.
std::vector<std::uint32_t> register_limits(const KernelResources& original, const KernelResources& variant);

/// Returns the original's resources, limited to the warps per SM that the grid needs.
KernelResources filled_by(std::uint64_t blocks, std::uint32_t multiprocessors,
                          const KernelResources& original);

/// Returns the register count per thread to recompile `variant` with if an SM has room for its counters in
/// addition to the original's registers, and ptxas used fewer registers than that; 0 otherwise. `filled` is
/// the result of filled_by().
std::uint32_t raised_register_limit(const KernelResources& filled, const KernelResources& variant,
                                    std::uint32_t kept_registers);

/// Returns the text with `.maxnreg` in the kernel's directives; an existing one is lowered. ptxas ignores
/// external limits for kernels with `.maxntid` (`__launch_bounds__`).
std::string with_register_limit(const std::string& ptx, const DirectiveRange& directives,
                                std::uint32_t registers);

/// True if the limit allows more warps and spills little.
bool pays_off(const KernelResources& limited, const KernelResources& variant);

}  // namespace lynxpp::device::cuda
