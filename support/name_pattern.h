// Regular expressions for the names of kernels and functions.
#pragma once

#include <memory>
#include <string>

#include "support/result.h"

namespace lynxpp {

/// A regular expression in RE2's syntax, which has neither look-around nor backreferences: searching takes
/// time linear in the length of a name and a bounded stack. Copies share their cache. Thread safe.
class NamePattern {
 public:
  /// Fails with one diagnostic without a file; its column is that of the mistake in `text`.
  static Result<NamePattern> parse(const std::string& text);

  const std::string& text() const;

  /// True if `symbol`, or the C++ name that it is mangled from, contains a match. A symbol is searched once.
  bool matches(const std::string& symbol) const;

 private:
  struct Shared;
  explicit NamePattern(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  std::shared_ptr<Shared> shared_;
};

}  // namespace lynxpp
