#include "cli/reports/arguments.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/cluster/arguments.h"
#include "cli/common_options.h"
#include "cli/completion/complete.h"

namespace lynxpp::cli {

CLI::App* add_record(CLI::App& app, RecordArguments& arguments) {
  CLI::App* record = app.add_subcommand("record", "Run a program, then say in words where to look");
  RunArguments& run = arguments.run;
  add_specifications(*record, run.specifications, false,
                     "In place of the usual ones; several with commas or repeated");
  add_filters(*record, run.kernels, run.launches);
  record
      ->add_option("-o,--output", run.output,
                   "The file of records, begun anew (default: lynxpp-PROGRAM.jsonl)")
      ->type_name("FILE");
  add_device(*record, run.device);
  record->footer(
      "Measures with instruction_count, memory_efficiency, branch_divergence, basic_block_count,\n"
      "shared_bank_conflicts, atomic_contention and kernel_runtime. After the program has ended, a summary\n"
      "of its kernels and findings with what to try go to standard error, as `lynxpp report FILE --format\n"
      "summary` shows them again. Compile with -lineinfo so that findings name source lines. The exit code\n"
      "is the program's; 2, 3, 126 and 127 as for `lynxpp run`.\n\n"
      "Example: lynxpp record -- ./app 1024\n"
      "         lynxpp report lynxpp-app.jsonl --format html -o app.html");
  return record;
}

CLI::App* add_report(CLI::App& app, ReportArguments& arguments) {
  CLI::App* report =
      app.add_subcommand("report", "Show records again: in words, as a table, CSV, a page, plots");
  report->add_option("FILE", arguments.files, "JSON Lines that a run wrote (-o, LYNXPP_OUTPUT)")
      ->required()
      ->type_name("");
  report
      ->add_option("-f,--format", arguments.format,
                   "table (default), summary, csv, json, html, plain-html, svg or perfetto")
      ->type_name("FORMAT")
      ->check(one_of({"table", "summary", "csv", "json", "html", "plain-html", "svg", "perfetto"}));
  report->add_option("-o,--output", arguments.output, "Where to write (default: standard output)")
      ->type_name("FILE");
  add_place(*report, arguments);
  report
      ->add_option("-w,--width", arguments.width,
                   "Characters of a line of the table (default: the terminal's)")
      ->type_name("NUMBER")
      ->check(CLI::Range(60, 10000).description(""));
  report->add_flag("--no-source", arguments.no_source,
                   "Leave the text of source files out of the page that html makes");
  report->add_flag("-a,--all", arguments.all,
                   "In the table every row, element and place, not the first ones alone");
  report->footer(
      "table: as at the end of a run, with findings; summary: kernels and findings in words; csv: one line\n"
      "per number; json: totals by kernel in one object; html: one page with everything; plain-html: one\n"
      "without scripts; svg: bars; perfetto: a timeline for ui.perfetto.dev. Several files are added up as\n"
      "one run's, as processes of a merged one are; --by tells them apart in a table or CSV. The exit code\n"
      "is 1 when a file cannot be read or holds no records; lines that are none are named and left out.\n\n"
      "Example: lynxpp report out.jsonl --format html -o out.html");
  return report;
}

CLI::App* add_diff(CLI::App& app, DiffArguments& arguments) {
  CLI::App* diff = app.add_subcommand("diff", "Compare the records of two runs: what changed most");
  diff->add_option("A", arguments.a, "JSON Lines of the first run")->required()->type_name("");
  diff->add_option("B", arguments.b, "JSON Lines of the second run")->required()->type_name("");
  diff->add_option("-n,--top", arguments.top, "Rows of each list (default: 20, with --json all); 0: all")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 1000000000).description(""));
  diff->add_flag("--json", arguments.json, "One object with everything");
  diff->footer(
      "Kernel by kernel: results with both values, their ratio and difference, then elements of arrays,\n"
      "rows of maps and places in the program. Results whose ratio is farthest from 1 come first, elements\n"
      "by their difference. Launches are folded as `lynxpp report` folds them. What only one file has is\n"
      "listed. The exit code is 1 when a file cannot be read or holds no records.\n\n"
      "Example: lynxpp diff before.jsonl after.jsonl --top 5");
  return diff;
}

}  // namespace lynxpp::cli
