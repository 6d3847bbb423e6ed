// Values folded over launches, and the rows of tables: of traces, maps and arrays of structures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/number.h"
#include "report/record.h"

namespace lynxpp::report {

/// Returns the result's declared fold, if any. Otherwise: ratios fold numerators and denominators; units
/// "address", "mask" and "id" are not quantities; then the name decides: mean*, avg*, average*, *efficiency*,
/// *imbalance, *_per_* and *ratio are averaged over launches, min* and max* take the minimum and maximum
/// (except for opcodes, "max.s32"), everything else is summed. In arrays, *_per_* names what the elements are
/// counted by, so they are summed.
Fold fold_of(const ResultValue& result);
/// Returns the fold for a number's name.
Fold fold_of(std::string_view name);

struct Fraction {
  Number numerator;
  Number denominator;
};

/// A value folded over launches. Launches whose value is NaN (denominator 0) do not affect a mean, minimum or
/// maximum.
class FoldedNumber {
 public:
  explicit FoldedNumber(Fold fold) : fold_(fold) {}
  void add(const Number& value) { add(value, Number::of(1)); }
  /// Adds one launch's element of a result.
  void add(const ResultValue& result, std::size_t index);
  /// Adds everything folded in `other`. Precondition: it has the same fold.
  void add(const FoldedNumber& other);
  /// Returns NaN if nothing was added, or if launches differ that should be the same.
  Number value() const;
  /// Returns the numerator and denominator of a ratio's value(); nullopt for other folds and if nothing was
  /// added.
  std::optional<Fraction> fraction() const;
  bool differs() const { return differs_; }

 private:
  void add(const Number& value, const Number& denominator);

  Fold fold_;
  bool differs_ = false;
  std::uint64_t count_ = 0;
  Number number_;
  Number denominator_;
};

/// Returns "varies" if launches differ.
std::string to_text(const FoldedNumber& value, NumberStyle style = NumberStyle::exact);
/// Same, for a result of this name and unit: bit patterns are hexadecimal.
std::string to_text(const FoldedNumber& value, std::string_view name, std::string_view unit,
                    NumberStyle style = NumberStyle::exact);

/// A table of one kernel over all launches. If columns are keys and every launch has all its rows, rows with
/// the same key are folded; if the records declare how to fold every column, rows with the same number.
/// Otherwise (traces, the first entries of a map) rows stay separate by launch.
class TableTotals {
 public:
  struct Column {
    std::string name;  ///< without the table's name
    std::string unit;
    Fold fold = Fold::sum;
    bool is_text = false;      ///< its numbers represent texts, see text_in()
    bool is_declared = false;  ///< the records declare the fold
    bool operator==(const Column&) const = default;
  };
  struct Row {
    std::uint64_t launch = 0;  ///< the first launch that has it
    std::string index;         ///< in its table: "3", "3 1"
    std::vector<FoldedNumber> cells;
  };

  /// `kept`: limit on rows. Precondition: there is at least one column.
  TableTotals(std::string name, std::vector<Column> columns, std::size_t kept);
  /// Returns the columns for these results.
  static std::vector<Column> columns_of(const std::vector<const ResultValue*>& results);
  /// `allocations`: of the LaunchRecord; used to name addresses.
  void add(const std::vector<const ResultValue*>& results, std::uint64_t launch,
           std::span<const NamedAllocation> allocations = {});

  const std::string& name() const { return name_; }
  const std::vector<Column>& columns() const { return columns_; }
  bool has_keys() const { return has_keys_; }
  /// True if rows() are folded over several launches or by key; false if each row belongs to one launch.
  bool is_folded() const {
    return (has_all_keys_ && (launches_ > 1 || keyed_.size() < seen_rows_)) || (is_by_row_ && launches_ > 1);
  }
  std::uint64_t launches() const { return launches_; }  ///< launches that had the table
  /// If folded by key, sorted by the first value, largest first.
  std::vector<Row> rows() const;
  /// Returns a row's text in a column that is_text.
  const std::string& text_in(const Row& row, std::size_t column) const;
  std::uint64_t further() const;  ///< rows that rows() does not include

 private:
  struct Less {
    bool operator()(const std::vector<Number>& a, const std::vector<Number>& b) const;
  };
  void add_folded(const std::vector<const ResultValue*>& results, std::size_t row, std::uint64_t launch,
                  std::span<const NamedAllocation> allocations);
  Number cell_of(const ResultValue& result, std::size_t column, std::size_t row,
                 std::span<const NamedAllocation> allocations);
  void add_cell(Row& row, std::size_t column, const ResultValue& result, std::size_t index,
                std::span<const NamedAllocation> allocations);
  bool all_columns_are(Fold fold) const;

  std::string name_;
  std::vector<Column> columns_;
  std::size_t kept_;
  std::uint64_t launches_ = 0;
  bool has_keys_ = false;
  bool has_all_keys_ = false;    ///< all rows of all launches are in keyed_
  bool is_by_row_ = false;       ///< same, by row number
  std::vector<Row> by_launch_;   ///< the first rows
  std::uint64_t seen_rows_ = 0;  ///< of all launches
  std::uint64_t left_out_ = 0;   ///< rows that the records lack
  std::map<std::vector<Number>, Row, Less> keyed_;
  std::vector<std::string> texts_;  ///< of text columns, by the number in the cell
  std::map<std::string, std::size_t, std::less<>> number_of_text_;
};

}  // namespace lynxpp::report
