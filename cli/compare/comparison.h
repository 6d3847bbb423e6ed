// Differences between two sets of records, by specification, kernel, result and element.
#pragma once

#include <string>
#include <vector>

#include "cli/compare/changes.h"
#include "report/summary.h"
#include "report/totals.h"

namespace lynxpp::cli {

/// A kernel that has results in only one file.
struct UnpairedKernel {
  const report::KernelTotals* kernel = nullptr;
  std::string reason;  ///< why the other file has none, if known
};

struct SpecificationChange {
  std::string spec;
  Both<std::string> device;
  std::vector<KernelChange> kernels;  ///< changed kernels, largest factor first
  std::vector<const report::KernelTotals*> unchanged;
  Both<std::vector<UnpairedKernel>> only;
  bool has_noise = false;  ///< some results differ as they do between repetitions (cli/compare/noise.h)
};

/// The name and device of a specification that only one file has.
using LoneSpecification = std::string;

struct Comparison {
  std::vector<SpecificationChange> specifications;
  Both<std::vector<LoneSpecification>> only;
};

/// The records of one file, folded as in the report. Values that ON_END emitted form a kernel without a name.
struct Compared {
  const report::Summary& summary;
  std::vector<report::SpecificationTotals> specifications;
  explicit Compared(const report::Summary& records);
};

/// Compares the files; the result refers to both. Specifications are paired by name and device, or by name if
/// that is unique on each side; kernels by mangled name and ranges, or likewise by demangled name, or by its
/// part before template arguments and parameters. Differences within the noise (cli/compare/noise.h) are no
/// changes.
Comparison compare(const Compared& a, const Compared& b);

}  // namespace lynxpp::cli
