// The table of rules that produce findings. docs/findings.md lists them.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/findings/facts.h"

namespace lynxpp::report {

/// Facts that a rule reads: those of a location, then those of its kernel.
class View {
 public:
  View(const KernelFacts& kernel, const LocationFacts* location) : kernel_(kernel), location_(location) {}
  /// Returns 0 if the fact is unknown.
  double operator()(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }

  LocationKind kind() const { return location_ == nullptr ? LocationKind::load : location_->kind; }
  LanePattern lanes() const { return location_ == nullptr ? LanePattern::unknown : location_->lanes; }
  /// True if neighbouring lanes leave bytes between them.
  bool has_gaps() const {
    return lanes() == LanePattern::run_time ||
           (location_ != nullptr && std::fabs(location_->stride) > location_->bytes);
  }
  /// True if neighbouring lanes access neighbouring elements, in ascending or descending order.
  bool is_contiguous() const {
    return lanes() == LanePattern::constant && location_->bytes > 0 &&
           std::fabs(location_->stride) == location_->bytes;
  }
  /// Bytes between neighbouring lanes, as text.
  std::string distance() const;
  /// For atomic operations that compilers combine, the number that remains, as text; else empty.
  std::string combined() const;
  bool is_combined() const { return location_ != nullptr && location_->is_combined; }

 private:
  const double* find(std::string_view name) const;

  const KernelFacts& kernel_;
  const LocationFacts* location_;
};

using Measure = double (*)(const View&);

/// A number that a sentence names as {name}, {name%} in percent, or {name:block} with a noun: "1 block".
struct NamedMeasure {
  std::string_view name;
  Measure measure;
};

struct FindingRule {
  std::string_view name;                ///< a short description
  std::vector<LocationKind> kinds;      ///< kinds of locations that it is about; empty: about the kernel
  std::vector<std::string_view> needs;  ///< facts that the rule requires
  Measure measure;                      ///< the rule applies if this is at least `threshold`
  double threshold = 0;
  Measure saving;  ///< estimate as a share of the kernel's work; null: not estimated
  std::vector<NamedMeasure> numbers;
  /// {what}: the location's "loads", "stores", …; {distance}, {combined}: those members of View
  std::string_view sentence;
  std::string_view why;
  std::string_view what_to_try;
  /// False if locations with this finding are independent of each other, whatever they access.
  bool has_common_causes = true;
};

std::span<const FindingRule> finding_rules();

}  // namespace lynxpp::report
