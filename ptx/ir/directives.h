// Directives of a kernel, between its parameters and its body.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

std::string_view directives_of(const Module& module, const Function& kernel);

/// Returns the numbers after a directive: 384, 1, 1 for ".maxntid" of `.maxntid 384, 1, 1`; empty if the
/// kernel does not have it.
std::vector<std::uint32_t> directive_values(const Module& module, const Function& kernel,
                                            std::string_view directive);

/// Returns the numbers of .reqntid, else of .maxntid; empty if the kernel has neither.
std::vector<std::uint32_t> block_limits(const Module& module, const Function& kernel);

/// Returns a bound of the threads in a thread block, which .reqntid and .maxntid give as a product; at most
/// 1024.
std::uint32_t most_threads(const Module& module, const Function& kernel);

}  // namespace lynxpp::ptx
