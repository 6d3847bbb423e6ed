// The rules behind findings in words, as a table. docs/findings.md lists them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "report/findings/facts.h"

namespace lynxpp::report {

/// What a rule sees: facts of a place, and behind them those of its kernel.
class View {
 public:
  View(const KernelFacts& kernel, const PlaceFacts* place) : kernel_(kernel), place_(place) {}
  /// 0: there is none.
  double operator()(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

 private:
  const double* find(std::string_view name) const;

  const KernelFacts& kernel_;
  const PlaceFacts* place_;
};

using Measure = double (*)(const View&);

/// A number that a sentence names as {name}, or as {name%} in percent.
struct NamedMeasure {
  std::string_view name;
  Measure measure;
};

struct FindingRule {
  std::string_view name;                ///< in plain words
  std::vector<PlaceKind> kinds;         ///< of the places that it is about; none: about the kernel
  std::vector<std::string_view> needs;  ///< facts without which it says nothing
  Measure measure;                      ///< it holds where this is at least `threshold`
  double threshold = 0;
  Measure saving;  ///< at most this share of the kernel's work; null: not estimated
  std::vector<NamedMeasure> numbers;
  std::string_view sentence;  ///< {what}: "Loads", "Stores", … of a place
  std::string_view why;
  std::string_view what_to_try;
};

std::span<const FindingRule> finding_rules();

}  // namespace lynxpp::report
