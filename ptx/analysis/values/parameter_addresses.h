// Addresses of the kernel's parameters themselves, as programs compute them for parameters that instructions
// read in memory, such as tensor maps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/analysis/analyses.h"

namespace lynxpp::ptx {

struct ParameterAddress {
  std::string_view name;   ///< of the kernel's parameter
  std::uint64_t byte = 0;  ///< in the parameter, modulo 2^64

  bool operator==(const ParameterAddress&) const = default;
};

/// Follows moves, conversions to generic addresses, and sums with constants, on all paths. nullopt: the
/// address is another one, depends on the path, or is unknown; always in functions that are not kernels.
std::optional<ParameterAddress> parameter_address(FunctionAnalyses& analyses, std::uint32_t instruction,
                                                  const Operand& address);

}  // namespace lynxpp::ptx
