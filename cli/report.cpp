#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/progress/reading.h"
#include "cli/reports/arguments.h"
#include "report/cluster/by_group.h"
#include "report/digest/digest.h"
#include "report/findings/findings.h"
#include "report/page/page.h"
#include "report/reader.h"
#include "report/summary.h"
#include "report/tables/csv.h"
#include "report/tables/table_sink.h"
#include "report/timeline/perfetto.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using Write = std::function<void(std::string_view)>;

/// Standard output, or a file.
class Output {
 public:
  explicit Output(const std::string& path)
      : file_(path.empty() || path == "-" ? stdout : std::fopen(path.c_str(), "w")) {}
  ~Output() {
    if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool is_open() const { return file_ != nullptr; }
  void write(std::string_view text) {
    is_good_ &= std::fwrite(text.data(), 1, text.size(), file_) == text.size();
  }
  /// True if everything was written.
  bool finish() { return std::fflush(file_) == 0 && is_good_; }

 private:
  std::FILE* file_;
  bool is_good_ = true;
};

/// Passes every record of the files to `sink`; returns false if a file cannot be read or has no records.
/// Skips and reports invalid lines.
bool read_into(report::Sink& sink, const std::vector<std::string>& files) {
  bool is_good = true;
  ReadingProgress counted(sink, files.size());
  for (const std::string& path : files) {
    report::StreamedReading reading;
    counted.begin(path);
    const Status read = report::stream_json_lines_file(path, counted, reading);
    counted.clear();
    print_reading(path, reading.records, reading.diagnostics, read);
    is_good = is_good && read.ok() && reading.records != 0;
  }
  sink.finish();
  return is_good;
}

std::size_t width_of(const ReportArguments& arguments) {
  return arguments.width > 0 ? static_cast<std::size_t>(arguments.width)
                             : report::terminal_width(STDOUT_FILENO);
}

bool render_by_group(const ReportArguments& arguments, const Write& write) {
  report::GroupSink sink(*report::find_grouping(arguments.by));
  const bool is_good = read_into(sink, arguments.files);
  if (arguments.format == "csv") {
    sink.write_csv(write);
  } else {
    write(sink.to_text(width_of(arguments)));
  }
  return is_good;
}

bool render(const ReportArguments& arguments, const Write& write) {
  if (!arguments.by.empty()) return render_by_group(arguments, write);
  if (arguments.format == "csv") return read_into(*report::make_csv_sink(write), arguments.files);
  const std::size_t width = width_of(arguments);
  if (arguments.format == "table") {
    return read_into(*report::make_table_sink({write, width, arguments.all, true}), arguments.files);
  }
  if (arguments.format == "summary") {
    report::SummarySink sink;
    const bool is_good = read_into(sink, arguments.files);
    write(report::summary_text(sink.summary(), width));
    return is_good;
  }
  if (arguments.format == "digest") {
    report::DigestSink sink;
    const bool is_good = read_into(sink, arguments.files);
    write(report::to_digest(sink));
    return is_good;
  }
  if (arguments.format == "perfetto") return read_into(*report::make_perfetto_sink(write), arguments.files);
  constexpr std::size_t kept = 1 << 20;
  const std::string title = "lynxpp: " + arguments.files.front();
  if (arguments.format == "html") {
    report::PageSink sink(kept);
    const bool is_good = read_into(sink, arguments.files);
    write(report::to_page(
        sink, title, arguments.no_source ? report::SourceTexts::left_out : report::SourceTexts::embedded));
    return is_good;
  }
  report::SummarySink sink(kept);
  const bool is_good = read_into(sink, arguments.files);
  if (arguments.format == "plain-html") {
    write(report::to_html(sink.summary(), title));
  } else {
    write(arguments.format == "svg" ? report::to_svg(sink.summary()) : report::to_json(sink.summary()));
  }
  return is_good;
}

/// True if at least one of the files can be read.
bool can_read_any(const std::vector<std::string>& files) {
  Diagnostics problems;
  for (const std::string& path : files) {
    if (path == "-" || ::access(path.c_str(), R_OK) == 0) return true;
    problems.push_back({Severity::error, {}, cannot_read(path), ""});
  }
  print(problems);
  return false;
}

}  // namespace

int report(const ReportArguments& arguments) {
  if (!can_read_any(arguments.files)) return exit_input_error;
  Output output(arguments.output);
  if (!output.is_open()) {
    print_error("cannot write " + arguments.output);
    return exit_input_error;
  }
  const bool is_good = render(arguments, [&](std::string_view text) { output.write(text); });
  if (!output.finish()) {
    print_error("cannot write " + (arguments.output.empty() ? "the report" : arguments.output));
    return exit_input_error;
  }
  return is_good ? exit_success : exit_input_error;
}

}  // namespace lynxpp::cli
