#include "report/totals.h"

#include <algorithm>
#include <numeric>

#include "report/sites.h"

namespace lynxpp::report {
namespace {

void add_scalar(SpecificationTotals& totals, KernelTotals& kernel, const ResultValue& result) {
  const auto known = std::find_if(totals.columns.begin(), totals.columns.end(),
                                  [&](const ScalarColumn& column) { return column.name == result.name; });
  const Fold fold = fold_of(result.name);
  if (known == totals.columns.end()) totals.columns.push_back({result.name, result.unit, fold});
  kernel.scalars.try_emplace(result.name, fold).first->second.add(number_at(result.values, 0));
}

struct ArraySummary {
  Number sum;
  Number least;
  Number greatest;
};

/// Over all elements, of which there may be millions. Precondition: there is one.
ArraySummary summarise(const Values& values) {
  return std::visit(
      [&]<typename T>(const std::vector<T>& elements) -> ArraySummary {
        if constexpr (std::is_floating_point_v<T>) {
          // As a launch's result: what is no number shows in the sum and leaves the extremes alone.
          FoldedNumber sum(Fold::sum);
          FoldedNumber least(Fold::minimum);
          FoldedNumber greatest(Fold::maximum);
          for (const T element : elements) {
            for (FoldedNumber* fold : {&sum, &least, &greatest}) fold->add(Number::of_real(element));
          }
          return {sum.value(), least.value(), greatest.value()};
        } else {
          WideInteger sum = 0;
          T least = elements.front();
          T greatest = elements.front();
          for (const T element : elements) {
            sum += element;
            least = std::min(least, element);
            greatest = std::max(greatest, element);
          }
          return {Number::of(sum), Number::of(least), Number::of(greatest)};
        }
      },
      values);
}

void add_array(KernelTotals& kernel, const ResultValue& result) {
  auto known = std::find_if(kernel.arrays.begin(), kernel.arrays.end(),
                            [&](const ArrayTotals& array) { return array.name == result.name; });
  const std::size_t elements = size_of(result.values);
  const std::optional<SiteKind> site_kind = site_kind_of(result.extent_names);
  const bool is_listed = result.extents.size() == 1 && elements <= (site_kind ? kept_sites : listed_elements);
  // Elements of an array are summed unless the name says that they are extremes or means themselves.
  const bool is_ratio = result.name.find("_per_") != std::string::npos;
  const Fold fold = is_ratio ? Fold::sum : fold_of(result.name);
  if (known == kernel.arrays.end()) {
    kernel.arrays.emplace_back();
    known = kernel.arrays.end() - 1;
    known->name = result.name;
    known->unit = result.unit;
    known->site_kind = site_kind;
    known->table = result.table;
    known->bounds = result.bounds;
    known->labels = result.labels;
    if (is_listed) known->each.assign(elements, FoldedNumber(fold));
  } else if ((!result.table.empty() && result.labels.empty()) || known->labels != result.labels ||
             known->bounds != result.bounds) {
    known->each.clear();  // other rows, other bins: not to be added up
  }
  if (!is_listed || known->each.size() != elements) known->each.clear();
  known->below = std::accumulate(result.underflow.begin(), result.underflow.end(), known->below);
  known->beyond = std::accumulate(result.overflow.begin(), result.overflow.end(), known->beyond);
  known->extents = result.extents;
  known->elements = elements;
  if (elements == 0) return;
  const ArraySummary summary = summarise(result.values);
  known->sum.add(summary.sum);
  known->least.add(summary.least);
  known->greatest.add(summary.greatest);
  for (std::size_t i = 0; i < known->each.size(); ++i) known->each[i].add(number_at(result.values, i));
}

/// Other code of the same name: its sites are not those before.
void forget_sites(KernelTotals& kernel) {
  for (ArrayTotals& array : kernel.arrays) {
    if (array.site_kind) array.each.clear();
  }
}

void add_note(KernelTotals& kernel, const std::string& note) {
  const auto known = std::find_if(kernel.notes.begin(), kernel.notes.end(),
                                  [&](const auto& entry) { return entry.first == note; });
  if (known != kernel.notes.end()) {
    ++known->second;
  } else if (kernel.notes.size() < shown_notes) {
    kernel.notes.emplace_back(note, 1);
  } else {
    ++kernel.further_notes;
  }
}

}  // namespace

Fold fold_of(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  for (const std::string_view prefix : {"mean", "avg", "average"}) {
    if (name.starts_with(prefix)) return Fold::mean;
  }
  if (has("efficiency") || has("_per_") || name.ends_with("imbalance") || name.ends_with("ratio"))
    return Fold::mean;
  if (name.starts_with("max")) return Fold::maximum;
  if (name.starts_with("min")) return Fold::minimum;
  return Fold::sum;
}

std::string_view name_of(Fold fold) {
  switch (fold) {
    case Fold::mean: return "mean";
    case Fold::minimum: return "min";
    case Fold::maximum: return "max";
    case Fold::sum: break;
  }
  return "sum";
}

void FoldedNumber::add(const Number& value) {
  if (fold_ != Fold::sum && value.is_nan()) return;
  const bool is_first = count_++ == 0;
  if (is_first) {
    number_ = value;
  } else if (fold_ == Fold::minimum) {
    if (value < number_) number_ = value;
  } else if (fold_ == Fold::maximum) {
    if (number_ < value) number_ = value;
  } else {
    number_ = number_ + value;
  }
}

Number FoldedNumber::value() const {
  if (count_ == 0) return Number::of_real(__builtin_nan(""));
  if (fold_ != Fold::mean || count_ == 1) return number_;
  return Number::of_real(number_.as_double() / static_cast<double>(count_));
}

void SpecificationTotals::add(const LaunchRecord& record) {
  const auto [place, is_new] = index_.try_emplace(record.kernel, kernels.size());
  if (is_new) {
    kernels.emplace_back();
    kernels.back().kernel = record.kernel;
  }
  KernelTotals& kernel = kernels[place->second];
  ++kernel.launches;
  std::copy(std::begin(record.grid), std::end(record.grid), kernel.grid);
  std::copy(std::begin(record.block), std::end(record.block), kernel.block);
  if (record.sites) {
    if (kernel.sites && *kernel.sites != *record.sites) forget_sites(kernel);
    kernel.sites = record.sites;
  }
  for (const ResultValue& result : record.results) {
    if (!result.extents.empty()) {
      add_array(kernel, result);
    } else if (size_of(result.values) != 0) {
      add_scalar(*this, kernel, result);
    }
  }
  for (const std::string& note : record.notes) add_note(kernel, note);
}

}  // namespace lynxpp::report
