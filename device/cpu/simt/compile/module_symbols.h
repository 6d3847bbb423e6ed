// Addresses that code takes from a module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace lynxpp::device::cpu {

inline constexpr std::uint32_t no_function = 0xffffffff;

/// Storage of module variables, and tokens that represent functions.
struct ModuleSymbols {
  struct Storage {
    std::byte* address = nullptr;
    std::uint64_t bytes = 0;
  };
  std::unordered_map<std::string, Storage> variables;  ///< .global and .const
  Storage constants;                                   ///< range of all .const variables

  /// Returns the value of `mov.u64 %rd, function`.
  static std::uint64_t function_token(std::uint32_t module_function) {
    return 0x4c59'0000'0000'0000u + (std::uint64_t{module_function} + 1) * 16;
  }
  static std::uint32_t function_of_token(std::uint64_t token) {
    if ((token & 0xffff'0000'0000'000fu) != 0x4c59'0000'0000'0000u) return no_function;
    return static_cast<std::uint32_t>((token & 0xffff'ffff'ffffu) / 16 - 1);
  }
};

}  // namespace lynxpp::device::cpu
