#include "cli/reports/summarise.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "cli/diagnostics.h"
#include "report/findings/findings.h"
#include "report/reader.h"
#include "report/tables/table_sink.h"

namespace lynxpp::cli {

void summarise(const std::string& path, const std::string& html) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  const Result<report::Reading> reading = report::read_json_lines_file(path);
  if (!reading) return;
  print(reading->diagnostics);
  report::SummarySink sink;
  report::replay(reading->records, sink);
  const std::string text = report::summary_text(sink.summary(), report::terminal_width(STDERR_FILENO));
  if (text.empty()) return;
  std::fwrite(text.data(), 1, text.size(), stderr);
  if (!html.empty()) {
    std::fprintf(stderr, "The records are in %s; %s shows all of them.\n", path.c_str(), html.c_str());
    return;
  }
  std::fprintf(stderr,
               "The records are in %s; `lynxpp report %s --format html -o report.html` shows all of them.\n",
               path.c_str(), path.c_str());
}

}  // namespace lynxpp::cli
