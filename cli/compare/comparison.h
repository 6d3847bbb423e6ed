// What differs between two sets of records: specification by specification, kernel by kernel, result by
// result and element by element.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/sites.h"
#include "report/summary.h"

namespace lynxpp::cli {

/// Something in each of the two files.
template <typename T>
struct Both {
  T a{};
  T b{};
};

/// One value in both files; none: the file lacks it.
struct Change {
  std::optional<report::FoldedNumber> a;
  std::optional<report::FoldedNumber> b;
  report::Fold fold = report::Fold::sum;

  /// An element that one file lacks and that is zero in the other is no change.
  bool is_change() const;
  /// b - a. NaN: a value is missing, or the values are no amounts (addresses).
  report::Number difference() const;
  /// b / a. NaN, too, when a is 0.
  report::Number ratio() const;
  /// How far the ratio is from 1, in either direction; infinite where one value is 0, missing or of another
  /// sign; 0 for what is no amount.
  double factor() const;
  /// The difference without its sign, what is missing taken as 0.
  double distance() const;
};

struct ResultChange {
  std::string name;  ///< of arrays "sum(NAME)", "min(NAME)", …
  std::string unit;
  Change change;
};

/// An element of an array, a row of a map, or a place in the program.
struct ElementChange {
  std::string key;                         ///< "[3]", a label, bins, or the map's keys; of a place: empty
  std::optional<report::SiteLabel> place;  ///< as in the second file, if it is there
  Change change;
};

/// What changed among the elements of an array or the rows of a map.
struct ArrayChange {
  std::string name;
  std::string unit;
  std::optional<report::SiteKind> kind;
  /// Of places: all those of one function, source line and opcode are folded into one, since the kernel's
  /// code differs between the files.
  bool is_by_line = false;
  std::vector<ElementChange> elements;  ///< the greatest distance first
  std::size_t unchanged = 0;
};

struct KernelChange {
  Both<const report::KernelTotals*> kernel;
  std::vector<ResultChange> results;      ///< that changed, the greatest factor first
  std::size_t unchanged = 0;              ///< results
  std::vector<ArrayChange> arrays;        ///< with a change
  Both<std::vector<std::string>> notes;   ///< that only one of them has
  std::vector<std::string> not_compared;  ///< which result, and why

  bool is_change() const;
  double factor() const;  ///< the greatest of its results
};

/// A kernel that has results in one file alone.
struct LoneKernel {
  const report::KernelTotals* kernel = nullptr;
  std::string reason;  ///< why the other file has none, where it says so
};

struct SpecificationChange {
  std::string spec;
  Both<std::string> device;
  std::vector<KernelChange> kernels;  ///< that changed, the greatest factor first
  std::vector<const report::KernelTotals*> unchanged;
  Both<std::vector<LoneKernel>> only;
};

/// Of a specification that one file alone has: its name and device.
using LoneSpecification = std::string;

struct Comparison {
  std::vector<SpecificationChange> specifications;
  Both<std::vector<LoneSpecification>> only;
};

/// Everything about the records of one file, folded as the report folds them; with what ON_END emitted as a
/// kernel without a name.
struct Compared {
  const report::Summary& summary;
  std::vector<report::SpecificationTotals> specifications;
  explicit Compared(const report::Summary& records);
};

/// Refers to both. Specifications belong together by name and device, or by name where that leaves one on
/// each side; kernels by mangled name and ranges, or by demangled name likewise.
Comparison compare(const Compared& a, const Compared& b);

}  // namespace lynxpp::cli
