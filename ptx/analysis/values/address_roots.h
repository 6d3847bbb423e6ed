// The objects that addresses point into: what a kernel's pointer parameter refers to, or a variable.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "ptx/analysis/analyses.h"

namespace lynxpp::ptx {

struct AddressRoot {
  enum class Kind : std::uint8_t { unknown, parameter, variable };
  Kind kind = Kind::unknown;
  std::string_view name;   ///< of the kernel's parameter or of the variable
  std::uint64_t byte = 0;  ///< of the pointer in the parameter

  bool operator==(const AddressRoot&) const = default;
};

/// Follows moves, sums, differences and selections, on all paths. An index is not a pointer, whatever it is
/// computed from, if it has 32 bits or is a product.
class AddressRoots {
 public:
  /// `analyses` must outlive this object.
  explicit AddressRoots(FunctionAnalyses& analyses) : analyses_(analyses) {}

  /// Returns the object of the address operand; unknown if the paths differ, or a function's parameter or
  /// memory holds the pointer.
  AddressRoot of_address(std::uint32_t instruction, const Operand& address) {
    return of_operand(instruction, address.elements[0]).value_or(AddressRoot());
  }

 private:
  // nullopt: not a pointer
  std::optional<AddressRoot> of_operand(std::uint32_t instruction, const Operand& operand);
  std::optional<AddressRoot> of_value(ValueId value);
  std::optional<AddressRoot> of_write(std::uint32_t at);
  std::optional<AddressRoot> of_load(const Instruction& instruction) const;

  FunctionAnalyses& analyses_;
  std::map<ValueId, std::optional<AddressRoot>> known_;
};

}  // namespace lynxpp::ptx
