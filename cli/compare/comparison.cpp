#include "cli/compare/comparison.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/compare/elements.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using report::FoldedNumber;
using report::KernelTotals;
using report::Number;
using report::SpecificationTotals;
using report::Summary;

/// Indices of matching elements in both files' lists, and of those that only one has.
struct Pairing {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  Both<std::vector<std::size_t>> only;
};

template <typename T, typename Key>
void pair_by(const Both<const std::vector<T>*>& all, Key key, Pairing& pairing) {
  std::map<decltype(key(all.a->front())), Both<std::vector<std::size_t>>> by_key;
  for (const std::size_t each : pairing.only.a) by_key[key((*all.a)[each])].a.push_back(each);
  for (const std::size_t each : pairing.only.b) by_key[key((*all.b)[each])].b.push_back(each);
  for (const auto& [name, found] : by_key) {
    if (found.a.size() != 1 || found.b.size() != 1) continue;
    pairing.pairs.emplace_back(found.a[0], found.b[0]);
    std::erase(pairing.only.a, found.a[0]);
    std::erase(pairing.only.b, found.b[0]);
  }
}

/// Pairs elements with the same `exact` key; then, of the rest, those with the same `loose` key. A key pairs
/// only if exactly one element on each side has it.
template <typename T, typename Exact, typename Loose>
Pairing pair_up(const std::vector<T>& a, const std::vector<T>& b, Exact exact, Loose loose) {
  Pairing pairing;
  for (std::size_t i = 0; i < a.size(); ++i) pairing.only.a.push_back(i);
  for (std::size_t i = 0; i < b.size(); ++i) pairing.only.b.push_back(i);
  const Both<const std::vector<T>*> all{&a, &b};
  if (!a.empty() && !b.empty()) {
    pair_by(all, exact, pairing);
    pair_by(all, loose, pairing);
  }
  std::ranges::sort(pairing.pairs);
  return pairing;
}

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

LoneKernel lone(const KernelTotals& kernel, const Summary& other) {
  const auto known = std::ranges::find(other.coverage, kernel.kernel, &report::CoverageRecord::kernel);
  return {&kernel, known == other.coverage.end() ? "" : report::gap_of(*known)};
}

SpecificationChange compare_specifications(const SpecificationTotals& a, const SpecificationTotals& b,
                                           const Both<const Summary*>& summaries) {
  SpecificationChange change{a.spec, {a.device, b.device}, {}, {}, {}};
  const Pairing pairing = pair_up(
      a.kernels, b.kernels, [](const KernelTotals& each) { return std::pair(each.kernel, each.ranges); },
      [](const KernelTotals& each) { return std::pair(demangle(each.kernel), each.ranges); });
  for (const auto& [one, other] : pairing.pairs) {
    const KernelSide left{a.kernels[one], summaries.a->sites_of(a.kernels[one])};
    const KernelSide right{b.kernels[other], summaries.b->sites_of(b.kernels[other])};
    KernelChange kernel = compare_kernels({&a, &b}, left, right);
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
