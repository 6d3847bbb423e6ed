// The command lines of `lynxpp record`, `lynxpp triton`, `lynxpp report` and `lynxpp report diff`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/run_arguments.h"

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// `lynxpp record`.
struct RecordArguments {
  RunArguments run;  ///< defaults: the usual specifications, and an output file named after the program
  std::string format = "text";  ///< or "json": a digest on standard output
  std::string html;             ///< a file for the page; empty: none
  bool measure = false;         ///< runs the program again with trials, whose results replace estimates
  std::string checks;           ///< for json: of `lynxpp check-run`, in a second run; empty: none
};

/// `lynxpp triton`.
struct TritonArguments {
  std::vector<std::string> specifications;  ///< empty: the usual ones
  std::string checks;                       ///< a list, or "none"; empty: all
  std::string output;                       ///< a record file; empty: named after the program
  std::string python = "python3";
  int sm = 0;                        ///< 0: what suits the cpu device
  int error_exit = 0;                ///< the exit code if something is found; 0: the program's
  std::vector<std::string> command;  ///< the program's file and its arguments; not empty
};

/// `lynxpp report`.
struct ReportArguments {
  std::vector<std::string> files;
  std::string format = "table";
  std::string output;      ///< empty or "-": standard output
  std::string by;          ///< "rank", "host", "process", "device"; empty: all combined
  int width = 0;           ///< columns of the table; 0: the terminal's width
  bool all = false;        ///< table: show every row, element and site
  bool no_source = false;  ///< page: omit the text of source files
};

/// `lynxpp report diff`.
struct DiffArguments {
  std::string a;                    ///< record files
  std::string b;                    ///< empty: `a` is compared with the budgets only
  std::string budgets;              ///< a file; empty: none
  std::optional<double> fail_over;  ///< share by which no cost may rise
  std::optional<std::size_t> top;   ///< rows of each list; 0: all; nullopt: the format's default
  bool json = false;
};

CLI::App* add_record(CLI::App& app, RecordArguments& arguments);
CLI::App* add_triton(CLI::App& app, TritonArguments& arguments);
CLI::App* add_report(CLI::App& app, ReportArguments& arguments);
CLI::App* add_diff(CLI::App& app, DiffArguments& arguments);

}  // namespace lynxpp::cli
