// Whether a variant that needs more registers than its original may do with fewer of them.
//
// What is counted lives in registers, and above a step of the hardware's an SM holds fewer warps of the
// variant. Left alone, ptxas takes what it likes; with a limit it often does as well, or keeps some words in
// memory that loops do not touch (docs/measurements/register-limits.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"

namespace lynxpp::device::cuda {

/// Each limit is one more compilation by the driver: longer variants go without.
inline constexpr std::size_t longest_text_with_limits = std::size_t{256} << 10;

/// Registers per thread to compile `variant` again with, the most warps first; empty when an SM holds as many
/// of its warps as of the original's.
std::vector<std::uint32_t> register_limits(const KernelResources& original, const KernelResources& variant);

/// The original, as far as the grid fills an SM with its warps: no variant needs room for more.
KernelResources filled_by(std::uint64_t blocks, std::uint32_t multiprocessors,
                          const KernelResources& original);

/// Registers per thread to compile `variant` again with, where an SM has room for those it keeps beside the
/// original's and ptxas did without, to have more warps than there are; 0: no more are to be had. `filled` is
/// the original as far as the grid fills an SM.
std::uint32_t roomier_limit(const KernelResources& filled, const KernelResources& variant,
                            std::uint32_t kept_registers);

/// The text with `.maxnreg` in the kernel's directives, or a lower number where it has one. ptxas takes no
/// limit from outside for kernels with `.maxntid` (`__launch_bounds__`).
std::string with_register_limit(const std::string& ptx, const DirectivePlace& directives,
                                std::uint32_t registers);

/// More warps, and hardly more words in memory.
bool is_worth_its_limit(const KernelResources& limited, const KernelResources& variant);

}  // namespace lynxpp::device::cuda
