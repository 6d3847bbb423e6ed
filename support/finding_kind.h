// The kinds of findings of `lynxpp check-run` (docs/checking.md), and their classes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lynxpp {

/// States what a finding says about a program.
enum class FindingClass : std::uint8_t {
  /// The launch fails, hangs, or does what PTX and CUDA leave undefined, in the order that was run.
  error,
  /// The launch may go wrong in another order of execution: nothing enforces the order that it needs.
  hazard,
  /// The behavior is defined, but probably not intended.
  warning,
};

/// The rows of finding_kinds.def.
enum class FindingKind : std::uint8_t {
#define FINDING(id, ...) id,
#include "support/finding_kinds.def"
#undef FINDING
};

/// A row of finding_kinds.def.
struct FindingRule {
  std::string_view name;   ///< "out of bounds"
  std::string_view check;  ///< that reports it: "memory", "race", "init", "sync" or "leak"
  FindingClass of_class = FindingClass::error;
  std::string_view summary;  ///< "Access outside of an allocation"
  std::string_view help;     ///< how to repair it
};

/// Returns the rules in the order of FindingKind.
std::span<const FindingRule> finding_rules();

std::string_view name_of(FindingKind kind);
std::string_view check_of(FindingKind kind);
FindingClass class_of(FindingKind kind);
/// Returns "error", "hazard" or "warning".
std::string_view name_of(FindingClass of_class);

}  // namespace lynxpp
