// Differences between two files in one result, one array and one kernel.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/number.h"
#include "report/sites.h"
#include "report/totals.h"

namespace lynxpp::cli {

/// One value for each of the two files.
template <typename T>
struct Both {
  T a{};
  T b{};
};

/// False for addresses and keys, which have no differences or ratios.
bool is_amount(report::Fold fold);

/// One value in both files; nullopt if a file lacks it.
struct Change {
  std::optional<report::FoldedNumber> a;
  std::optional<report::FoldedNumber> b;
  report::Fold fold = report::Fold::sum;

  /// False for an element that one file lacks and that is zero in the other.
  bool is_change() const;
  /// b - a; NaN if a value is missing or the values are not quantities (addresses).
  report::Number difference() const;
  /// b / a; NaN in the same cases and if a is 0.
  report::Number ratio() const;
  /// How far the ratio is from 1, in either direction; infinite if a value is 0 or missing or the signs
  /// differ; 0 if the values are not quantities.
  double factor() const;
  /// The absolute difference; a missing value counts as 0.
  double distance() const;
};

struct ResultChange {
  std::string name;  ///< for arrays "sum(NAME)", "min(NAME)", …
  std::string unit;
  Change change;
};

/// An element of an array, a row of a map, or a site in the program.
struct ElementChange {
  std::string key;                        ///< "[3]", a label, bins, or the map's keys; empty for a site
  std::optional<report::SiteLabel> site;  ///< as in the second file, else as in the first
  Change change;
};

/// Changes among the elements of an array or the rows of a map.
struct ArrayChange {
  std::string name;
  std::string unit;
  std::optional<report::SiteKind> kind;
  /// True if the kernel's code differs between the files: then the instructions of a function with one opcode
  /// and one object are folded into one, whose label is that of the largest value.
  bool is_folded = false;
  std::vector<ElementChange> elements;  ///< largest distance first
  std::size_t unchanged = 0;
};

struct KernelChange {
  Both<const report::KernelTotals*> kernel;
  std::vector<ResultChange> results;      ///< changed results, largest factor first
  std::size_t unchanged = 0;              ///< results that are equal
  std::vector<ArrayChange> arrays;        ///< arrays with changes
  Both<std::vector<std::string>> notes;   ///< notes that only one file has
  std::vector<std::string> not_compared;  ///< the result, and why it was not compared

  bool is_change() const;
  double factor() const;  ///< largest factor of its results
};

/// Returns "+3.1 %" or "-94 %" for a change by a share of the first value; "from 0" for an infinite one.
std::string growth_text(double share);

}  // namespace lynxpp::cli
