#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "report/members.h"
#include "report/output.h"
#include "report/record.h"
#include "support/log.h"

namespace lynxpp::report {
namespace {

template <typename T>
concept Arithmetic = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

/// Writes one JSON object; a visitor of its members. Numbers are formatted directly: arrays of millions of
/// counts need no tree of nodes, and integers stay exact.
class ObjectWriter {
 public:
  void operator()(std::string_view name, const auto& value) {
    key(name);
    write(value);
  }
  void may_lack(std::string_view name, const auto& value) { (*this)(name, value); }
  void if_any(std::string_view name, const auto& value) {
    if (says_something(value)) (*this)(name, value);
  }
  void derived(std::string_view name, auto&& value) { (*this)(name, value()); }
  void results(std::string_view name, std::string_view units, const std::vector<ResultValue>& results);

  void open() { text_ += '{'; }
  void close() { text_ += '}'; }
  std::string finish() {
    text_ += '\n';
    return std::move(text_);
  }

 private:
  static constexpr std::size_t longest_number = 40;  ///< including a comma

  template <typename T>
  static bool says_something(const std::optional<T>& value) {
    return value.has_value();
  }
  static bool says_something(const LaunchRecord::Sampling& sampling) { return !sampling.is_whole(); }
  static bool says_something(std::uint64_t value) { return value != 0; }
  static bool says_something(bool value) { return value; }
  static bool says_something(const auto& value) { return !value.empty(); }

  void key(std::string_view name) {
    separate();
    write(name);
    text_ += ':';
  }
  void write(std::string_view value) {
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

void ObjectWriter::results(std::string_view name, std::string_view units,
                           const std::vector<ResultValue>& results) {
  bool has_units = false;
  bool has_folds = false;
  const auto has_fold_beside = [](const ResultValue& result) {
    return result.extents.empty() && result.fold;
  };
  key(name);
  open();
  for (std::size_t i = 0; i < results.size(); ++i) {
    has_units |= !results[i].unit.empty();
    has_folds |= has_fold_beside(results[i]);
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
    if (has_fold_beside(result)) (*this)(result.name, *result.fold);
  }
  close();
}

std::string text_of(const auto& record, const std::string& process = {}) {
  using Record = std::decay_t<decltype(record)>;
  ObjectWriter json;
  json.open();
  json(kind_member, kind_of<Record>);
  if constexpr (std::same_as<Record, LaunchRecord>) {
    json.if_any(process_member, record.process.empty() ? process : record.process);
  } else if constexpr (!std::same_as<Record, ProcessRecord>) {
    json.if_any(process_member, process);
  }
  visit_members(record, json);
  json.close();
  return json.finish();
}

class JsonLinesSink final : public Sink {
 public:
  JsonLinesSink(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  void process(const ProcessRecord& record) override {
    header_ = text_of(record);
    process_ = record.process;
  }
  void sites(const SitesRecord& record) override { append(record); }
  void launch(const LaunchRecord& record) override { append(record); }
  void total(const TotalRecord& record) override { append(record); }
  void coverage(const CoverageRecord& record) override { append(record); }
  void timing(const TimingRecord& record) override { append(record); }
  void device(const DeviceRecord& record) override { append(record); }
  void activity(const ActivityRecord& record) override { append(record); }
  void finish() override {}

 private:
  /// The process's own record precedes its first record.
  void append(const auto& record) {
    if (!header_.empty()) write(std::exchange(header_, {}));
    write(text_of(record, process_));
  }
  /// Writes the line with one write at the end of the file, so that lines of several processes do not mix.
  void write(const std::string& line) {
    if (has_failed_) return;
    const int error = append_line(file_, line);
    if (error == 0) return;
    has_failed_ = true;
    log().error("cannot write {}: {}; later records will be missing", path_, std::strerror(error));
  }

  Descriptor file_;
  std::string path_;
  std::string header_;
  std::string process_;
  bool has_failed_ = false;
};

}  // namespace

std::string json_line_of(const ProcessRecord& record) { return text_of(record); }
std::string json_line_of(const SitesRecord& record) { return text_of(record); }
std::string json_line_of(const LaunchRecord& record) { return text_of(record); }
std::string json_line_of(const TotalRecord& record) { return text_of(record); }
std::string json_line_of(const CoverageRecord& record) { return text_of(record); }
std::string json_line_of(const TimingRecord& record) { return text_of(record); }
std::string json_line_of(const DeviceRecord& record) { return text_of(record); }
std::string json_line_of(const ActivityRecord& record) { return text_of(record); }

std::unique_ptr<Sink> make_json_lines_sink(Descriptor file, const std::string& path) {
  return std::make_unique<JsonLinesSink>(std::move(file), path);
}

std::unique_ptr<Sink> make_json_lines_sink(const std::string& path) {
  Result<Descriptor> file = open_output(path, O_APPEND);
  return file ? make_json_lines_sink(std::move(*file), path) : nullptr;
}

}  // namespace lynxpp::report
