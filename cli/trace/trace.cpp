#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/trace/arguments.h"
#include "report/tables/csv.h"
#include "report/trace/trace_file.h"
#include "support/launch_filter.h"
#include "support/name_pattern.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using report::TraceDescription;

/// Traces that are printed under one heading.
using Group = std::pair<std::string, std::string>;  // specification, trace

/// A trace that was streamed.
struct Stream {
  TraceDescription of;
  std::uint64_t entries = 0;
  std::optional<std::uint64_t> appended;  ///< nullopt: its launch did not end
};

template <typename T>
T value_at(std::span<const std::byte> column, std::uint64_t row) {
  T value;
  std::memcpy(&value, column.data() + row * sizeof value, sizeof value);
  return value;
}

/// Enough digits to read the same value back.
template <typename T>
std::string text_of_real(T value) {
  if (!std::isfinite(value)) return "";
  char text[64];
  return {text, std::to_chars(std::begin(text), std::end(text), value).ptr};
}

/// Returns a value as text; empty if it is infinite or NaN.
std::string text_of_value(std::span<const std::byte> column, const std::string& type, std::uint64_t row) {
  if (type == "f32") return text_of_real(value_at<float>(column, row));
  if (type == "f64") return text_of_real(value_at<double>(column, row));
  if (type == "i8") return std::to_string(value_at<std::int8_t>(column, row));
  if (type == "u8") return std::to_string(value_at<std::uint8_t>(column, row));
  if (type == "i16") return std::to_string(value_at<std::int16_t>(column, row));
  if (type == "u16") return std::to_string(value_at<std::uint16_t>(column, row));
  if (type == "i32") return std::to_string(value_at<std::int32_t>(column, row));
  if (type == "u32") return std::to_string(value_at<std::uint32_t>(column, row));
  if (type == "i64") return std::to_string(value_at<std::int64_t>(column, row));
  return std::to_string(value_at<std::uint64_t>(column, row));
}

std::string object_value(std::string text) { return text.empty() ? "null" : std::move(text); }

class Printer {
 public:
  Printer(const TraceArguments& arguments, LaunchFilter launches, std::optional<NamePattern> kernels)
      : arguments_(arguments), launches_(std::move(launches)), kernels_(std::move(kernels)) {}

  /// Returns the exit code.
  int print_all() {
    for (const std::string& path : arguments_.paths) {
      const Result<std::vector<std::string>> files = report::trace_files(path);
      if (!files) {
        print(files.error().diagnostics);
        return exit_input_error;
      }
      files_.insert(files_.end(), files->begin(), files->end());
    }
    survey();
    if (arguments_.list) {
      print_list();
    } else {
      for (const Group& group : groups_) print_group(group);
    }
    return is_good_ ? exit_success : exit_input_error;
  }

 private:
  bool is_wanted(const TraceDescription& of) const {
    if (!arguments_.trace.empty() && arguments_.trace != of.trace) return false;
    if (!launches_.wants(of.launch)) return false;
    return !kernels_ || kernels_->matches(of.kernel);
  }

  /// Collects the traces that exist.
  void survey() {
    for (const std::string& path : files_) {
      std::map<std::uint32_t, Stream> streams;
      report::TraceVisitor visitor;
      visitor.begin = [&](std::uint32_t stream, const TraceDescription& of) {
        streams[stream] = {of, 0, {}};
      };
      visitor.rows = [&](std::uint32_t stream, const TraceDescription&, const report::TraceRows& rows) {
        streams[stream].entries += rows.entries;
        return true;
      };
      visitor.end = [&](std::uint32_t stream, const TraceDescription&, const report::TraceTotals& totals) {
        streams[stream].appended = totals.appended;
      };
      bool is_cut_off = false;
      if (const Status read = report::read_traces(path, visitor, is_cut_off); !read) {
        print(read.error().diagnostics);
        is_good_ = false;
      }
      if (is_cut_off)
        print_warning(path + " ends within a block: its process was killed",
                      "the entries before it are complete");
      for (auto& [number, stream] : streams) {
        if (!is_wanted(stream.of)) continue;
        const Group group(stream.of.specification, stream.of.trace);
        if (std::ranges::find(groups_, group) == groups_.end()) groups_.push_back(group);
        streams_.push_back(std::move(stream));
      }
    }
  }

  void print_list() const {
    std::printf("process  launch        entries       lost  trace  kernel\n");
    for (const Stream& stream : streams_) {
      const std::string lost =
          stream.appended ? std::to_string(*stream.appended - std::min(*stream.appended, stream.entries))
                          : "?";
      std::printf("%-8" PRIu64 " %6" PRIu64 " %14" PRIu64 " %10s  %s.%s  %s\n", stream.of.process,
                  stream.of.launch, stream.entries, lost.c_str(), stream.of.specification.c_str(),
                  stream.of.trace.c_str(), demangle(stream.of.kernel).c_str());
    }
  }

  void print_group(const Group& group) {
    bool has_heading = false;
    for (const std::string& path : files_) {
      report::TraceVisitor visitor;
      visitor.rows = [&](std::uint32_t, const TraceDescription& of, const report::TraceRows& rows) {
        if (Group(of.specification, of.trace) != group || !is_wanted(of)) return true;
        if (arguments_.format == "json") {
          print_objects(of, rows);
        } else {
          if (!has_heading) print_heading(of);
          has_heading = true;
          print_lines(of, rows);
        }
        return std::ferror(stdout) == 0;
      };
      bool is_cut_off = false;
      // Errors in the file were already reported.
      static_cast<void>(report::read_traces(path, visitor, is_cut_off));
    }
  }

  void print_heading(const TraceDescription& of) {
    std::string line = std::exchange(has_printed_, true) ? "\n" : "";
    line += "process,kernel,launch,entry";
    for (const report::TraceField& field : of.fields)
      line += "," + report::csv_cell(of.trace + "." + field.name);
    std::printf("%s\n", line.c_str());
  }

  static void print_lines(const TraceDescription& of, const report::TraceRows& rows) {
    const std::string begin = std::to_string(of.process) + "," +
                              report::csv_cell(demangle(of.kernel), report::CsvQuotes::always) + "," +
                              std::to_string(of.launch) + ",";
    for (std::uint64_t row = 0; row < rows.entries; ++row) {
      std::string line = begin + std::to_string(rows.first + row);
      for (std::size_t i = 0; i < of.fields.size(); ++i)
        line += "," + text_of_value(rows.columns[i], of.fields[i].type, row);
      line += "\n";
      std::fwrite(line.data(), 1, line.size(), stdout);
    }
  }

  static void print_objects(const TraceDescription& of, const report::TraceRows& rows) {
    const auto text = [](const std::string& value) {
      return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    };
    const std::string begin = "{\"process\":" + std::to_string(of.process) +
                              ",\"kernel\":" + text(of.kernel) + ",\"launch\":" + std::to_string(of.launch) +
                              ",\"spec\":" + text(of.specification) + ",\"trace\":" + text(of.trace) +
                              ",\"entry\":";
    for (std::uint64_t row = 0; row < rows.entries; ++row) {
      std::string line = begin + std::to_string(rows.first + row);
      for (std::size_t i = 0; i < of.fields.size(); ++i)
        line += "," + text(of.fields[i].name) + ":" +
                object_value(text_of_value(rows.columns[i], of.fields[i].type, row));
      line += "}\n";
      std::fwrite(line.data(), 1, line.size(), stdout);
    }
  }

  const TraceArguments& arguments_;
  const LaunchFilter launches_;
  const std::optional<NamePattern> kernels_;
  std::vector<std::string> files_;
  std::vector<Stream> streams_;
  std::vector<Group> groups_;  ///< in the order found
  bool has_printed_ = false;
  bool is_good_ = true;
};

}  // namespace

int trace(const TraceArguments& arguments) {
  const Filters filters{{"--kernels", arguments.kernels}, {"--launches", arguments.launches}};
  if (Status understood = check_filters(filters); !understood) {
    print(understood.error().diagnostics);
    return exit_usage_error;
  }
  const Result<LaunchFilter> launches = LaunchFilter::parse(arguments.launches, "--launches");
  std::optional<NamePattern> kernels;
  if (!arguments.kernels.empty()) kernels = *NamePattern::parse(arguments.kernels);
  return Printer(arguments, *launches, std::move(kernels)).print_all();
}

}  // namespace lynxpp::cli
