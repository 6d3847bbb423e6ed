// Layout of a function's .param and .local variables in its frame of local memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "ptx/ir/module.h"

namespace lynxpp::device::cpu {

/// Parameters and results come first, then the body's .param and .local variables, each aligned. A kernel's
/// own parameters are not in its frame.
class FrameLayout {
 public:
  explicit FrameLayout(const ptx::Function& function);

  /// Precondition: the variable belongs to the function.
  std::uint64_t offset(const ptx::Variable* variable) const { return offsets_.at(variable); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void add(const ptx::Variable& variable);

  std::map<const ptx::Variable*, std::uint64_t> offsets_;
  std::uint64_t bytes_ = 0;
};

/// Offsets of a kernel's parameters in its parameter buffer.
struct ParameterLayout {
  explicit ParameterLayout(const ptx::Function& kernel);
  std::map<std::string, std::uint32_t, std::less<>> offsets;
  std::uint64_t bytes = 0;
};

inline constexpr std::uint64_t most_parameter_bytes = 32764;                 ///< of a kernel
inline constexpr std::uint64_t most_local_bytes = std::uint64_t{512} << 10;  ///< of a thread

/// Rounds `value` up to a multiple of `alignment` (0 counts as 1).
constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return alignment <= 1 ? value : (value + alignment - 1) / alignment * alignment;
}

}  // namespace lynxpp::device::cpu
