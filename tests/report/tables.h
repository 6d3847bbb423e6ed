// Renders tables of records as text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/reader.h"
#include "report/tables/table_sink.h"
#include "tests/report/records.h"

namespace lynxpp::report {

inline std::string whole_table_of(const std::vector<Record>& records, std::size_t width = 100) {
  std::string text;
  replay(records, *make_table_sink({[&](std::string_view written) { text += written; }, width}));
  return text;
}

/// Same, without the line about trust.
inline std::string table_of(const std::vector<Record>& records, std::size_t width = 100) {
  const std::string text = "\n" + whole_table_of(records, width);
  return text.substr(0, text.find("\nTrust: "));
}

inline LaunchRecord launch_of(const std::string& kernel, std::vector<ResultValue> results) {
  LaunchRecord record = vecadd_launch();
  record.kernel = kernel;
  record.results = std::move(results);
  return record;
}

}  // namespace lynxpp::report
