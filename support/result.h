// Result<T>: a value, or the diagnostics that explain its absence.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "support/diagnostic.h"

namespace lynxpp {

/// The failure half of a Result. Converts to any Result<T>.
struct [[nodiscard]] Failure {
  Diagnostics diagnostics;
};

/// A failure without a location.
inline Failure failure(std::string message, std::string hint = {}) {
  return Failure{{Diagnostic{Severity::error, {}, std::move(message), std::move(hint)}}};
}
/// A failure at a location.
inline Failure failure_at(SourceLocation location, std::string message, std::string hint = {}) {
  return Failure{{Diagnostic{Severity::error, std::move(location), std::move(message), std::move(hint)}}};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}            // NOLINT(*-explicit-*)
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT(*-explicit-*)

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  /// Precondition: ok().
  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }

  /// Precondition: !ok().
  Failure& error() { return std::get<1>(state_); }
  const Failure& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

/// For functions that return no value but may fail.
struct Unit {};
using Status = Result<Unit>;
inline Status success() { return Unit{}; }

}  // namespace lynxpp
