#include "report/reader.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "report/number.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

using Json = nlohmann::ordered_json;

/// Says what is wrong with a record; empty: nothing.
using Complaint = std::string;

class MemberReader {
 public:
  explicit MemberReader(const Json& object) : object_(object) {}

  const Complaint& complaint() const { return complaint_; }

  void read(const char* name, std::string& value) {
    if (const Json* member = find(name, &Json::is_string, "a string")) value = member->get<std::string>();
  }
  void read(const char* name, bool& value) {
    if (const Json* member = find(name, &Json::is_boolean, "true or false")) value = member->get<bool>();
  }
  void read(const char* name, std::uint64_t& value) {
    if (const Json* member = find(name, &Json::is_number_unsigned, "a count"))
      value = member->get<std::uint64_t>();
  }
  void read(const char* name, double& value) {
    if (const Json* member = find(name, &Json::is_number, "a number")) value = member->get<double>();
  }
  void read(const char* name, std::uint32_t (&value)[3]) {
    const Json* member = find(name, &Json::is_array, "an array");
    if (member == nullptr) return;
    bool fits = member->size() == 3;
    for (std::size_t i = 0; fits && i < 3; ++i) {
      const Json& element = (*member)[i];
      fits = element.is_number_unsigned() &&
             element.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
      if (fits) value[i] = element.get<std::uint32_t>();
    }
    if (!fits) complain(name, "three counts");
  }
  void read_optional(const char* name, std::vector<std::string>& values) {
    if (!object_.contains(name)) return;
    const Json* member = find(name, &Json::is_array, "an array");
    if (member == nullptr) return;
    for (const Json& element : *member) {
      if (!element.is_string()) return complain(name, "an array of strings");
      values.push_back(element.get<std::string>());
    }
  }
  void read_optional(const char* name, std::optional<std::uint64_t>& value) {
    if (object_.contains(name)) read(name, value.emplace());
  }
  void read(const char* name, std::vector<std::vector<std::string>>& sets) {
    const Json* member = find(name, &Json::is_array, "an array");
    if (member == nullptr) return;
    for (const Json& set : *member) {
      const bool fits = set.is_array() && std::all_of(set.begin(), set.end(),
                                                      [](const Json& each) { return each.is_string(); });
      if (!fits) return complain(name, "an array of arrays of strings");
      sets.push_back(set.get<std::vector<std::string>>());
    }
  }
  void read_results(std::vector<ResultValue>& results);

 private:
  const Json* find(const char* name, bool (Json::*is_right)() const noexcept, const char* what) {
    const auto member = object_.find(name);
    if (member != object_.end() && ((*member).*is_right)()) return &*member;
    complain(name, what);
    return nullptr;
  }
  void complain(const std::string& name, const std::string& what) {
    if (complaint_.empty()) complaint_ = "member '" + name + "' is not " + what;
  }

  const Json& object_;
  Complaint complaint_;
};

/// The narrowest of u64, i64, double that holds every element; nullopt when one is no number.
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

template <typename T>
bool read_integers(const Json& member, const char* name, std::size_t count, std::vector<T>& values) {
  const auto list = member.find(name);
  if (list == member.end() || !list->is_array() || list->size() != count) return false;
  for (const Json& value : *list) {
    if (!value.is_number_integer()) return false;
    values.push_back(value.get<T>());
  }
  return true;
}

/// What a column of a table and a histogram have besides.
bool read_kind(const Json& member, ResultValue& result) {
  if (const auto table = member.find("table"); table != member.end()) {
    if (!table->is_string()) return false;
    result.table = table->get<std::string>();
  }
  if (!member.contains("bounds")) return true;
  const std::size_t bins = result.extents.back();
  if (bins == 0) return false;
  const std::size_t count = size_of(result.values) / bins;
  return read_integers(member, "bounds", bins + 1, result.bounds) &&
         read_integers(member, "underflow", count, result.underflow) &&
         read_integers(member, "overflow", count, result.overflow);
}

bool read_array(const Json& member, ResultValue& result) {
  const auto extents = member.find("extents");
  const auto values = member.find("values");
  if (extents == member.end() || values == member.end() || !extents->is_array() || !values->is_array())
    return false;
  __extension__ unsigned __int128 elements = 1;
  for (const Json& extent : *extents) {
    if (!extent.is_number_unsigned()) return false;
    result.extents.push_back(extent.get<std::uint64_t>());
    elements *= result.extents.back();
    if (elements > values->size()) elements = static_cast<decltype(elements)>(values->size()) + 1;
    if (result.extents.back() == 0) elements = 0;
  }
  std::optional<Values> read = values_of(*values);
  if (!read || result.extents.empty() || elements != values->size()) return false;
  result.values = std::move(*read);
  if (!read_kind(member, result)) return false;
  const auto names = member.find("names");
  if (names == member.end()) return true;
  if (!names->is_array() || names->size() != result.extents.size()) return false;
  for (const Json& name : *names) {
    if (!name.is_string()) return false;
    result.extent_names.push_back(name.get<std::string>());
  }
  return true;
}

void MemberReader::read_results(std::vector<ResultValue>& results) {
  const Json* member = find("results", &Json::is_object, "an object");
  if (member == nullptr) return;
  const auto units = object_.find("units");
  for (const auto& [name, value] : member->items()) {
    ResultValue result;
    result.name = name;
    if (value.is_object()) {
      if (!read_array(value, result)) return complain("results." + name, "an array with its extents");
    } else {
      std::optional<Values> number = values_of(std::vector<Json>{value});
      if (!number) return complain("results." + name, "a number");
      result.values = std::move(*number);
    }
    if (units != object_.end() && units->is_object() && units->contains(name) && (*units)[name].is_string()) {
      result.unit = (*units)[name].get<std::string>();
    }
    results.push_back(std::move(result));
  }
}

/// The columns of a table; nullptr and a complaint when they are not what they should be.
class ColumnReader {
 public:
  ColumnReader(const Json& object, const std::string& name) : name_(name) {
    const auto member = object.find(name);
    if (member == object.end() || !member->is_object()) {
      complaint_ = "member '" + name + "' is not an object";
    } else {
      columns_ = &*member;
    }
  }
  const Complaint& complaint() const { return complaint_; }

  /// The first column says how many rows there are. null is SitesRecord::unknown.
  template <typename Row>
  void read(const char* column, std::vector<Row>& rows, std::uint32_t Row::*value) {
    if (!complaint_.empty()) return;
    const auto member = columns_->find(column);
    if (member == columns_->end() || !member->is_array()) return complain(column);
    if (!has_rows_) rows.resize(member->size());
    has_rows_ = true;
    if (rows.size() != member->size()) return complain(column);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Json& element = (*member)[i];
      if (!element.is_null() &&
          (!element.is_number_unsigned() || element.get<std::uint64_t>() >= SitesRecord::unknown)) {
        return complain(column);
      }
      rows[i].*value = element.is_null() ? SitesRecord::unknown : element.get<std::uint32_t>();
    }
  }

 private:
  void complain(const std::string& column) {
    complaint_ = "member '" + name_ + "." + column + "' is not a column of counts";
  }

  std::string name_;
  const Json* columns_ = nullptr;
  bool has_rows_ = false;
  Complaint complaint_;
};

/// Whether every index of a table leads somewhere.
bool holds_together(const SitesRecord& record) {
  const bool blocks_do = std::all_of(record.blocks.begin(), record.blocks.end(), [&](const auto& block) {
    return block.function < record.functions.size() &&
           std::uint64_t{block.first} + block.instructions <= record.instructions.size();
  });
  return blocks_do &&
         std::all_of(record.instructions.begin(), record.instructions.end(), [&](const auto& instruction) {
           return instruction.block < record.blocks.size() && instruction.opcode < record.opcodes.size() &&
                  instruction.labels < record.labels.size() &&
                  (instruction.file == SitesRecord::unknown || instruction.file < record.files.size());
         });
}

Complaint read_sites(const Json& object, SitesRecord& record) {
  using Block = SitesRecord::Block;
  using Instruction = SitesRecord::Instruction;
  MemberReader reader(object);
  reader.read("kernel", record.kernel);
  reader.read("table", record.table);
  reader.read_optional("functions", record.functions);
  reader.read_optional("opcodes", record.opcodes);
  reader.read_optional("files", record.files);
  reader.read("labels", record.labels);
  if (!reader.complaint().empty()) return reader.complaint();
  ColumnReader blocks(object, "blocks");
  blocks.read("function", record.blocks, &Block::function);
  blocks.read("first", record.blocks, &Block::first);
  blocks.read("instructions", record.blocks, &Block::instructions);
  if (!blocks.complaint().empty()) return blocks.complaint();
  ColumnReader instructions(object, "instructions");
  instructions.read("block", record.instructions, &Instruction::block);
  instructions.read("opcode", record.instructions, &Instruction::opcode);
  instructions.read("labels", record.instructions, &Instruction::labels);
  instructions.read("ptx_line", record.instructions, &Instruction::ptx_line);
  instructions.read("file", record.instructions, &Instruction::file);
  instructions.read("line", record.instructions, &Instruction::line);
  if (!instructions.complaint().empty()) return instructions.complaint();
  return holds_together(record) ? "" : "an index of the table leads nowhere";
}

Complaint read_launch(const Json& object, LaunchRecord& record) {
  MemberReader reader(object);
  reader.read("kernel", record.kernel);
  reader.read("launch", record.launch);
  reader.read("device", record.device);
  reader.read("grid", record.grid);
  reader.read("block", record.block);
  reader.read("spec", record.spec);
  reader.read_results(record.results);
  reader.read_optional("sites", record.sites);
  if (object.contains("sampling")) {
    if (!object["sampling"].is_object()) return "member 'sampling' is not an object";
    MemberReader sampling(object["sampling"]);
    sampling.read("launches", record.sampling.launches);
    sampling.read("blocks", record.sampling.blocks);
    sampling.read("warps", record.sampling.warps);
    if (!sampling.complaint().empty()) return sampling.complaint();
  }
  reader.read_optional("notes", record.notes);
  return reader.complaint();
}

Complaint read_total(const Json& object, TotalRecord& record) {
  MemberReader reader(object);
  reader.read("spec", record.spec);
  reader.read_results(record.results);
  reader.read_optional("notes", record.notes);
  return reader.complaint();
}

Complaint read_coverage(const Json& object, CoverageRecord& record) {
  MemberReader reader(object);
  reader.read("kernel", record.kernel);
  reader.read("instrumented", record.instrumented);
  reader.read("reason", record.reason);
  reader.read("launches", record.launches);
  reader.read("instrumented_launches", record.instrumented_launches);
  reader.read("sites", record.sites);
  reader.read_optional("notes", record.notes);
  return reader.complaint();
}

Complaint read_resources(const Json& object, KernelResources& resources) {
  MemberReader reader(object);
  reader.read("registers", resources.registers);
  reader.read("local_bytes", resources.local_bytes);
  reader.read("shared_bytes", resources.shared_bytes);
  reader.read("blocks_per_sm", resources.blocks_per_sm);
  reader.read("warps_per_sm", resources.warps_per_sm);
  reader.read("most_warps_per_sm", resources.most_warps_per_sm);
  return reader.complaint();
}

Complaint read_timing(const Json& object, TimingRecord& record) {
  MemberReader reader(object);
  reader.read("kernel", record.kernel);
  reader.read("parse_ms", record.parse);
  reader.read("instrument_ms", record.instrument);
  reader.read("emit_ms", record.emit);
  reader.read("load_ms", record.load);
  reader.read("execute_ms", record.execute);
  if (object.contains("buffers_ms")) reader.read("buffers_ms", record.buffers.emplace());
  if (object.contains("launches")) reader.read("launches", record.launches);
  if (object.contains("device")) reader.read("device", record.device);
  Complaint complaint = reader.complaint();
  for (const auto& [name, resources] :
       {std::pair("original", &record.original), std::pair("variant", &record.variant)}) {
    const auto member = object.find(name);
    if (member == object.end() || !complaint.empty()) continue;
    if (!member->is_object()) return "member '" + std::string(name) + "' is not an object";
    complaint = read_resources(*member, resources->emplace());
  }
  return complaint;
}

Complaint read_record(const Json& object, std::vector<Record>& records) {
  if (!object.is_object()) return "not a JSON object";
  const auto kind = object.find("record");
  if (kind == object.end() || !kind->is_string()) return "member 'record' is not a string";
  const auto add = [&]<typename T>(T record, Complaint (*read)(const Json&, T&)) {
    Complaint complaint = read(object, record);
    if (complaint.empty()) records.emplace_back(std::move(record));
    return complaint;
  };
  if (*kind == "sites") return add(SitesRecord(), read_sites);
  if (*kind == "launch") return add(LaunchRecord(), read_launch);
  if (*kind == "total") return add(TotalRecord(), read_total);
  if (*kind == "coverage") return add(CoverageRecord(), read_coverage);
  if (*kind == "timing") return add(TimingRecord(), read_timing);
  return "unknown kind of record '" + kind->get<std::string>() + "'";
}

/// "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error …" ▶ "syntax error …".
std::string reason_of(const nlohmann::json::exception& error) {
  std::string text = error.what();
  if (text.starts_with("[json.exception")) text.erase(0, text.find("] ") + 2);
  if (text.starts_with("parse error at")) text.erase(0, text.find(": ") + 2);
  return text;
}

void read_line(std::string_view line, const SourceLocation& start, Reading& reading) {
  SourceLocation place = start;
  Complaint complaint;
  try {
    complaint = read_record(Json::parse(line), reading.records);
  } catch (const nlohmann::json::parse_error& error) {
    place.column = static_cast<std::uint32_t>(error.byte == 0 ? 1 : error.byte);
    complaint = reason_of(error);
  } catch (const nlohmann::json::exception& error) {  // a number too great for any type
    complaint = reason_of(error);
  }
  if (!complaint.empty()) {
    reading.diagnostics.push_back({Severity::error, place, complaint, ""});
  }
}

}  // namespace

Reading read_json_lines(std::string_view text, const std::string& name) {
  Reading reading;
  SourceLocation place{name, 0, 1, 1};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    ++place.line;
    if (!trim(line).empty()) read_line(line, place, reading);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return reading;
}

Result<Reading> read_json_lines_file(const std::string& path) {
  std::string text;
  if (!read_file(path, text)) return failure(cannot_read(path));
  return read_json_lines(text, path);
}

void feed(const std::vector<Record>& records, Sink& sink) {
  struct Visitor {
    Sink& sink;
    void operator()(const SitesRecord& record) const { sink.sites(record); }
    void operator()(const LaunchRecord& record) const { sink.launch(record); }
    void operator()(const TotalRecord& record) const { sink.total(record); }
    void operator()(const CoverageRecord& record) const { sink.coverage(record); }
    void operator()(const TimingRecord& record) const { sink.timing(record); }
  };
  for (const Record& record : records) std::visit(Visitor{sink}, record);
}

void replay(const std::vector<Record>& records, Sink& sink) {
  feed(records, sink);
  sink.finish();
}

}  // namespace lynxpp::report
