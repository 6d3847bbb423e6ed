// Writes records as JSON objects.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "report/members.h"
#include "report/number.h"
#include "report/record.h"

namespace lynxpp::report {

template <typename T>
concept Arithmetic = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

/// Writes one JSON object; a visitor of its members. Numbers are formatted directly: arrays of millions of
/// counts need no tree of nodes, and integers stay exact.
class ObjectWriter {
 public:
  /// `writes_derived` false: members that follow from others are left out.
  explicit ObjectWriter(bool writes_derived = true) : writes_derived_(writes_derived) {}

  void operator()(std::string_view name, const auto& value) {
    key(name);
    write(value);
  }
  void may_lack(std::string_view name, const auto& value) { (*this)(name, value); }
  void if_any(std::string_view name, const auto& value) {
    if (is_informative(value)) (*this)(name, value);
  }
  void derived(std::string_view name, auto&& value) {
    if (writes_derived_) (*this)(name, value());
  }
  template <typename T>
  void if_unusual(std::string_view name, const T& value, const T& usual) {
    if constexpr (std::is_array_v<T>) {
      if (!std::ranges::equal(value, usual)) (*this)(name, value);
    } else if (value != usual) {
      (*this)(name, value);
    }
  }
  template <typename T>
  static bool enters(std::string_view /*name*/, const std::optional<T>& value) {
    return value.has_value();
  }
  void results(std::string_view name, std::string_view units, const std::vector<ResultValue>& results);
  void columns(std::string_view name, const std::vector<ResultValue>& results);
  void ratio(std::string_view name, const std::optional<Values>& denominators) {
    if (denominators) (*this)(name, true);
  }
  void labels(std::string_view name, const TableLabels& labels);
  void values(std::string_view name, const std::vector<ResultValue>& results);

  void open() { text_ += '{'; }
  void close() { text_ += '}'; }
  /// Returns the text so far.
  const std::string& text() const { return text_; }
  std::string finish() {
    text_ += '\n';
    return std::move(text_);
  }

 private:
  static constexpr std::size_t longest_number = 40;  ///< including a comma

  template <typename T>
  static bool is_informative(const std::optional<T>& value) {
    return value.has_value();
  }
  static bool is_informative(const LaunchRecord::Sampling& sampling) { return !sampling.is_whole(); }
  static bool is_informative(std::uint64_t value) { return value != 0; }
  static bool is_informative(bool value) { return value; }
  static bool is_informative(const auto& value) { return !value.empty(); }

  void key(std::string_view name) {
    separate();
    write(name);
    text_ += ':';
  }
  void write(std::string_view value) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    if (std::ranges::all_of(value, is_plain)) {
      text_ += '"';
      text_ += value;
      text_ += '"';
      return;
    }
    text_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void write(std::same_as<bool> auto value) { text_ += value ? "true" : "false"; }
  void write(Arithmetic auto value) {
    std::array<char, longest_number> buffer;
    text_.append(buffer.data(), put_number(buffer.data(), value));
  }
  template <typename T>
  void write(const std::optional<T>& value) {
    write(*value);
  }
  void write(const std::uint32_t (&values)[3]) { write(std::span<const std::uint32_t>(values)); }
  void write(const Values& values) {
    std::visit([this](const auto& numbers) { write(numbers); }, values);
  }
  template <Arithmetic T>
  void write(const std::vector<T>& values) {
    write(std::span<const T>(values));
  }
  template <typename T>
  void write(const std::vector<T>& values) {
    list(values, [this](const T& value) { write(value); });
  }
  template <Arithmetic T>
  void write(std::span<const T> values);
  template <HasColumns Row>
  void write(const std::vector<Row>& rows);
  template <HasMembers T>
  void write(const T& value) {
    open();
    visit_members(value, *this);
    close();
  }

  void write(Fold fold) { write(name_of(fold)); }

  /// Writes a numeric result.
  void write_number(const ResultValue& result) {
    if (!result.denominators) return first_number(result.values);
    open();
    key("value");
    first_number(quotients(result));
    key("numerator");
    first_number(result.values);
    key("denominator");
    first_number(*result.denominators);
    close();
  }
  /// Writes the numbers of a launch in a series.
  void write_values(const ResultValue& result);
  void write_own(const ResultValue& result, bool has_own_labels);
  void first_number(const Values& values) {
    std::visit([this](const auto& numbers) { numbers.empty() ? null() : write(numbers.front()); }, values);
  }
  void null() { text_ += "null"; }
  void list(const auto& values, auto&& write_value) {
    text_ += '[';
    for (const auto& value : values) {
      separate();
      write_value(value);
    }
    text_ += ']';
  }

  /// Precondition: `to` has room for longest_number characters.
  template <typename T>
  static char* put_number(char* to, T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) return std::copy_n("null", 4, to);
    }
    char* const end = std::to_chars(to, to + longest_number, value).ptr;
    // Keep a double recognizable as one.
    const auto is_mark = [](char c) { return c == '.' || c == 'e'; };
    if (std::is_floating_point_v<T> && std::none_of(to, end, is_mark)) return std::copy_n(".0", 2, end);
    return end;
  }

  void separate() {
    if (text_.back() != '{' && text_.back() != '[') text_ += ',';
  }

  std::string text_;
  bool writes_derived_;
};

template <Arithmetic T>
void ObjectWriter::write(std::span<const T> values) {
  text_ += '[';
  // Numbers go through a buffer on the stack: appending each to the text takes 1.5 times as long.
  std::array<char, 1 << 14> buffer;
  char* end = buffer.data();
  for (const T value : values) {
    if (end > buffer.data() + buffer.size() - longest_number) {
      text_.append(buffer.data(), end);
      end = buffer.data();
    }
    end = put_number(end, value);
    *end++ = ',';
  }
  text_.append(buffer.data(), end);
  if (text_.back() == ',') text_.pop_back();
  text_ += ']';
}

template <HasColumns Row>
void ObjectWriter::write(const std::vector<Row>& rows) {
  open();
  visit_columns<Row>([&](std::string_view name, std::uint32_t Row::*value, bool may_lack = false) {
    const auto is_known = [&](const Row& row) { return row.*value != SitesRecord::unknown; };
    if (may_lack && std::ranges::none_of(rows, is_known)) return;
    key(name);
    list(rows, [&](const Row& row) { row.*value == SitesRecord::unknown ? null() : write(row.*value); });
  });
  close();
}

inline void ObjectWriter::results(std::string_view name, std::string_view units,
                                  const std::vector<ResultValue>& results) {
  bool has_units = false;
  bool has_folds = false;
  const auto has_scalar_fold = [](const ResultValue& result) {
    return result.extents.empty() && result.fold;
  };
  key(name);
  open();
  for (std::size_t i = 0; i < results.size(); ++i) {
    has_units |= !results[i].unit.empty();
    has_folds |= has_scalar_fold(results[i]);
    key(results[i].name);
    results[i].extents.empty() ? write_number(results[i]) : write(results[i]);
  }
  close();
  if (has_units) {
    key(units);
    open();
    for (std::size_t i = 0; i < results.size(); ++i) if_any(results[i].name, results[i].unit);
    close();
  }
  if (!has_folds) return;
  key(folds_member);
  open();
  for (const ResultValue& result : results) {
    if (has_scalar_fold(result)) (*this)(result.name, *result.fold);
  }
  close();
}

inline void ObjectWriter::columns(std::string_view name, const std::vector<ResultValue>& results) {
  key(name);
  list(results, [this](const ResultValue& result) {
    open();
    visit_column(result, *this, !result.extents.empty());
    close();
  });
}

inline void ObjectWriter::labels(std::string_view name, const TableLabels& labels) {
  key(name);
  open();
  for (const auto& [table, names] : labels) (*this)(table, names);
  close();
}

inline void ObjectWriter::values(std::string_view name, const std::vector<ResultValue>& results) {
  const TableLabels labels = labels_of_tables(results);
  key(name);
  list(results, [&](const ResultValue& result) {
    if (result.extents.empty()) return write_values(result);
    const auto of_table = labels.find(result.table);
    const bool has_own_labels =
        !result.table.empty() &&
        (of_table == labels.end() ? !result.labels.empty() : result.labels != of_table->second);
    const bool has_more =
        has_own_labels || !result.bounds.empty() || !result.texts.empty() || result.left_out.has_value();
    has_more ? write_own(result, has_own_labels) : write_values(result);
  });
}

inline void ObjectWriter::write_values(const ResultValue& result) {
  const auto put = [this, is_array = !result.extents.empty()](const Values& values) {
    is_array ? write(values) : first_number(values);
  };
  if (!result.denominators) return put(result.values);
  text_ += '[';
  put(result.values);
  text_ += ',';
  put(*result.denominators);
  text_ += ']';
}

inline void ObjectWriter::write_own(const ResultValue& result, bool has_own_labels) {
  open();
  key("values");
  write_values(result);
  if (has_own_labels) (*this)("labels", result.labels);
  if_any("texts", result.texts);
  if_any("left_out", result.left_out);
  if (!result.bounds.empty()) {
    (*this)("underflow", result.underflow);
    (*this)("overflow", result.overflow);
  }
  close();
}

}  // namespace lynxpp::report
