#include "report/totals.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "report/sites.h"

namespace lynxpp::report {
namespace {

void add_scalar(SpecificationTotals& totals, KernelTotals& kernel, const ResultValue& result) {
  auto known = std::find_if(totals.columns.begin(), totals.columns.end(),
                            [&](const ScalarColumn& column) { return column.name == result.name; });
  if (known == totals.columns.end()) {
    totals.columns.push_back({result.name, result.unit, fold_of(result)});
    known = totals.columns.end() - 1;
  }
  kernel.scalars.try_emplace(result.name, known->fold).first->second.add(result, 0);
}

struct ArraySummary {
  Number sum;
  Number least;
  Number greatest;
};

/// Summarizes all elements; there may be millions. Precondition: there is at least one.
ArraySummary summarise(const Values& values) {
  return std::visit(
      [&]<typename T>(const std::vector<T>& elements) -> ArraySummary {
        if constexpr (std::is_floating_point_v<T>) {
          // As for results over launches, NaN affects the sum but not the extremes.
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

/// True if it is a column of a table whose rows have neither labels nor sites.
bool is_of_rows(const ResultValue& result) {
  return !result.table.empty() && !result.extents.empty() && result.labels.empty() &&
         !site_kind_of(result.extent_names);
}

ArrayTotals new_array(const ResultValue& result) {
  ArrayTotals array;
  array.name = result.name;
  array.unit = result.unit;
  array.fold = fold_of(result);
  array.site_kind = site_kind_of(result.extent_names);
  array.table = result.table;
  array.labels = result.labels;
  array.bounds = result.bounds;
  array.extent_names = result.extent_names;
  // The columns of other tables hold keys and values of all kinds.
  array.has_sum = array.fold == Fold::sum && !is_of_rows(result);
  return array;
}

/// True if an element denotes the same thing in all launches.
bool has_same_elements(const ArrayTotals& array, const ResultValue& result) {
  const bool are_labelled = !result.labels.empty() && !array.labels.empty();
  const std::size_t first = are_labelled ? 1 : 0;
  return array.bounds == result.bounds && result.labels.empty() == array.labels.empty() &&
         array.extents.size() == result.extents.size() &&
         std::equal(array.extents.begin() + static_cast<std::ptrdiff_t>(first), array.extents.end(),
                    result.extents.begin() + static_cast<std::ptrdiff_t>(first));
}

/// Returns where in `each` every index of the first extent begins; appends new labels.
std::vector<std::size_t> positions_of(ArrayTotals& array, const ResultValue& result, std::size_t inner) {
  std::vector<std::size_t> positions;
  const std::uint64_t rows = result.extents.empty() ? 0 : result.extents[0];
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::size_t position = row;
    if (!result.labels.empty()) {
      const auto known = std::ranges::find(array.labels, result.labels[row]);
      position = static_cast<std::size_t>(known - array.labels.begin());
      if (known == array.labels.end()) array.labels.push_back(result.labels[row]);
    }
    positions.push_back(position * inner);
  }
  return positions;
}

/// Adds the elements to the same ones of other launches. `is_first`: no launch was added before.
void add_elements(ArrayTotals& array, const ResultValue& result, bool is_first, std::size_t kept) {
  const std::size_t elements = size_of(result.values);
  const bool has_same_layout = is_first || (!array.each.empty() && has_same_elements(array, result));
  const std::size_t most = array.site_kind ? kept_sites : kept;
  array.extents = result.extents;
  array.elements = elements;
  if (!has_same_layout || elements > most || is_of_rows(result)) return array.each.clear();
  const std::size_t rows = result.extents.empty() || result.extents[0] == 0 ? 1 : result.extents[0];
  const std::size_t inner = elements / rows;
  const std::vector<std::size_t> positions = positions_of(array, result, inner);
  if (!array.labels.empty() && !array.extents.empty()) {
    array.extents[0] = array.labels.size();
    array.elements = array.labels.size() * inner;
  }
  if (array.elements > most) return array.each.clear();
  array.each.resize(array.elements, FoldedNumber(array.fold));
  for (std::size_t i = 0; i < elements; ++i) array.each[positions[i / inner] + i % inner].add(result, i);
}

void add_array(KernelTotals& kernel, const ResultValue& result, std::uint64_t launches, std::size_t kept) {
  auto known = std::find_if(kernel.arrays.begin(), kernel.arrays.end(),
                            [&](const ArrayTotals& array) { return array.name == result.name; });
  const bool is_first = known == kernel.arrays.end();
  if (is_first) known = kernel.arrays.insert(known, new_array(result));
  known->below = std::accumulate(result.underflow.begin(), result.underflow.end(), known->below);
  known->beyond = std::accumulate(result.overflow.begin(), result.overflow.end(), known->beyond);
  add_elements(*known, result, is_first, kept);
  if (size_of(result.values) == 0) return;
  known->summed_elements += launches * size_of(result.values);
  const ArraySummary summary = summarise(result.denominators ? quotients(result) : result.values);
  known->sum.add(summary.sum);
  known->has_extremes &= launches == 1;
  if (!known->has_extremes) {
    known->least = FoldedNumber(Fold::minimum);
    known->greatest = FoldedNumber(Fold::maximum);
    return;
  }
  known->least.add(summary.least);
  known->greatest.add(summary.greatest);
}

void add_tables(KernelTotals& kernel, const LaunchRecord& record, std::size_t kept) {
  std::map<std::string, std::vector<const ResultValue*>> tables;
  for (const ResultValue& result : record.results) {
    if (is_of_rows(result)) tables[result.table].push_back(&result);
  }
  for (const auto& [name, results] : tables) {
    std::vector<TableTotals::Column> columns = TableTotals::columns_of(results);
    auto known = std::ranges::find_if(kernel.tables, [&](const TableTotals& table) {
      return table.name() == name && table.columns() == columns;
    });
    if (known == kernel.tables.end())
      known = kernel.tables.insert(known, TableTotals(name, std::move(columns), kept));
    known->add(results, record.launch, record.allocations);
  }
}

/// Drops values by site if the kernel's code changed: its sites differ.
void forget_sites(KernelTotals& kernel) {
  for (ArrayTotals& array : kernel.arrays) {
    if (array.site_kind) array.each.clear();
  }
}

void add_notes(KernelTotals& kernel, const LaunchRecord& record) {
  std::set<std::string_view> seen;
  for (const std::string& note : record.notes) {
    auto known = std::ranges::find(kernel.notes, note, &NoteTotals::text);
    const bool is_repeated = !seen.insert(note).second;
    if (known == kernel.notes.end() && kernel.notes.size() >= shown_notes) {
      kernel.further_notes += is_repeated ? 0 : 1;
      continue;
    }
    if (known == kernel.notes.end()) known = kernel.notes.insert(known, {note, 0, 0});
    ++known->times;
    if (!is_repeated) ++known->records;
    known->is_of_launches &= !record.shared;
  }
}

void add_extent(LaunchExtent& extent, const std::uint32_t (&launched)[3], bool is_first) {
  const bool is_same = std::equal(std::begin(launched), std::end(launched), std::begin(extent.extent));
  extent.differs = extent.differs || (!is_first && !is_same);
  std::copy(std::begin(launched), std::end(launched), extent.extent);
}

}  // namespace

std::string to_text(const NoteTotals& note) {
  const std::string records = std::to_string(note.records) + (note.is_of_launches ? " launches" : " records");
  if (note.times == 1) return note.text;
  if (note.times == note.records) return note.text + " (" + records + ")";
  return note.text + " (" + std::to_string(note.times) + " times" +
         (note.records == 1 ? "" : " in " + records) + ")";
}

std::string path_of(const std::vector<std::string>& ranges) {
  std::string path;
  for (const std::string& range : ranges) path += (path.empty() ? "" : "/") + range;
  return path;
}

void SpecificationTotals::add(const LaunchRecord& record) {
  const std::string module = record.place ? record.place->module : "";
  const auto [entry, is_new] = index_.try_emplace({record.kernel, module, record.ranges}, kernels.size());
  if (is_new) {
    kernels.emplace_back();
    kernels.back().kernel = record.kernel;
    kernels.back().module = module;
    kernels.back().ranges = record.ranges;
  }
  KernelTotals& kernel = kernels[entry->second];
  const std::uint64_t launches = record.launches();
  kernel.launches += launches;
  kernel.thread_blocks += static_cast<double>(launches) * record.grid[0] * record.grid[1] * record.grid[2];
  add_extent(kernel.grid, record.grid, is_new);
  add_extent(kernel.block, record.block, is_new);
  if (record.sites) {
    if (kernel.sites && *kernel.sites != *record.sites) forget_sites(kernel);
    kernel.sites = record.sites;
  }
  for (const ResultValue& result : record.results) {
    if (!result.texts.empty()) continue;  // the numbers are meaningless outside of the table
    if (!result.extents.empty()) {
      add_array(kernel, result, launches, kept);
    } else if (size_of(result.values) != 0) {
      add_scalar(*this, kernel, result);
    }
  }
  add_tables(kernel, record, kept);
  add_notes(kernel, record);
}

}  // namespace lynxpp::report
