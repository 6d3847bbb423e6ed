// Reads any text as JSON Lines: records are read, written and read again, and shown in every format. Errors
// must have a location.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "report/cluster/by_group.h"
#include "report/cluster/json_members.h"
#include "report/findings/findings.h"
#include "report/reader.h"
#include "report/series.h"
#include "report/summary.h"
#include "report/tables/csv.h"
#include "report/tables/table_sink.h"
#include "report/timeline/perfetto.h"

namespace {

using namespace lynxpp::report;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Checks that each record's own line parses as a record of the same kind.
void write_again(const Record& record) {
  const std::string line = std::visit([](const auto& each) { return json_line_of(each); }, record);
  const Reading again = read_json_lines(line, "again.jsonl");
  require(again.diagnostics.empty() && again.records.size() == 1);
  require(again.records.front().index() == record.index());
  std::vector<JsonMember> members;
  require(split_members(line.substr(0, line.find('\n')), members));
}

/// Checks that launches are the same after they were written in series.
void write_in_series(const std::vector<Record>& records) {
  SeriesWriter writer;
  std::string text, complete;
  for (const Record& record : records) {
    const auto* const launch = std::get_if<LaunchRecord>(&record);
    if (launch == nullptr) continue;
    text += writer.lines_of(*launch);
    complete += json_line_of(*launch);
  }
  const Reading again = read_json_lines(text, "again.jsonl");
  require(again.diagnostics.empty());
  for (const Record& record : again.records) {
    const std::string line = json_line_of(std::get<LaunchRecord>(record));
    require(complete.compare(0, line.size(), line) == 0);
    complete.erase(0, line.size());
  }
  require(complete.empty());
}

void show(const std::vector<Record>& records) {
  const auto drop = [](std::string_view) {};
  replay(records, *make_table_sink({drop, 100, false, true}));
  replay(records, *make_csv_sink(drop));
  replay(records, *make_perfetto_sink(drop));
  for (const Grouping grouping : {Grouping::rank, Grouping::device}) {
    GroupSink sink(grouping);
    replay(records, sink);
    (void)sink.to_text(100);
  }
  SummarySink sink;
  replay(records, sink);
  (void)to_json(sink.summary());
  (void)to_svg(sink.summary());
  (void)summary_text(sink.summary(), 100);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Reading reading = read_json_lines(text, "fuzz.jsonl");
  for (const lynxpp::Diagnostic& each : reading.diagnostics)
    require(each.location.line > 0 && each.location.column > 0 && !each.message.empty());
  std::ranges::for_each(reading.records, write_again);
  write_in_series(reading.records);
  show(reading.records);
  return 0;
}
