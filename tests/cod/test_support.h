// Helpers of the tests of C-on-Demand.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cod/specification.h"

namespace lynxpp::cod {

using SpecificationPtr = std::shared_ptr<const Specification>;

/// Compiles the specification; null, with the diagnostics as a test failure, if there are errors.
SpecificationPtr compiled(const std::string& source);

/// All diagnostics as the user sees them; empty if the source compiles. The file is called "t.cod".
std::string errors_of(const std::string& source);

/// The PTX of every handler for this compute capability.
std::vector<std::string> lowered(const Specification& specification, int sm);

/// The routine as a separate entry, with a register for every placeholder.
std::string wrapped(const std::string& routine, int sm);

/// Runs ptxas on a module; empty if it is accepted. Does not skip the test: call has_ptxas() first.
bool has_ptxas();
std::string ptxas_errors(const std::string& module, int sm);
/// The same, and the machine code of the module.
std::string assembled(const std::string& module, int sm, std::string& machine_code);

/// Runs ON_REPORT on synthetic contents.
struct ReportRun {
  std::vector<Emitted> emitted;
  std::string printed;
  std::string failure;

  const Emitted* find(const std::string& name) const;
  /// NaN, which equals nothing, if no result has this name.
  double number(const std::string& name) const;
};
ReportRun run_report(const std::string& source, LaunchView launch);

template <typename T>
std::span<std::byte> bytes_of_vector(std::vector<T>& values) {
  return std::as_writable_bytes(std::span<T>(values));
}

}  // namespace lynxpp::cod
