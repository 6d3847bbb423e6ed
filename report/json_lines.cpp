#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "report/output.h"
#include "report/record.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::report {
namespace {

/// Writes one JSON object. Numbers are written by hand: arrays of millions of counts need no tree of nodes,
/// and every integer stays one.
class ObjectWriter {
 public:
  void begin(std::string_view record) {
    text_ = "{";
    member("record", record);
  }
  void begin(std::string_view record, const std::string& kernel) {
    begin(record);
    member("kernel", kernel);
    member("demangled", demangle(kernel));
  }
  std::string finish() {
    text_ += "}\n";
    return std::move(text_);
  }

  void key(std::string_view name) {
    separate();
    string(name);
    text_ += ':';
  }
  void member(std::string_view name, std::string_view value) {
    key(name);
    string(value);
  }
  void member(std::string_view name, const std::vector<std::string>& values) {
    key(name);
    list(values, [this](const std::string& value) { string(value); });
  }
  void member(std::string_view name, bool value) {
    key(name);
    text_ += value ? "true" : "false";
  }
  void member(std::string_view name, std::uint64_t value) {
    key(name);
    number(value);
  }
  void member(std::string_view name, double value) {
    key(name);
    number(value);
  }
  template <typename Range>
  void numbers(std::string_view name, const Range& values) {
    key(name);
    text_ += '[';
    // Through a buffer on the stack: appending every number to the text takes half as long again.
    std::array<char, 1 << 14> buffer;
    char* end = buffer.data();
    for (const auto value : values) {
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

  template <typename Row, typename Value>
  void column(std::string_view name, const std::vector<Row>& rows, Value Row::*value) {
    key(name);
    list(rows, [&](const Row& row) { number(row.*value); });
  }

  void null() { text_ += "null"; }
  void open() { text_ += '{'; }
  void close() { text_ += '}'; }
  void first_number(const Values& values) {
    std::visit(
        [this](const auto& vector) { vector.empty() ? void(text_ += "null") : number(vector.front()); },
        values);
  }

  void string(std::string_view value) {
    text_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void list(const auto& values, auto&& write) {
    text_ += '[';
    for (const auto& value : values) {
      separate();
      write(value);
    }
    text_ += ']';
  }
  template <typename T>
  void number(T value) {
    std::array<char, longest_number> buffer;
    text_.append(buffer.data(), put_number(buffer.data(), value));
  }

 private:
  static constexpr std::size_t longest_number = 40;  ///< with a comma behind it

  /// Precondition: there is room for longest_number characters at `to`.
  template <typename T>
  static char* put_number(char* to, T value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) return std::copy_n("null", 4, to);
    }
    char* const end = std::to_chars(to, to + longest_number, value).ptr;
    // A double stays recognisable as one.
    const auto is_mark = [](char c) { return c == '.' || c == 'e'; };
    if (std::is_floating_point_v<T> && std::none_of(to, end, is_mark)) return std::copy_n(".0", 2, end);
    return end;
  }

  void separate() {
    if (text_.back() != '{' && text_.back() != '[') text_ += ',';
  }

  std::string text_;
};

/// Results share one JSON object, so a name that was emitted twice becomes "name#2".
std::vector<std::string> unique_names(const std::vector<ResultValue>& results) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const ResultValue& result : results) {
    std::string name = result.name;
    for (int copy = 2; !taken.insert(name).second; ++copy) name = result.name + "#" + std::to_string(copy);
    names.push_back(std::move(name));
  }
  return names;
}

void write_results(ObjectWriter& json, const std::vector<ResultValue>& results) {
  const std::vector<std::string> names = unique_names(results);
  bool has_units = false;
  json.key("results");
  json.open();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ResultValue& result = results[i];
    has_units |= !result.unit.empty();
    json.key(names[i]);
    if (result.extents.empty()) {
      json.first_number(result.values);
      continue;
    }
    json.open();
    json.numbers("extents", result.extents);
    if (!result.extent_names.empty()) json.member("names", result.extent_names);
    if (!result.table.empty()) json.member("table", result.table);
    if (!result.bounds.empty()) {
      json.numbers("bounds", result.bounds);
      json.numbers("underflow", result.underflow);
      json.numbers("overflow", result.overflow);
    }
    std::visit([&](const auto& values) { json.numbers("values", values); }, result.values);
    json.close();
  }
  json.close();
  if (!has_units) return;
  json.key("units");
  json.open();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].unit.empty()) json.member(names[i], results[i].unit);
  }
  json.close();
}

void write_instructions(ObjectWriter& json, const std::vector<SitesRecord::Instruction>& instructions) {
  using Instruction = SitesRecord::Instruction;
  json.key("instructions");
  json.open();
  json.column("block", instructions, &Instruction::block);
  json.column("opcode", instructions, &Instruction::opcode);
  json.column("labels", instructions, &Instruction::labels);
  json.column("ptx_line", instructions, &Instruction::ptx_line);
  json.key("file");
  json.list(instructions, [&](const Instruction& each) {
    each.file == SitesRecord::unknown ? json.null() : json.number(each.file);
  });
  json.column("line", instructions, &Instruction::line);
  json.close();
}

std::string text_of(const SitesRecord& record) {
  using Block = SitesRecord::Block;
  ObjectWriter json;
  json.begin("sites", record.kernel);
  json.member("table", record.table);
  json.member("functions", record.functions);
  json.member("opcodes", record.opcodes);
  json.member("files", record.files);
  json.key("labels");
  json.list(record.labels, [&](const std::vector<std::string>& labels) {
    json.list(labels, [&](const std::string& label) { json.string(label); });
  });
  json.key("blocks");
  json.open();
  json.column("function", record.blocks, &Block::function);
  json.column("first", record.blocks, &Block::first);
  json.column("instructions", record.blocks, &Block::instructions);
  json.close();
  write_instructions(json, record.instructions);
  return json.finish();
}

void write_resources(ObjectWriter& json, std::string_view name, const KernelResources& resources) {
  json.key(name);
  json.open();
  json.member("registers", resources.registers);
  json.member("local_bytes", resources.local_bytes);
  json.member("shared_bytes", resources.shared_bytes);
  json.member("blocks_per_sm", resources.blocks_per_sm);
  json.member("warps_per_sm", resources.warps_per_sm);
  json.member("most_warps_per_sm", resources.most_warps_per_sm);
  json.close();
}

class JsonLinesSink final : public Sink {
 public:
  JsonLinesSink(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  ~JsonLinesSink() override { ::close(descriptor_); }
  JsonLinesSink(const JsonLinesSink&) = delete;
  JsonLinesSink& operator=(const JsonLinesSink&) = delete;

  void sites(const SitesRecord& record) override { write(text_of(record)); }

  void launch(const LaunchRecord& record) override {
    ObjectWriter json;
    json.begin("launch", record.kernel);
    json.member("launch", record.launch);
    json.member("device", record.device);
    json.numbers("grid", record.grid);
    json.numbers("block", record.block);
    json.member("spec", record.spec);
    write_results(json, record.results);
    if (record.sites) json.member("sites", *record.sites);
    if (!record.sampling.is_whole()) {
      json.key("sampling");
      json.open();
      json.member("launches", record.sampling.launches);
      json.member("blocks", record.sampling.blocks);
      json.member("warps", record.sampling.warps);
      json.close();
    }
    if (!record.notes.empty()) json.member("notes", record.notes);
    write(json.finish());
  }

  void total(const TotalRecord& record) override {
    ObjectWriter json;
    json.begin("total");
    json.member("spec", record.spec);
    write_results(json, record.results);
    if (!record.notes.empty()) json.member("notes", record.notes);
    write(json.finish());
  }

  void coverage(const CoverageRecord& record) override {
    ObjectWriter json;
    json.begin("coverage", record.kernel);
    json.member("instrumented", record.instrumented);
    json.member("reason", record.reason);
    json.member("launches", record.launches);
    json.member("instrumented_launches", record.instrumented_launches);
    json.member("sites", record.sites);
    json.member("notes", record.notes);
    write(json.finish());
  }

  void timing(const TimingRecord& record) override {
    ObjectWriter json;
    json.begin("timing", record.kernel);
    json.member("parse_ms", record.parse);
    json.member("instrument_ms", record.instrument);
    json.member("emit_ms", record.emit);
    json.member("load_ms", record.load);
    json.member("execute_ms", record.execute);
    if (record.buffers) json.member("buffers_ms", *record.buffers);
    json.member("launches", record.launches);
    json.member("device", record.device);
    if (record.original) write_resources(json, "original", *record.original);
    if (record.variant) write_resources(json, "variant", *record.variant);
    write(json.finish());
  }

  void finish() override {}

 private:
  /// A line goes out in one write at the end of the file, so lines of several processes do not mix.
  void write(const std::string& line) {
    if (has_failed_) return;
    const int error = write_fully(descriptor_, line);
    if (error == 0) return;
    has_failed_ = true;
    log().error("cannot write {}: {}; the records from here on are missing in it", path_,
                std::strerror(error));
  }

  int descriptor_;
  std::string path_;
  bool has_failed_ = false;
};

}  // namespace

std::unique_ptr<Sink> make_json_lines_sink(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return nullptr;
  return std::make_unique<JsonLinesSink>(descriptor, path);
}

}  // namespace lynxpp::report
