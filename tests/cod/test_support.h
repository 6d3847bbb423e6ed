// What the tests of C-on-Demand share.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cod/specification.h"

namespace lynxpp::cod {

using SpecificationPtr = std::shared_ptr<const Specification>;

/// The specification; null, with the diagnostics as a test failure, when there are errors.
SpecificationPtr compiled(const std::string& source);

/// All diagnostics as the user sees them; empty when the source compiles. The file is called "t.cod".
std::string errors_of(const std::string& source);

/// The PTX of every handler for that compute capability.
std::vector<std::string> lowered(const Specification& specification, int sm);

/// The routine as an entry of its own, every placeholder a register.
std::string wrapped(const std::string& routine, int sm);

/// Runs ptxas on a module; empty when it is accepted. Skips nothing itself: ask has_ptxas() first.
bool has_ptxas();
std::string ptxas_errors(const std::string& module, int sm);
/// The same, and what it makes of the module.
std::string assembled(const std::string& module, int sm, std::string& machine_code);

/// Runs ON_REPORT on made-up contents.
struct ReportRun {
  std::vector<Emitted> emitted;
  std::string printed;
  std::string failure;

  const Emitted* find(const std::string& name) const;
  /// NaN, which equals nothing, when there is none of that name.
  double number(const std::string& name) const;
};
ReportRun run_report(const std::string& source, LaunchView launch);

template <typename T>
std::span<std::byte> bytes_of_vector(std::vector<T>& values) {
  return std::as_writable_bytes(std::span<T>(values));
}

}  // namespace lynxpp::cod
