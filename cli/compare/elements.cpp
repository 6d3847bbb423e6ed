#include "cli/compare/elements.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "report/number.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using report::ArrayTotals;
using report::FoldedNumber;
using report::SiteKind;
using report::SitesRecord;
using report::TableTotals;

/// Elements by their key, in order of appearance.
class Elements {
 public:
  explicit Elements(report::Fold fold) : fold_(fold) {}

  /// `is_label`: `site` describes the element.
  void add(std::optional<FoldedNumber> Change::*side, const std::string& key, const FoldedNumber& value,
           const std::optional<report::SiteLabel>& site = {}, bool is_label = true) {
    const auto [known, is_new] = index_.try_emplace(key, elements_.size());
    if (is_new) elements_.push_back({site ? "" : key, site, {{}, {}, fold_}});
    ElementChange& element = elements_[known->second];
    if (site && site->ptx_line != 0 && is_label) element.site = site;
    std::optional<FoldedNumber>& sum = element.change.*side;
    if (!sum) sum.emplace(fold_);
    sum->add(value);
  }

  /// Moves the changed elements to `array`, largest distance first.
  void finish(ArrayChange& array) && {
    std::erase_if(elements_, [](const ElementChange& each) { return !each.change.is_change(); });
    array.unchanged = index_.size() - elements_.size();
    std::ranges::stable_sort(elements_, std::ranges::greater(),
                             [](const ElementChange& each) { return each.change.distance(); });
    array.elements = std::move(elements_);
  }

 private:
  report::Fold fold_;
  std::vector<ElementChange> elements_;
  std::map<std::string, std::size_t> index_;
};

/// Returns a different text for each different number.
std::string key_text(const report::Number& number) {
  if (!number.is_real) return to_text(number);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", number.real);
  return text.data();
}

/// True if instruction numbers denote the same instructions in both files. If a table is missing, it cannot
/// be checked and is assumed.
bool is_same_code(const SitesRecord* a, const SitesRecord* b) {
  if (a == nullptr || b == nullptr) return true;
  const auto is_same_function = [](const std::string& one, const std::string& other) {
    return one == other || demangle(one) == demangle(other);
  };
  return std::ranges::equal(a->functions, b->functions, is_same_function) && a->blocks == b->blocks &&
         std::ranges::equal(a->instructions, b->instructions, [&](const auto& one, const auto& other) {
           return one.block == other.block && a->opcodes[one.opcode] == b->opcodes[other.opcode];
         });
}

void add_sites(const ArrayTotals& array, const SitesRecord* sites, bool is_folded,
               std::optional<FoldedNumber> Change::*side, Elements& elements) {
  std::map<std::string, report::Number> largest;
  for (std::size_t id = 0; id < array.each.size(); ++id) {
    const report::SiteLabel site = report::label_of(sites, *array.site_kind, id);
    std::string key = std::to_string(id);
    if (is_folded) key = site.function + "\n" + site.opcode + "\n" + site.object;
    const report::Number value = array.each[id].value();
    const auto [known, is_first] = largest.try_emplace(key, value);
    const bool is_label = is_first || known->second < value;
    if (is_label) known->second = value;
    elements.add(side, key, array.each[id], site, is_label);
  }
}

std::string bin_of(const ArrayTotals& array, std::size_t bin) {
  return "[" + std::to_string(array.bounds[bin]) + ", " + std::to_string(array.bounds[bin + 1]) + ")";
}

/// Returns "[2][3]", with a label for the first and a bin for the last index if the array has them.
std::string key_of(const ArrayTotals& array, std::size_t element) {
  std::string key;
  for (std::size_t dimension = array.extents.size(); dimension-- > 0;) {
    const std::uint64_t index = element % array.extents[dimension];
    element /= array.extents[dimension];
    const bool is_bin = !array.bounds.empty() && dimension + 1 == array.extents.size();
    const bool has_label = dimension == 0 && !array.labels.empty();
    std::string text = "[" + std::to_string(index) + "]";
    if (is_bin) text = bin_of(array, index);
    if (has_label) text = array.labels[index];
    key = text + key;
  }
  return key;
}

void add_elements(const ArrayTotals& array, std::optional<FoldedNumber> Change::*side, Elements& elements) {
  for (std::size_t i = 0; i < array.each.size(); ++i) elements.add(side, key_of(array, i), array.each[i]);
}

/// Returns why the elements of the arrays cannot be compared; empty if they can.
std::string gap_between(const ArrayTotals& a, const ArrayTotals& b) {
  if (a.fold != b.fold || a.site_kind != b.site_kind) return "its kind differs";
  if (a.each.empty() || b.each.empty())
    return "it has too many elements, or they changed from launch to launch";
  if (a.bounds != b.bounds) return "its bins differ";
  if (a.extents.size() != b.extents.size() ||
      !std::equal(a.extents.begin() + 1, a.extents.end(), b.extents.begin() + 1))
    return "its extents differ";
  return a.labels.empty() == b.labels.empty() ? "" : "its elements are named in only one file";
}

void compare_array(const ArrayTotals& a, const ArrayTotals& b, const Both<const SitesRecord*>& sites,
                   KernelChange& change) {
  std::string gap = gap_between(a, b);
  ArrayChange array{a.name, a.unit, a.site_kind, false, {}, 0};
  if (gap.empty() && array.kind) {
    const bool has_keys = sites.a != nullptr && sites.b != nullptr;
    array.is_folded = !is_same_code(sites.a, sites.b) || (has_keys && a.each.size() != b.each.size());
    if (!has_keys && a.each.size() != b.each.size()) gap = "a file has no table of its sites";
    if (array.is_folded && array.kind == SiteKind::basic_block) gap = "the code differs";
  }
  if (!gap.empty()) {
    if (a.elements != 0 || b.elements != 0) change.not_compared.push_back(a.name + " by element: " + gap);
    return;
  }
  Elements elements(a.fold);
  if (array.kind) {
    add_sites(a, sites.a, array.is_folded, &Change::a, elements);
    add_sites(b, sites.b, array.is_folded, &Change::b, elements);
  } else {
    add_elements(a, &Change::a, elements);
    add_elements(b, &Change::b, elements);
  }
  std::move(elements).finish(array);
  if (!array.elements.empty()) change.arrays.push_back(std::move(array));
}

void add_rows(const TableTotals& table, std::size_t column, std::optional<FoldedNumber> Change::*side,
              Elements& elements) {
  for (const TableTotals::Row& row : table.rows()) {
    std::string key;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const bool is_key = table.columns()[i].fold == report::Fold::key;
      if (!is_key) continue;
      key += (key.empty() ? "" : " ") +
             (table.columns()[i].is_text ? table.text_in(row, i) : key_text(row.cells[i].value()));
    }
    elements.add(side, key, row.cells[column]);
  }
}

void compare_table(const TableTotals& a, const TableTotals& b, KernelChange& change) {
  std::string gap;
  if (!a.has_keys()) gap = "its rows have no keys";
  if (a.columns() != b.columns()) gap = "its columns differ";
  if (gap.empty() && a.further() + b.further() != 0) gap = "rows of it are missing";
  if (!gap.empty()) return change.not_compared.push_back(a.name() + " by row: " + gap);
  for (std::size_t column = 0; column < a.columns().size(); ++column) {
    const TableTotals::Column& of = a.columns()[column];
    if (of.fold == report::Fold::key) continue;
    ArrayChange array{a.name() + "." + of.name, of.unit, {}, false, {}, 0};
    Elements elements(of.fold);
    add_rows(a, column, &Change::a, elements);
    add_rows(b, column, &Change::b, elements);
    std::move(elements).finish(array);
    if (!array.elements.empty()) change.arrays.push_back(std::move(array));
  }
}

/// True for a column of a table whose rows have neither labels nor sites: it is compared with its table.
bool is_of_table(const ArrayTotals& array) {
  return !array.table.empty() && !array.site_kind && array.labels.empty();
}

}  // namespace

void compare_elements(const KernelSide& a, const KernelSide& b, KernelChange& change) {
  for (const ArrayTotals& array : a.kernel.arrays) {
    const auto other = std::ranges::find(b.kernel.arrays, array.name, &ArrayTotals::name);
    if (other == b.kernel.arrays.end() || is_of_table(array)) continue;
    compare_array(array, *other, {a.sites, b.sites}, change);
  }
  for (const TableTotals& table : a.kernel.tables) {
    const auto other = std::ranges::find(b.kernel.tables, table.name(), &TableTotals::name);
    if (other != b.kernel.tables.end()) compare_table(table, *other, change);
  }
}

}  // namespace lynxpp::cli
