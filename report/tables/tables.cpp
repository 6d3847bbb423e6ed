#include "report/tables/tables.h"

#include <algorithm>

#include "support/check.h"

namespace lynxpp::report {
namespace {

/// Limit on rows folded by key; further ones stay separate by launch.
constexpr std::size_t most_keys = 1 << 18;

bool is_same(const Number& a, const Number& b) {
  return (a.is_nan() && b.is_nan()) || (!(a < b) && !(b < a) && a.is_nan() == b.is_nan());
}

std::string index_text(std::size_t index, const std::vector<std::uint64_t>& extents) {
  std::string text;
  for (std::size_t i = extents.size(); i-- > 0;) {
    text = std::to_string(index % extents[i]) + (text.empty() ? "" : " ") + text;
    index /= extents[i];
  }
  return text;
}

std::string column_name(const ResultValue& result) {
  const std::string prefix = result.table + ".";
  return result.name.starts_with(prefix) ? result.name.substr(prefix.size()) : result.name;
}

}  // namespace

Fold fold_of(std::string_view name) {
  const auto has = [name](std::string_view part) { return name.find(part) != std::string_view::npos; };
  for (const std::string_view prefix : {"mean", "avg", "average"}) {
    if (name.starts_with(prefix)) return Fold::mean;
  }
  if (has("efficiency") || has("_per_") || name.ends_with("imbalance") || name.ends_with("ratio"))
    return Fold::mean;
  const bool is_opcode = name.size() > 3 && name[3] == '.';
  if (name.starts_with("max") && !is_opcode) return Fold::maximum;
  if (name.starts_with("min") && !is_opcode) return Fold::minimum;
  return Fold::sum;
}

Fold fold_of(const ResultValue& result) {
  if (result.fold) return *result.fold;
  if (result.denominators) return Fold::ratio;
  if (result.unit == "address" || result.unit == "mask" || result.unit == "id") return Fold::same;
  const std::string name = result.table.empty() ? result.name : column_name(result);
  const bool is_array = !result.extents.empty();
  return is_array && name.find("_per_") != std::string::npos ? Fold::sum : fold_of(name);
}

void FoldedNumber::add(const ResultValue& result, std::size_t index) {
  const bool is_ratio = fold_ == Fold::ratio && result.denominators;
  if (is_ratio) return add(number_at(result.values, index), number_at(*result.denominators, index));
  add(number_at(result, index));
}

void FoldedNumber::add(const Number& value, const Number& denominator) {
  const bool is_amount = fold_ == Fold::sum || fold_ == Fold::ratio;
  const bool is_identity = fold_ == Fold::same || fold_ == Fold::key || fold_ == Fold::concatenate;
  if (!is_amount && !is_identity && value.is_nan()) return;
  if (count_++ == 0) {
    number_ = value;
    denominator_ = denominator;
  } else if (fold_ == Fold::first) {
    return;
  } else if (fold_ == Fold::last) {
    number_ = value;
  } else if (is_identity) {
    differs_ = differs_ || !is_same(number_, value);
  } else if (fold_ == Fold::minimum) {
    if (value < number_) number_ = value;
  } else if (fold_ == Fold::maximum) {
    if (number_ < value) number_ = value;
  } else {
    number_ = number_ + value;
    denominator_ = denominator_ + denominator;
  }
}

void FoldedNumber::add(const FoldedNumber& other) {
  LYNXPP_CHECK(fold_ == other.fold_, "numbers of different folds");
  if (other.count_ == 0) return;
  const std::uint64_t count = count_ + other.count_;
  add(other.number_, other.denominator_);
  count_ = count;
  differs_ = differs_ || other.differs_;
}

std::optional<Fraction> FoldedNumber::fraction() const {
  if (fold_ != Fold::ratio || count_ == 0) return std::nullopt;
  return Fraction{number_, denominator_};
}

Number FoldedNumber::value() const {
  if (count_ == 0 || differs_) return Number::of_real(__builtin_nan(""));
  if (fold_ == Fold::ratio) return quotient(number_, denominator_);
  if (fold_ != Fold::mean || count_ == 1) return number_;
  return Number::of_real(number_.as_double() / static_cast<double>(count_));
}

std::string to_text(const FoldedNumber& value, NumberStyle style) {
  return value.differs() ? "varies" : to_text(value.value(), style);
}

std::string to_text(const FoldedNumber& value, std::string_view name, std::string_view unit,
                    NumberStyle style) {
  if (value.differs() || !is_of_bits(name, unit)) return to_text(value, style);
  return hexadecimal(value.value());
}

namespace {

bool is_address(const ResultValue& result) {
  return is_of_bits(result.name, result.unit) && !result.name.ends_with("mask") && result.unit != "mask" &&
         fold_of(result) != Fold::minimum && fold_of(result) != Fold::maximum;
}

/// Texts have no sum, mean, minimum or maximum: their numbers only identify them.
Fold fold_of_texts(Fold fold) {
  const bool is_amount = fold == Fold::sum || fold == Fold::mean || fold == Fold::ratio ||
                         fold == Fold::minimum || fold == Fold::maximum;
  return is_amount ? Fold::same : fold;
}

/// Returns "0x7f0000000040 #3+0x40".
std::string address_text(const Number& address, std::span<const NamedAllocation> allocations) {
  std::string text = hexadecimal(address);
  if (address.is_real || address.integer < 0) return text;
  const auto where = static_cast<std::uint64_t>(address.integer);
  const auto next = std::ranges::upper_bound(allocations, where, {}, &NamedAllocation::address);
  if (next == allocations.begin()) return text;
  const NamedAllocation& allocation = *std::prev(next);
  const std::uint64_t offset = where - allocation.address;
  if (offset >= allocation.bytes) return text;
  return text + " " + allocation.name + "+" + hexadecimal(Number::of(offset));
}

}  // namespace

bool TableTotals::Less::operator()(const std::vector<Number>& a, const std::vector<Number>& b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

TableTotals::TableTotals(std::string name, std::vector<Column> columns, std::size_t kept)
    : name_(std::move(name)), columns_(std::move(columns)), kept_(kept) {
  LYNXPP_CHECK(!columns_.empty(), "a table without columns");
  has_keys_ = std::ranges::any_of(columns_, [](const Column& column) { return column.fold == Fold::key; });
  has_all_keys_ = has_keys_;
  const auto is_foldable = [](const Column& column) {
    return column.is_declared && column.fold != Fold::concatenate;
  };
  // Columns that are all Fold::same do not declare that rows correspond.
  is_by_row_ = !has_keys_ && std::ranges::all_of(columns_, is_foldable) && !all_columns_are(Fold::same);
}

bool TableTotals::all_columns_are(Fold fold) const {
  return std::ranges::all_of(columns_, [fold](const Column& column) { return column.fold == fold; });
}

std::vector<TableTotals::Column> TableTotals::columns_of(const std::vector<const ResultValue*>& results) {
  std::vector<Column> columns;
  for (const ResultValue* result : results) {
    const bool is_text = !result->texts.empty() || is_address(*result);
    const Fold fold = fold_of(*result);
    columns.push_back({column_name(*result), result->unit, is_text ? fold_of_texts(fold) : fold, is_text,
                       result->fold.has_value()});
  }
  return columns;
}

/// Returns the number of the text in a text column.
Number TableTotals::cell_of(const ResultValue& result, std::size_t column, std::size_t row,
                            std::span<const NamedAllocation> allocations) {
  if (!columns_[column].is_text) return number_at(result, row);
  const std::string text =
      result.texts.empty() ? address_text(number_at(result, row), allocations) : result.texts[row];
  const auto [known, is_new] = number_of_text_.try_emplace(text, texts_.size());
  if (is_new) texts_.push_back(text);
  return Number::of(known->second);
}

const std::string& TableTotals::text_in(const Row& row, std::size_t column) const {
  static const std::string varies = "varies";
  const FoldedNumber& cell = row.cells[column];
  return cell.differs() ? varies : texts_.at(static_cast<std::size_t>(cell.value().as_double()));
}

void TableTotals::add(const std::vector<const ResultValue*>& results, std::uint64_t launch,
                      std::span<const NamedAllocation> allocations) {
  ++launches_;
  // Rows of the first launch only: extra rows of later launches do not belong to it.
  if (is_by_row_ && launches_ > 1 && all_columns_are(Fold::first)) return;
  if (is_by_row_ && all_columns_are(Fold::last)) keyed_.clear();
  std::size_t rows = size_of(results[0]->values);
  std::uint64_t left_out = 0;
  for (const ResultValue* result : results) {
    rows = std::min(rows, size_of(result->values));
    left_out = std::max(left_out, result->left_out.value_or(0));
  }
  left_out_ += left_out;
  seen_rows_ += rows;
  has_all_keys_ = has_all_keys_ && left_out == 0;
  for (std::size_t row = 0; row < rows; ++row) {
    if (by_launch_.size() < kept_) {
      Row& kept = by_launch_.emplace_back(Row{launch, index_text(row, results[0]->extents), {}});
      for (std::size_t i = 0; i < columns_.size(); ++i) add_cell(kept, i, *results[i], row, allocations);
    }
    if (has_all_keys_ || is_by_row_) add_folded(results, row, launch, allocations);
  }
  if (!has_all_keys_ && !is_by_row_) keyed_.clear();
}

/// Creates a row's cells in the order of the columns.
void TableTotals::add_cell(Row& row, std::size_t column, const ResultValue& result, std::size_t index,
                           std::span<const NamedAllocation> allocations) {
  if (row.cells.size() <= column) row.cells.emplace_back(columns_[column].fold);
  columns_[column].is_text ? row.cells[column].add(cell_of(result, column, index, allocations))
                           : row.cells[column].add(result, index);
}

void TableTotals::add_folded(const std::vector<const ResultValue*>& results, std::size_t row,
                             std::uint64_t launch, std::span<const NamedAllocation> allocations) {
  std::vector<Number> key;
  if (is_by_row_) key.push_back(Number::of(row));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].fold == Fold::key) key.push_back(cell_of(*results[i], i, row, allocations));
  }
  const std::string index = is_by_row_ ? index_text(row, results[0]->extents) : std::string();
  Row& folded = keyed_.try_emplace(std::move(key), Row{launch, index, {}}).first->second;
  for (std::size_t i = 0; i < columns_.size(); ++i) add_cell(folded, i, *results[i], row, allocations);
  if (keyed_.size() <= most_keys) return;
  has_all_keys_ = is_by_row_ = false;
}

std::vector<TableTotals::Row> TableTotals::rows() const {
  if (!is_folded()) return by_launch_;
  std::vector<Row> rows;
  for (const auto& [key, row] : keyed_) rows.push_back(row);
  const auto value =
      std::ranges::find_if(columns_, [](const Column& each) { return each.fold != Fold::key; });
  if (value != columns_.end() && !is_by_row_) {
    const auto first = static_cast<std::size_t>(value - columns_.begin());
    std::ranges::stable_sort(rows, [first](const Row& a, const Row& b) {
      return b.cells[first].value() < a.cells[first].value();
    });
  }
  if (rows.size() > kept_) rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(kept_), rows.end());
  return rows;
}

std::uint64_t TableTotals::further() const {
  if (is_folded()) return keyed_.size() - std::min(keyed_.size(), kept_);
  return seen_rows_ - by_launch_.size() + left_out_;
}

}  // namespace lynxpp::report
