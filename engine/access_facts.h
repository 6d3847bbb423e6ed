// Static facts about memory accesses: the object that an address points into, and the stride between lanes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ptx/analysis/analyses.h"
#include "ptx/analysis/values/address_roots.h"

namespace lynxpp::engine {

class AccessFacts {
 public:
  /// `analyses` must outlive this object.
  explicit AccessFacts(ptx::FunctionAnalyses& analyses) : analyses_(analyses), roots_(analyses) {}

  /// Returns "argument 2" for the object that the second argument points to, or the mangled name of a
  /// variable, such as "tile". Empty: unknown.
  std::string object_of(std::uint32_t instruction);

  /// Returns the bytes between the addresses of neighbouring lanes of a row: "4", "0", "4 * argument 6".
  /// Empty: unknown, for example because an index is loaded from memory.
  std::string lane_stride_of(std::uint32_t instruction);

 private:
  struct LaneStep {
    std::int64_t bytes = 0;
    std::string factors;  ///< " * argument 6": known at run time
  };
  std::optional<LaneStep> step_of(const ptx::Term& term);
  std::string argument_of(std::string_view parameter, std::uint64_t byte) const;
  std::optional<std::int64_t> steps_of_value(ptx::ValueId value);
  std::optional<std::string> factor_of(const ptx::Symbol& symbol) const;

  const ptx::Uniformity& uniformity();

  ptx::FunctionAnalyses& analyses_;
  std::optional<ptx::Uniformity> uniformity_;  ///< for any launch shape, as in the site table
  ptx::AddressRoots roots_;
};

}  // namespace lynxpp::engine
