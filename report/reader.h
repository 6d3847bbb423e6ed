// Reads what the JSON Lines sink wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "report/record.h"
#include "support/result.h"

namespace lynxpp::report {

using Record = std::variant<SitesRecord, LaunchRecord, CoverageRecord, TimingRecord, TotalRecord, TrialRecord,
                            DeviceRecord, ActivityRecord, ProcessRecord>;

struct Reading {
  std::vector<Record> records;  ///< in the order of the file
  /// One per invalid line, with line and column; the other lines are read.
  Diagnostics diagnostics;
};

/// `name` is the file in diagnostics. Empty lines are skipped. Unknown members are skipped, so that files of
/// later versions stay readable. null among the values of a result is NaN.
Reading read_json_lines(std::string_view text, const std::string& name);

/// Fails if the file cannot be read.
Result<Reading> read_json_lines_file(const std::string& path);

/// The outcome of reading a file without keeping its records.
struct StreamedReading {
  std::uint64_t records = 0;
  Diagnostics diagnostics;  ///< as in Reading, up to a hundred
};
/// Passes the records of a file to `sink` as they are read; the file may be compressed (gzip), or "-" for
/// standard input. Fails if it cannot be read; records read until then have been passed on.
Status stream_json_lines_file(const std::string& path, Sink& sink, StreamedReading& reading);

/// Passes the records to `sink` in order.
void feed(const std::vector<Record>& records, Sink& sink);

/// Passes the records to `sink` in order, then finishes the sink.
void replay(const std::vector<Record>& records, Sink& sink);

}  // namespace lynxpp::report
