#include <fcntl.h>

#include <cstring>
#include <utility>

#include "report/json/object_writer.h"
#include "report/output.h"
#include "report/record.h"
#include "report/series.h"
#include "support/log.h"

namespace lynxpp::report {
namespace {

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
  JsonLinesSink(Descriptor file, std::string path) : file_(std::move(file), path), path_(std::move(path)) {}

  void process(const ProcessRecord& record) override {
    ProcessRecord header = record;
    header.format = 2;
    header_ = text_of(header);
    process_ = record.process;
  }
  void sites(const SitesRecord& record) override { append(record); }
  void launch(const LaunchRecord& record) override {
    write_header();
    write(series_.lines_of(record, process_));
  }
  void total(const TotalRecord& record) override { append(record); }
  void coverage(const CoverageRecord& record) override { append(record); }
  void timing(const TimingRecord& record) override { append(record); }
  void trial(const TrialRecord& record) override { append(record); }
  void device(const DeviceRecord& record) override { append(record); }
  void activity(const ActivityRecord& record) override { append(record); }
  void finish() override {}

 private:
  /// The process's own record precedes its first record.
  void write_header() {
    if (!header_.empty()) write(std::exchange(header_, {}));
  }
  void append(const auto& record) {
    write_header();
    write(text_of(record, process_));
  }
  /// Writes the line, or a series and its launch, with one write at the end of the file, so that lines of
  /// several processes do not mix.
  void write(const std::string& line) {
    if (has_failed_) return;
    const int error = append_line(file_.descriptor(), line);
    if (error == 0) return;
    has_failed_ = true;
    log().error("cannot write {}: {}; later records will be missing", path_, std::strerror(error));
  }

  KeptOutput file_;
  std::string path_;
  std::string header_;
  std::string process_;
  SeriesWriter series_;
  bool has_failed_ = false;
};

}  // namespace

std::string json_line_of(const ProcessRecord& record) { return text_of(record); }
std::string json_line_of(const SitesRecord& record) { return text_of(record); }
std::string json_line_of(const LaunchRecord& record) { return text_of(record); }
std::string json_line_of(const TotalRecord& record) { return text_of(record); }
std::string json_line_of(const CoverageRecord& record) { return text_of(record); }
std::string json_line_of(const TimingRecord& record) { return text_of(record); }
std::string json_line_of(const TrialRecord& record) { return text_of(record); }
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
