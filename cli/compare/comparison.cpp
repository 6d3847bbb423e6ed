#include "cli/compare/comparison.h"

#include <algorithm>
#include <utility>

#include "cli/compare/elements.h"
#include "cli/compare/noise.h"
#include "cli/compare/pairing.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using report::FoldedNumber;
using report::KernelTotals;
using report::Number;
using report::SpecificationTotals;
using report::Summary;

/// The numeric results of one kernel, including those of whole arrays, in the order in which they were added.
class Results {
 public:
  void add(std::optional<FoldedNumber> Change::*side, const std::string& name, const std::string& unit,
           report::Fold fold, const FoldedNumber& value) {
    auto known = std::ranges::find(results_, name, &ResultChange::name);
    if (known == results_.end()) known = results_.insert(known, {name, unit, {{}, {}, fold}});
    known->change.*side = value;
  }

  void add_all(std::optional<FoldedNumber> Change::*side, const SpecificationTotals& totals,
               const KernelTotals& kernel) {
    for (const report::ScalarColumn& column : totals.columns) {
      const auto value = kernel.scalars.find(column.name);
      if (value != kernel.scalars.end()) add(side, column.name, column.unit, column.fold, value->second);
    }
    for (const report::ArrayTotals& array : kernel.arrays) add_whole(side, array);
  }

  std::vector<ResultChange> take() { return std::move(results_); }

 private:
  void add_whole(std::optional<FoldedNumber> Change::*side, const report::ArrayTotals& array) {
    using report::Fold;
    const std::string of = "(" + array.name + ")";
    if (array.has_sum) {
      add(side, "sum" + of, array.unit, Fold::sum, array.sum);
    } else if (is_amount(array.fold) && array.elements != 0) {
      add(side, "min" + of, array.unit, Fold::minimum, array.least);
      add(side, "max" + of, array.unit, Fold::maximum, array.greatest);
    }
    if (array.bounds.empty()) return;
    FoldedNumber below(Fold::sum);
    below.add(Number::of(array.below));
    FoldedNumber beyond(Fold::sum);
    beyond.add(Number::of(array.beyond));
    add(side, "below" + of, "", Fold::sum, below);
    add(side, "beyond" + of, "", Fold::sum, beyond);
  }

  std::vector<ResultChange> results_;
};

void compare_notes(const KernelTotals& a, const KernelTotals& b, KernelChange& change) {
  const auto only = [](const KernelTotals& one, const KernelTotals& other) {
    std::vector<std::string> notes;
    for (const report::NoteTotals& note : one.notes) {
      if (std::ranges::find(other.notes, note.text, &report::NoteTotals::text) == other.notes.end())
        notes.push_back(to_text(note));
    }
    return notes;
  };
  change.notes = {only(a, b), only(b, a)};
}

/// Removes changes that a repetition of the same run may show. Returns false if there were some.
bool without_noise(const Both<const SpecificationTotals*>& totals, const Both<const Summary*>& summaries,
                   KernelChange& change) {
  const auto of = [&](const std::string& unit, const std::vector<std::string>& extents) {
    return std::max(repeats(*totals.a, unit, extents, *summaries.a),
                    repeats(*totals.b, unit, extents, *summaries.b));
  };
  const auto extents_of = [&](const std::string& name) {
    const auto array = std::ranges::find(change.kernel.b->arrays, name, &report::ArrayTotals::name);
    return array == change.kernel.b->arrays.end() ? std::vector<std::string>() : array->extent_names;
  };
  const std::size_t removed =
      std::erase_if(change.results,
                    [&](const ResultChange& each) {
                      const std::size_t open = each.name.find('(');
                      const std::string array = open == std::string::npos ? "" : each.name.substr(open + 1);
                      return is_noise(each.change,
                                      of(each.unit, extents_of(array.substr(0, array.find(')')))));
                    }) +
      std::erase_if(change.arrays, [&](const ArrayChange& each) {
        return of(each.unit, extents_of(each.name)) != Repeats::exactly;
      });
  return removed == 0;
}

KernelChange compare_kernels(const Both<const SpecificationTotals*>& totals, const KernelSide& a,
                             const KernelSide& b) {
  KernelChange change;
  change.kernel = {&a.kernel, &b.kernel};
  Results results;
  results.add_all(&Change::a, *totals.a, a.kernel);
  results.add_all(&Change::b, *totals.b, b.kernel);
  change.results = results.take();
  const std::size_t all = change.results.size();
  std::erase_if(change.results, [](const ResultChange& each) { return !each.change.is_change(); });
  change.unchanged = all - change.results.size();
  std::ranges::stable_sort(change.results, std::ranges::greater(), [](const ResultChange& each) {
    return std::pair(each.change.factor(), each.change.distance());
  });
  compare_elements(a, b, change);
  compare_notes(a.kernel, b.kernel, change);
  return change;
}

UnpairedKernel lone(const KernelTotals& kernel, const Summary& other) {
  const auto known = std::ranges::find(other.coverage, kernel.kernel, &report::CoverageRecord::kernel);
  return {&kernel, known == other.coverage.end() ? "" : report::gap_of(*known)};
}

SpecificationChange compare_specifications(const SpecificationTotals& a, const SpecificationTotals& b,
                                           const Both<const Summary*>& summaries) {
  SpecificationChange change{a.spec, {a.device, b.device}, {}, {}, {}};
  const Pairing pairing = pair_kernels(a.kernels, b.kernels);
  for (const auto& [one, other] : pairing.pairs) {
    const KernelSide left{a.kernels[one], summaries.a->sites_of(a.kernels[one])};
    const KernelSide right{b.kernels[other], summaries.b->sites_of(b.kernels[other])};
    KernelChange kernel = compare_kernels({&a, &b}, left, right);
    change.has_noise |= !without_noise({&a, &b}, summaries, kernel);
    if (kernel.is_change()) {
      change.kernels.push_back(std::move(kernel));
    } else {
      change.unchanged.push_back(&a.kernels[one]);
    }
  }
  std::ranges::stable_sort(change.kernels, std::ranges::greater(), &KernelChange::factor);
  for (const std::size_t each : pairing.only.a) change.only.a.push_back(lone(a.kernels[each], *summaries.b));
  for (const std::size_t each : pairing.only.b) change.only.b.push_back(lone(b.kernels[each], *summaries.a));
  return change;
}

}  // namespace

Compared::Compared(const Summary& records) : summary(records), specifications(records.specifications) {
  for (const report::TotalRecord& total : records.totals) {
    auto known = std::ranges::find_if(specifications, [&](const SpecificationTotals& each) {
      return each.spec == total.spec && each.device.empty();
    });
    if (known == specifications.end()) {
      known = specifications.insert(known, SpecificationTotals());
      known->spec = total.spec;
    }
    report::LaunchRecord whole;
    whole.spec = total.spec;
    whole.results = total.results;
    whole.notes = total.notes;
    known->add(whole);
  }
}

Comparison compare(const Compared& a, const Compared& b) {
  Comparison comparison;
  // Values that ON_END emitted belong to no device and to no launch.
  const Pairing pairing = pair_up(
      a.specifications, b.specifications,
      [](const SpecificationTotals& each) { return std::pair(each.spec, each.device); },
      [](const SpecificationTotals& each) { return std::pair(each.spec, each.device.empty()); });
  for (const auto& [one, other] : pairing.pairs) {
    comparison.specifications.push_back(
        compare_specifications(a.specifications[one], b.specifications[other], {&a.summary, &b.summary}));
  }
  const auto name_of = [](const SpecificationTotals& each) {
    return each.spec + (each.device.empty() ? " at the end" : " on " + each.device);
  };
  for (const std::size_t each : pairing.only.a) comparison.only.a.push_back(name_of(a.specifications[each]));
  for (const std::size_t each : pairing.only.b) comparison.only.b.push_back(name_of(b.specifications[each]));
  return comparison;
}

}  // namespace lynxpp::cli
