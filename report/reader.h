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

using Record = std::variant<SitesRecord, LaunchRecord, CoverageRecord, TimingRecord, TotalRecord,
                            DeviceRecord, ActivityRecord, ProcessRecord>;

struct Reading {
  std::vector<Record> records;  ///< in the order of the file
  /// One per line that is not a record, with its line and column; the other lines are read all the same.
  Diagnostics diagnostics;
};

/// `name` stands in diagnostics as the file. Empty lines are skipped. Members that are not known are
/// skipped too, so that files of a later version stay readable. null among the values of a result is NaN.
Reading read_json_lines(std::string_view text, const std::string& name);

/// Failure: the file cannot be read.
Result<Reading> read_json_lines_file(const std::string& path);

/// What was read without being kept.
struct StreamedReading {
  std::uint64_t records = 0;
  Diagnostics diagnostics;  ///< as of Reading, the first hundred
};
/// Hands the records of a file over as they are read; it may be compressed (gzip), or "-". Failure: it cannot
/// be read; what was read has been handed over.
Status stream_json_lines_file(const std::string& path, Sink& sink, StreamedReading& reading);

/// Hands the records over in order.
void feed(const std::vector<Record>& records, Sink& sink);

/// Hands the records over in order, then finishes the sink.
void replay(const std::vector<Record>& records, Sink& sink);

}  // namespace lynxpp::report
