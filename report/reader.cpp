#include "report/reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "report/cluster/record_lines.h"
#include "report/members.h"
#include "report/number.h"
#include "support/json.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

using Json = nlohmann::ordered_json;

/// Describes the error in a record; empty: it has none.
using Complaint = std::string;

/// Returns the narrowest of u64, i64, double that holds every element; nullopt if one is not a number.
template <typename Elements>
std::optional<Values> values_of(const Elements& elements) {
  bool is_unsigned = true;
  bool is_integer = true;
  for (const Json& element : elements) {
    if (!element.is_number() && !element.is_null()) return std::nullopt;
    is_unsigned &= element.is_number_unsigned();
    const bool too_great =
        element.is_number_unsigned() &&
        element.template get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    is_integer &= element.is_number_integer() && !too_great;
  }
  const auto convert = [&]<typename T>(std::vector<T> values) {
    for (const Json& element : elements) {
      values.push_back(element.is_null() ? std::numeric_limits<T>::quiet_NaN() : element.template get<T>());
    }
    return Values(std::move(values));
  };
  if (is_unsigned) return convert(std::vector<std::uint64_t>());
  if (is_integer) return convert(std::vector<std::int64_t>());
  return convert(std::vector<double>());
}

/// Fills a struct from an object; a visitor of its members. Keeps the first error.
class MemberReader {
 public:
  /// `prefix` precedes the names of members in errors.
  explicit MemberReader(const Json& object, std::string prefix = {})
      : object_(object), prefix_(std::move(prefix)) {}

  const Complaint& complaint() const { return complaint_; }

  void operator()(const char* name, auto& value) {
    static const Json missing;
    if (!complaint_.empty()) return;
    const auto member = object_.find(name);
    read(member == object_.end() ? missing : *member, prefix_ + name, value);
  }
  void may_lack(const char* name, auto& value) { if_any(name, value); }
  void if_any(const char* name, auto& value) {
    if (object_.contains(name)) (*this)(name, value);
  }
  void derived(const char* /*name*/, auto&& /*value*/) {}
  void if_unusual(const char* name, auto& value, const auto& /*usual*/) { if_any(name, value); }
  template <typename T>
  bool enters(const char* name, std::optional<T>& value) {
    if (!object_.contains(name)) return false;
    if (!value) value.emplace();
    return true;
  }
  void results(const char* name, const char* units, std::vector<ResultValue>& results);
  void columns(const char* name, std::vector<ResultValue>& results);
  void ratio(const char* name, std::optional<Values>& denominators) {
    bool is_ratio = false;
    if_any(name, is_ratio);
    if (is_ratio) denominators.emplace();
  }
  /// Replaces the labels of all tables, if the object has any.
  void labels(const char* name, std::vector<ResultValue>& results);
  /// Fills in the values of the columns.
  void values(const char* name, std::vector<ResultValue>& results);

 private:
  void read(const Json& member, const std::string& name, std::string& value) {
    if (!member.is_string()) return complain(name, "a string");
    value = member.get<std::string>();
  }
  void read(const Json& member, const std::string& name, bool& value) {
    if (!member.is_boolean()) return complain(name, "true or false");
    value = member.get<bool>();
  }
  void read(const Json& member, const std::string& name, std::uint64_t& value) {
    if (!member.is_number_unsigned()) return complain(name, "a count");
    value = member.get<std::uint64_t>();
  }
  void read(const Json& member, const std::string& name, std::int64_t& value) {
    if (!member.is_number_integer()) return complain(name, "an integer");
    value = member.get<std::int64_t>();
  }
  void read(const Json& member, const std::string& name, double& value) {
    if (!member.is_number()) return complain(name, "a number");
    value = member.get<double>();
  }
  void read(const Json& member, const std::string& name, std::uint32_t (&value)[3]) {
    const auto fits = [](const Json& each) {
      return each.is_number_unsigned() &&
             each.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
    };
    if (!member.is_array()) return complain(name, "an array");
    if (member.size() != 3 || !std::all_of(member.begin(), member.end(), fits))
      return complain(name, "three counts");
    for (std::size_t i = 0; i < 3; ++i) value[i] = member[i].get<std::uint32_t>();
  }
  void read(const Json& member, const std::string& name, Values& values) {
    std::optional<Values> read = member.is_array() ? values_of(member) : std::nullopt;
    if (!read) return complain(name, "an array of numbers");
    values = std::move(*read);
  }
  void read(const Json& member, const std::string& name, Fold& fold) {
    const std::optional<Fold> known =
        member.is_string() ? find_fold(member.get<std::string>()) : std::nullopt;
    if (!known) return complain(name, "a way to fold launches");
    fold = *known;
  }
  template <typename T>
  void read(const Json& member, const std::string& name, std::optional<T>& value) {
    T read_value{};
    read(member, name, read_value);
    value = std::move(read_value);
  }
  template <typename T>
  void read(const Json& member, const std::string& name, std::vector<T>& values) {
    if (!member.is_array()) return complain(name, "an array");
    values.clear();  // a launch's member replaces its series'
    for (std::size_t i = 0; i < member.size() && complaint_.empty(); ++i)
      read(member[i], name + "[" + std::to_string(i) + "]", values.emplace_back());
  }
  template <HasColumns Row>
  void read(const Json& member, const std::string& name, std::vector<Row>& rows);
  template <HasMembers T>
  void read(const Json& member, const std::string& name, T& value) {
    if (!member.is_object()) return complain(name, "an object");
    MemberReader members(member, name + ".");
    visit_members(value, members);
    complaint_ = members.complaint();
  }

  void read_value(const Json& value, const std::string& name, ResultValue& result);
  /// Reads a number, or the values of an array.
  static std::optional<Values> values_for(const ResultValue& result, const Json& value);

  void complain(const std::string& name, const std::string& what) {
    complaint_ = "member '" + name + "' is not " + what;
  }

  const Json& object_;
  std::string prefix_;
  Complaint complaint_;
};

/// The first column determines the number of rows. null is SitesRecord::unknown.
template <HasColumns Row>
void MemberReader::read(const Json& member, const std::string& name, std::vector<Row>& rows) {
  if (!member.is_object()) return complain(name, "an object");
  const auto fits = [](const Json& each) {
    return each.is_null() || (each.is_number_unsigned() && each.get<std::uint64_t>() < SitesRecord::unknown);
  };
  bool has_rows = false;
  visit_columns<Row>([&](const char* column, std::uint32_t Row::*value, bool may_lack = false) {
    if (!complaint_.empty()) return;
    const auto cells = member.find(column);
    if (may_lack && cells == member.end()) return;
    const bool is_column = cells != member.end() && cells->is_array() &&
                           (!has_rows || cells->size() == rows.size()) &&
                           std::all_of(cells->begin(), cells->end(), fits);
    if (!is_column) return complain(name + "." + column, "a column of counts");
    rows.resize(cells->size());
    has_rows = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Json& cell = (*cells)[i];
      rows[i].*value = cell.is_null() ? SitesRecord::unknown : cell.get<std::uint32_t>();
    }
  });
}

/// True if the extents of an array, and the bins of a histogram, match the number of values.
bool is_consistent(const ResultValue& result) {
  const std::size_t size = size_of(result.values);
  __extension__ unsigned __int128 elements = 1;
  for (const std::uint64_t extent : result.extents) {
    elements *= extent;
    if (elements > size) elements = static_cast<decltype(elements)>(size) + 1;
    if (extent == 0) elements = 0;
  }
  if (result.extents.empty() || elements != size) return false;
  if (result.denominators && size_of(*result.denominators) != size) return false;
  if (!result.extent_names.empty() && result.extent_names.size() != result.extents.size()) return false;
  if (!result.labels.empty() && result.labels.size() != result.extents.front()) return false;
  if (!result.texts.empty() && result.texts.size() != size) return false;
  if (result.bounds.empty()) return true;
  const std::size_t bins = result.extents.back();
  return bins != 0 && result.bounds.size() == bins + 1 && result.underflow.size() == size / bins &&
         result.overflow.size() == size / bins;
}

void MemberReader::results(const char* name, const char* units, std::vector<ResultValue>& results) {
  const auto member = object_.find(name);
  if (!complaint_.empty()) return;
  if (member == object_.end() || !member->is_object()) return complain(name, "an object");
  const auto known_units = object_.find(units);
  const auto known_folds = object_.find(folds_member);
  for (const auto& [key, value] : member->items()) {
    const std::string path = std::string(name) + "." + key;
    ResultValue result;
    result.name = key;
    if (value.is_object() && value.contains("denominator")) {
      std::optional<Values> numerator = values_of(std::vector<Json>{value.value("numerator", Json())});
      result.denominators = values_of(std::vector<Json>{value["denominator"]});
      if (!numerator || !result.denominators) return complain(path, "a ratio");
      result.values = std::move(*numerator);
    } else if (value.is_object()) {
      MemberReader members(value);
      visit_members(result, members);
      if (!members.complaint().empty() || !is_consistent(result))
        return complain(path, "an array with its extents");
    } else {
      std::optional<Values> number = values_of(std::vector<Json>{value});
      if (!number) return complain(path, "a number");
      result.values = std::move(*number);
    }
    if (known_units != object_.end() && known_units->is_object()) {
      const auto unit = known_units->find(key);
      if (unit != known_units->end() && unit->is_string()) result.unit = unit->get<std::string>();
    }
    if (known_folds != object_.end() && known_folds->is_object()) {
      const auto fold = known_folds->find(key);
      if (fold != known_folds->end() && fold->is_string() && !result.fold)
        result.fold = find_fold(fold->get<std::string>());
    }
    results.push_back(std::move(result));
  }
}

void MemberReader::columns(const char* name, std::vector<ResultValue>& results) {
  const auto member = object_.find(name);
  if (!complaint_.empty()) return;
  if (member == object_.end() || !member->is_array()) return complain(name, "an array");
  for (std::size_t i = 0; i < member->size() && complaint_.empty(); ++i) {
    const std::string path = std::string(name) + "[" + std::to_string(i) + "]";
    if (!(*member)[i].is_object()) return complain(path, "an object");
    MemberReader column((*member)[i], path + ".");
    visit_column(results.emplace_back(), column, true);
    complaint_ = column.complaint();
  }
}

void MemberReader::labels(const char* name, std::vector<ResultValue>& results) {
  const auto member = object_.find(name);
  if (!complaint_.empty() || member == object_.end()) return;
  if (!member->is_object()) return complain(name, "an object");
  MemberReader tables(*member, std::string(name) + ".");
  for (ResultValue& result : results) {
    if (result.table.empty()) continue;
    result.labels.clear();
    tables.if_any(result.table.c_str(), result.labels);
  }
  complaint_ = tables.complaint();
}

std::optional<Values> MemberReader::values_for(const ResultValue& result, const Json& value) {
  const bool is_array = !result.extents.empty() || !result.table.empty();
  if (is_array) return value.is_array() ? values_of(value) : std::nullopt;
  return values_of(std::vector<Json>{value});
}

void MemberReader::read_value(const Json& value, const std::string& name, ResultValue& result) {
  const bool has_more = value.is_object();
  const bool is_array = !result.extents.empty() || !result.table.empty();
  if (has_more) {
    MemberReader members(value, name + ".");
    members.if_any("labels", result.labels);
    members.if_any("texts", result.texts);
    members.if_any("left_out", result.left_out);
    members.if_any("underflow", result.underflow);
    members.if_any("overflow", result.overflow);
    complaint_ = members.complaint();
    if (!complaint_.empty()) return;
    if (!is_array || !value.contains("values")) return complain(name, "the value of its column");
  }
  const Json& numbers = has_more ? value["values"] : value;
  std::optional<Values> first, second;
  if (!result.denominators) {
    first = values_for(result, numbers);
  } else if (numbers.is_array() && numbers.size() == 2) {
    first = values_for(result, numbers[0]);
    second = values_for(result, numbers[1]);
  }
  if (!first || second.has_value() != result.denominators.has_value())
    return complain(name, "the value of its column");
  result.values = std::move(*first);
  result.denominators = std::move(second);
  if (is_array && result.extents.empty()) result.extents = {size_of(result.values)};
  if (is_array && !is_consistent(result)) complain(name, "an array with its column's extents");
}

void MemberReader::values(const char* name, std::vector<ResultValue>& results) {
  const auto member = object_.find(name);
  if (!complaint_.empty()) return;
  if (member == object_.end() || !member->is_array() || member->size() != results.size())
    return complain(name, "a value per column");
  for (std::size_t i = 0; i < results.size() && complaint_.empty(); ++i)
    read_value((*member)[i], std::string(name) + "[" + std::to_string(i) + "]", results[i]);
}

/// Checks constraints between members.
Complaint check(const auto& /*record*/) { return ""; }

Complaint check(const LaunchRecord& record) {
  if (!record.shared) return "";
  const bool is_consistent = record.shared->launches > 1 && record.shared->last > record.launch &&
                             record.shared->launches - 1 <= record.shared->last - record.launch;
  return is_consistent ? "" : "launches that share a record need a number each, from the first to the last";
}

Complaint check(const ActivityRecord& record) {
  const int kinds = int{record.launch.has_value()} + int{record.copy.has_value()} + int{record.wait};
  if (kinds != 1) return "an activity must be a launch, a copy or a wait";
  const bool has_sizes =
      !record.launch || record.launch->array_numbers.size() == record.launch->array_bytes.size();
  return has_sizes ? "" : "arrays of a launch need a number and a size each";
}

Complaint check(const SitesRecord& record) {
  const auto is_in = [](std::uint32_t index, const auto& all) {
    return index == SitesRecord::unknown || index < all.size();
  };
  const bool blocks_do = std::all_of(record.blocks.begin(), record.blocks.end(), [&](const auto& block) {
    return block.function < record.functions.size() && is_in(block.falls_to, record.blocks) &&
           is_in(block.branches_to, record.blocks) && is_in(block.join, record.blocks) &&
           is_in(block.loop, record.blocks) &&
           std::uint64_t{block.first} + block.instructions <= record.instructions.size();
  });
  // Chains of calls are finite: an outer call precedes those inlined into it.
  std::uint32_t at = 0;
  const bool calls_do =
      std::all_of(record.call_sites.begin(), record.call_sites.end(), [&](const auto& call) {
        const std::uint32_t own = at++;
        return is_in(call.file, record.files) && (call.outer == SitesRecord::unknown || call.outer < own);
      });
  const bool instructions_do =
      std::all_of(record.instructions.begin(), record.instructions.end(), [&](const auto& instruction) {
        return instruction.block < record.blocks.size() && instruction.opcode < record.opcodes.size() &&
               instruction.labels < record.labels.size() && is_in(instruction.file, record.files) &&
               is_in(instruction.call_site, record.call_sites) && is_in(instruction.object, record.objects) &&
               is_in(instruction.stride, record.strides);
      });
  return blocks_do && calls_do && instructions_do ? "" : "an index in the table is out of range";
}

/// Reads the records of one file.
class RecordReader {
 public:
  void read_line(std::string_view line, const SourceLocation& start, Reading& reading);

 private:
  using SeriesKey = std::pair<std::string, std::uint64_t>;  ///< process and number
  struct Series {
    std::shared_ptr<const LaunchRecord> common;  ///< what its launches have in common, except the following
    std::optional<LaunchPlace> place;
  };

  Complaint read(const Json& object, std::vector<Record>& records);
  Complaint read_series(const Json& object);
  Complaint read_launch_of_series(const Json& object, std::vector<Record>& records) const;

  std::map<SeriesKey, Series> series_;
  /// Processes of one job have the same series, so these are stored once: by their text.
  std::unordered_map<std::string, std::shared_ptr<const LaunchRecord>> common_;
};

Complaint RecordReader::read_series(const Json& object) {
  MemberReader reader(object);
  LaunchRecord record;
  std::uint64_t number = 0;
  reader.if_any(process_member, record.process);
  reader(series_member, number);
  visit_series_key(record, reader);
  visit_series_usual(record, reader);
  reader.labels("labels", record.results);
  if (!reader.complaint().empty()) return reader.complaint();
  Json common = object;
  for (const char* const own : {process_member, series_member, place_member}) common.erase(own);
  Series& series = series_[{std::exchange(record.process, {}), number}];
  series.place = std::exchange(record.place, {});
  std::shared_ptr<const LaunchRecord>& known = common_[common.dump()];
  if (known == nullptr) known = std::make_shared<const LaunchRecord>(std::move(record));
  series.common = known;
  return "";
}

Complaint RecordReader::read_launch_of_series(const Json& object, std::vector<Record>& records) const {
  MemberReader reader(object);
  SeriesKey key;
  reader.if_any(process_member, key.first);
  reader(series_member, key.second);
  if (!reader.complaint().empty()) return reader.complaint();
  const auto series = series_.find(key);
  if (series == series_.end()) return "series " + std::to_string(key.second) + " is not defined before";
  LaunchRecord record = *series->second.common;
  record.process = key.first;
  record.place = series->second.place;
  reader.labels("labels", record.results);
  LaunchRecord usual;
  usual.place.emplace();
  visit_launch(record, usual, reader);
  if (reader.complaint().empty()) records.emplace_back(std::move(record));
  return reader.complaint();
}

Complaint RecordReader::read(const Json& object, std::vector<Record>& records) {
  if (!object.is_object()) return "not a JSON object";
  const auto kind = object.find(kind_member);
  if (kind == object.end() || !kind->is_string())
    return "member '" + std::string(kind_member) + "' is not a string";
  if (*kind == series_member) return read_series(object);
  if (*kind == kind_of<LaunchRecord> && object.contains(series_member))
    return read_launch_of_series(object, records);
  Complaint complaint = "unknown kind of record '" + kind->get<std::string>() + "'";
  const auto read_as = [&]<typename T>(T record) {
    if (*kind != kind_of<T>) return;
    MemberReader reader(object);
    if constexpr (std::same_as<T, LaunchRecord>) reader.if_any(process_member, record.process);
    visit_members(record, reader);
    complaint = reader.complaint().empty() ? check(record) : reader.complaint();
    if (complaint.empty()) records.emplace_back(std::move(record));
  };
  read_as(SitesRecord());
  read_as(LaunchRecord());
  read_as(TotalRecord());
  read_as(CoverageRecord());
  read_as(TimingRecord());
  read_as(TrialRecord());
  read_as(DeviceRecord());
  read_as(ActivityRecord());
  read_as(ProcessRecord());
  return complaint;
}

void RecordReader::read_line(std::string_view line, const SourceLocation& start, Reading& reading) {
  const Result<Json> object = parse_json<Json>(line, start);
  if (!object) {
    const Diagnostics& problems = object.error().diagnostics;
    reading.diagnostics.insert(reading.diagnostics.end(), problems.begin(), problems.end());
    return;
  }
  const Complaint complaint = read(*object, reading.records);
  if (!complaint.empty()) reading.diagnostics.push_back({Severity::error, start, complaint, ""});
}

}  // namespace

Reading read_json_lines(std::string_view text, const std::string& name) {
  Reading reading;
  RecordReader reader;
  SourceLocation location{name, 0, 1, 1};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    ++location.line;
    if (!trim(line).empty()) reader.read_line(line, location, reading);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return reading;
}

Result<Reading> read_json_lines_file(const std::string& path) {
  std::string text;
  if (!read_file(path, text)) return failure(cannot_read(path));
  return read_json_lines(text, path);
}

Status stream_json_lines_file(const std::string& path, Sink& sink, StreamedReading& streamed) {
  constexpr std::size_t most_diagnostics = 100;
  Result<RecordLines> lines = RecordLines::open(path);
  if (!lines) return lines.error();
  Reading reading;
  RecordReader reader;
  while (const auto line = lines->next()) {
    if (trim(*line).empty()) continue;
    reading.records.clear();
    reader.read_line(*line, {path, lines->number(), 1, 1}, reading);
    streamed.records += reading.records.size();
    feed(reading.records, sink);
    if (reading.diagnostics.size() > most_diagnostics) reading.diagnostics.resize(most_diagnostics);
  }
  streamed.diagnostics = std::move(reading.diagnostics);
  return lines->status();
}

void feed(const std::vector<Record>& records, Sink& sink) {
  struct Visitor {
    Sink& sink;
    void operator()(const ProcessRecord& record) const { sink.process(record); }
    void operator()(const SitesRecord& record) const { sink.sites(record); }
    void operator()(const LaunchRecord& record) const { sink.launch(record); }
    void operator()(const TotalRecord& record) const { sink.total(record); }
    void operator()(const CoverageRecord& record) const { sink.coverage(record); }
    void operator()(const TimingRecord& record) const { sink.timing(record); }
    void operator()(const TrialRecord& record) const { sink.trial(record); }
    void operator()(const DeviceRecord& record) const { sink.device(record); }
    void operator()(const ActivityRecord& record) const { sink.activity(record); }
  };
  for (const Record& record : records) std::visit(Visitor{sink}, record);
}

void replay(const std::vector<Record>& records, Sink& sink) {
  feed(records, sink);
  sink.finish();
}

}  // namespace lynxpp::report
