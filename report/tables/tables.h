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

/// What the result says itself; else ratios of numerators and denominators are ratios of sums, what has the
/// unit "address", "mask" or "id" is no amount, and the name decides: mean*, avg*, average*, *efficiency*,
/// *imbalance, *_per_*, *ratio are averaged over launches, min* and max* give the least and the greatest (but
/// for opcodes, "max.s32"), everything else is summed. Of arrays *_per_* says what the elements stand for,
/// and they are summed.
Fold fold_of(const ResultValue& result);
/// By the name of a number.
Fold fold_of(std::string_view name);

struct Fraction {
  Number numerator;
  Number denominator;
};

/// A value folded over launches. Launches whose value is NaN (nothing to divide by) do not enter a mean,
/// minimum or maximum.
class FoldedNumber {
 public:
  explicit FoldedNumber(Fold fold) : fold_(fold) {}
  void add(const Number& value) { add(value, Number::of(1)); }
  /// One launch's element of a result.
  void add(const ResultValue& result, std::size_t index);
  /// What `other` was folded of, too. Precondition: it has the same fold.
  void add(const FoldedNumber& other);
  /// NaN: there is none, or launches differ where they should be the same.
  Number value() const;
  /// Of a ratio: what value() is the quotient of. None for other folds, and when there is none.
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

/// What differs between launches is "varies".
std::string to_text(const FoldedNumber& value, NumberStyle style = NumberStyle::exact);
/// The same of a result of this name and unit: what are bits is hexadecimal.
std::string to_text(const FoldedNumber& value, std::string_view name, std::string_view unit,
                    NumberStyle style = NumberStyle::exact);

/// A table of one kernel over all launches. Where columns are keys and every launch has all its rows, rows of
/// the same key are folded into one; where the records say how to fold every column, rows of the same number.
/// Elsewhere (traces, the first entries of a map) rows stay apart by launch.
class TableTotals {
 public:
  struct Column {
    std::string name;  ///< without the table's
    std::string unit;
    Fold fold = Fold::sum;
    bool is_text = false;      ///< its numbers stand for texts, which text_in() gives
    bool is_declared = false;  ///< the records say the fold
    bool operator==(const Column&) const = default;
  };
  struct Row {
    std::uint64_t launch = 0;  ///< the first it comes from
    std::string index;         ///< in its table: "3", "3 1"
    std::vector<FoldedNumber> cells;
  };

  /// `kept`: rows. Precondition: there is a column.
  TableTotals(std::string name, std::vector<Column> columns, std::size_t kept);
  /// Of the results of a launch those that are columns of `table`.
  static std::vector<Column> columns_of(const std::vector<const ResultValue*>& results);
  /// `allocations`: LaunchRecord's, by which addresses are named.
  void add(const std::vector<const ResultValue*>& results, std::uint64_t launch,
           std::span<const NamedAllocation> allocations = {});

  const std::string& name() const { return name_; }
  const std::vector<Column>& columns() const { return columns_; }
  bool has_keys() const { return has_keys_; }
  /// Whether rows() are folded, over several launches or those of one key. False: each is one of a launch.
  bool is_folded() const {
    return (has_all_keys_ && (launches_ > 1 || keyed_.size() < seen_rows_)) || (is_by_row_ && launches_ > 1);
  }
  std::uint64_t launches() const { return launches_; }  ///< that had the table
  /// Folded by key: the greatest first value first.
  std::vector<Row> rows() const;
  /// What a row has in a column that is_text.
  const std::string& text_in(const Row& row, std::size_t column) const;
  std::uint64_t further() const;  ///< rows that are not among them

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
  bool is_by_row_ = false;       ///< the same, by the numbers of rows
  std::vector<Row> by_launch_;   ///< the first ones
  std::uint64_t seen_rows_ = 0;  ///< of all launches
  std::uint64_t left_out_ = 0;   ///< rows that the records lack
  std::map<std::vector<Number>, Row, Less> keyed_;
  std::vector<std::string> texts_;  ///< of text columns, by the number in the cell
  std::map<std::string, std::size_t, std::less<>> number_of_text_;
};

}  // namespace lynxpp::report
