// Storage of module variables.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

namespace lynxpp::device::cpu {

struct VariableStorage {
  void* address = nullptr;
  std::uint64_t bytes = 0;
};

/// Variables whose storage another module provides, with their contents.
using SharedVariables = std::unordered_map<std::string, VariableStorage>;

}  // namespace lynxpp::device::cpu
