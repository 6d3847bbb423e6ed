#include "cli/reports/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/common_options.h"
#include "cli/completion/complete.h"

namespace lynxpp::cli {
namespace {

/// Adds --by.
void add_grouping(CLI::App& report, ReportArguments& arguments) {
  report.add_option("--by", arguments.by, "Group results by rank, host, process or device, side by side")
      ->type_name("GROUP")
      ->check(one_of({"rank", "host", "process", "device"}));
  report.callback([&arguments] {
    if (!arguments.by.empty() && arguments.format != "table" && arguments.format != "csv")
      throw CLI::ValidationError("--by requires the format table or csv");
  });
}

}  // namespace

CLI::App* add_record(CLI::App& app, RecordArguments& arguments) {
  CLI::App* record = app.add_subcommand("record", "Run a program and report where to optimize");
  RunArguments& run = arguments.run;
  add_specifications(*record, run.specifications, false,
                     "Replaces the usual specifications; comma-separated or repeated");
  add_filters(*record, run.kernels, run.launches);
  record->add_option("-o,--output", run.output, "The record file, replaced (default: lynxpp-PROGRAM.jsonl)")
      ->type_name("FILE");
  add_device(*record, run.device);
  record->footer(
      "Measures with instruction_count, memory_efficiency, branch_divergence, basic_block_count,\n"
      "shared_bank_conflicts, atomic_contention and kernel_runtime. When the program has ended, a summary\n"
      "of its kernels and findings with advice are printed on standard error; `lynxpp report FILE --format\n"
      "summary` prints them again. Compile with -lineinfo so that findings name source lines. The exit code\n"
      "is the program's, or 2, 3, 126 or 127 as for `lynxpp run`.\n\n"
      "Example: lynxpp record -- ./app 1024\n"
      "         lynxpp report lynxpp-app.jsonl --format html -o app.html");
  return record;
}

CLI::App* add_report(CLI::App& app, ReportArguments& arguments) {
  CLI::App* report = app.add_subcommand("report", "Show records as findings, a table, CSV, a page or plots");
  report->add_option("FILE", arguments.files, "JSON Lines that a run wrote (-o, LYNXPP_OUTPUT)")
      ->required()
      ->type_name("");
  report
      ->add_option("-f,--format", arguments.format,
                   "table (default), summary, csv, json, html, plain-html, svg or perfetto")
      ->type_name("FORMAT")
      ->check(one_of({"table", "summary", "csv", "json", "html", "plain-html", "svg", "perfetto"}));
  report->add_option("-o,--output", arguments.output, "Output file (default: standard output)")
      ->type_name("FILE");
  add_grouping(*report, arguments);
  report
      ->add_option("-w,--width", arguments.width,
                   "Width of the table in characters (default: the terminal's)")
      ->type_name("NUMBER")
      ->check(CLI::Range(60, 10000).description(""));
  report->add_flag("--no-source", arguments.no_source, "Omit the text of source files from the page of html");
  report->add_flag("-a,--all", arguments.all,
                   "Show every row, element and site in the table, not only the first");
  report->footer(
      "table: as at the end of a run, with findings; summary: kernels and findings; csv: one line per\n"
      "number; json: totals by kernel in one object; html: one page with everything; plain-html: a page\n"
      "without scripts; svg: bars; perfetto: a timeline for ui.perfetto.dev. Several files are summed like\n"
      "one run, and so are the processes of a merged file; --by separates them in a table or CSV. The exit\n"
      "code is 1 if a file cannot be read or has no records. Invalid lines are reported and skipped.\n\n"
      "Example: lynxpp report out.jsonl --format html -o out.html");
  return report;
}

CLI::App* add_diff(CLI::App& app, DiffArguments& arguments) {
  CLI::App* diff = app.add_subcommand("diff", "Compare the records of two runs, largest changes first");
  diff->add_option("A", arguments.a, "JSON Lines of the first run")->required()->type_name("");
  diff->add_option("B", arguments.b, "JSON Lines of the second run")->required()->type_name("");
  diff->add_option("-n,--top", arguments.top, "Rows per list (default: 20, with --json all); 0: all")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 1000000000).description(""));
  diff->add_flag("--json", arguments.json, "Print one object with everything");
  diff->footer(
      "Shows, kernel by kernel, results with both values, their ratio and difference, then elements of\n"
      "arrays, rows of maps and sites in the program. Results whose ratio is farthest from 1 come first;\n"
      "elements are ordered by difference. Launches are folded as in `lynxpp report`. Anything that only\n"
      "one file has is listed. The exit code is 1 if a file cannot be read or has no records.\n\n"
      "Example: lynxpp diff before.jsonl after.jsonl --top 5");
  return diff;
}

}  // namespace lynxpp::cli
