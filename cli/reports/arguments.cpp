#include "cli/reports/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cmath>
#include <cstdlib>

#include "cli/common_options.h"
#include "cli/completion/complete.h"
#include "support/text.h"

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

/// Returns 0.015 for "1.5%" and "1.5 %".
double share_of(std::string text) {
  if (text.ends_with('%')) text.pop_back();
  char* end = nullptr;
  const double percent = std::strtod(text.c_str(), &end);
  const bool is_number = end != text.c_str() && trim(end).empty() && std::isfinite(percent) && percent >= 0;
  if (!is_number) throw CLI::ValidationError("--fail-over requires a percentage such as 1%");
  return percent / 100;
}

}  // namespace

CLI::App* add_record(CLI::App& app, RecordArguments& arguments) {
  CLI::App* record = app.add_subcommand("record", "Run a program and report where to optimize");
  RunArguments& run = arguments.run;
  add_specifications(*record, run.specifications, false,
                     "Used instead of the default specifications; comma-separated or repeated");
  add_filters(*record, run.kernels, run.launches);
  record
      ->add_option("-o,--output", run.output, "The record file, overwritten (default: lynxpp-PROGRAM.jsonl)")
      ->type_name("FILE")
      ->check(record_file());
  record->add_option("--html", arguments.html, "Write the page of `lynxpp report --format html` to FILE, too")
      ->type_name("FILE");
  add_device(*record, run.device);
  record->add_option("-f,--format", arguments.format, "text (default), or json: one document for tools")
      ->type_name("FORMAT")
      ->check(one_of({"text", "json"}));
  record
      ->add_option("--checks", arguments.checks,
                   "For json: run again with these checks: memory,race,init,sync")
      ->type_name("LIST");
  record->callback([&arguments] {
    const bool is_json = arguments.format == "json";
    if (!is_json && !arguments.checks.empty()) throw CLI::ValidationError("--checks requires --format json");
    const bool is_pattern = arguments.run.output.find('%') != std::string::npos;
    if (is_json && is_pattern)
      throw CLI::ValidationError("--format json requires an output file without '%'");
    if (!arguments.html.empty() && is_pattern)
      throw CLI::ValidationError("--html requires an output file without '%'");
  });
  record->add_flag("--measure", arguments.measure,
                   "Run again as `lynxpp limits` does; measured gains replace estimates");
  record->footer(
      "Measures with instruction_count, memory_efficiency, branch_divergence, basic_block_count,\n"
      "shared_bank_conflicts, atomic_contention and kernel_runtime. When the program has ended, a summary\n"
      "of its kernels and findings with advice is printed on standard error; `lynxpp report FILE --format\n"
      "summary` prints them again. Compile with -lineinfo so that findings name source lines. The exit code\n"
      "is the program's, or 2, 3, 126 or 127 as for `lynxpp run`. With --format json, standard output is\n"
      "one document (docs/schema/digest.schema.json); the program's output goes to standard error.\n\n"
      "Example: lynxpp record --html app.html -- ./app 1024");
  return record;
}

CLI::App* add_triton(CLI::App& app, TritonArguments& arguments) {
  CLI::App* triton = app.add_subcommand("triton", "Run a program's Triton kernels without a GPU");
  add_specifications(*triton, arguments.specifications, false,
                     "Used instead of the default specifications; comma-separated or repeated");
  triton
      ->add_option("-o,--output", arguments.output,
                   "The record file, overwritten (default: lynxpp-PROGRAM.jsonl)")
      ->type_name("FILE")
      ->check(record_file());
  triton
      ->add_option("-c,--checks", arguments.checks,
                   "Comma-separated: memory,race,init,sync; or none (default: all)")
      ->type_name("LIST");
  triton
      ->add_option("--error-exit", arguments.error_exit,
                   "Exit with CODE if a check finds something (default: the program's code)")
      ->type_name("CODE")
      ->check(CLI::Range(1, 255).description(""));
  add_compute_capability(*triton, arguments.sm, "Compute capability to compile for (default: 89)");
  triton
      ->add_option("--python", arguments.python, "The Python interpreter that has Triton (default: python3)")
      ->type_name("PROGRAM");
  triton->footer(
      "Triton compiles the kernels, which needs no GPU. The cpu device runs each launch on tensors in host\n"
      "memory and measures it with instruction_count and memory_efficiency. The first launch of each\n"
      "kernel and grid is checked as by `lynxpp check-run`. Autotuning takes the first configuration;\n"
      "benchmarks report NaN as times. For compute capability 90, matrix products use wgmma. The exit code\n"
      "is the program's, or 2: Triton is missing or wrong usage; 3: no kernel was launched; 126 and 127:\n"
      "the Python interpreter cannot be started.\n\n"
      "Example: lynxpp triton softmax.py");
  return triton;
}

CLI::App* add_report(CLI::App& app, ReportArguments& arguments) {
  CLI::App* report =
      app.add_subcommand("report", "Show records, compare them (diff), merge them, or print traces");
  report->add_option("FILE", arguments.files, "Record files of runs (-o, LYNXPP_OUTPUT)")->type_name("");
  report
      ->add_option("-f,--format", arguments.format,
                   "table, summary, digest, csv, json, html, plain-html, svg or perfetto")
      ->type_name("FORMAT")
      ->check(one_of({"table", "summary", "digest", "csv", "json", "html", "plain-html", "svg", "perfetto"}));
  report->add_option("-o,--output", arguments.output, "Output file (default: standard output)")
      ->type_name("FILE");
  add_grouping(*report, arguments);
  report
      ->add_option("-w,--width", arguments.width,
                   "Width of the table in characters (default: the terminal's)")
      ->type_name("NUMBER")
      ->check(CLI::Range(60, 10000).description(""));
  report->add_flag("--no-source", arguments.no_source, "html: omit the text of source files");
  report->add_flag("-a,--all", arguments.all,
                   "Show every row, element and site in the table, not only the first");
  report->footer(
      "table: as at the end of a run, with findings; summary: kernels and findings; digest: a small object\n"
      "for tools, as `lynxpp record --format json` prints; csv: one line per value; json: one object with\n"
      "totals by kernel; html: one page with everything; plain-html: a page without scripts; svg: bar\n"
      "charts; perfetto: a timeline for ui.perfetto.dev. The results of several files, or of the processes\n"
      "of a merged file, are added up; --by separates them in a table or CSV. The exit code is 1 if a file\n"
      "cannot be read or has no records. Invalid lines are reported and skipped.\n\n"
      "Example: lynxpp report out.jsonl --format html -o out.html");
  return report;
}

CLI::App* add_diff(CLI::App& app, DiffArguments& arguments) {
  CLI::App* diff = app.add_subcommand("diff", "Compare the records of two runs, largest changes first");
  diff->add_option("A", arguments.a, "JSON Lines of the first run")->required()->type_name("");
  diff->add_option("B", arguments.b, "JSON Lines of the second run; not required with --budgets")
      ->type_name("");
  diff->add_option("--budgets", arguments.budgets, "Compare the last file with the limits in a TOML file")
      ->type_name("FILE");
  diff->add_option_function<std::string>(
          "--fail-over", [&arguments](const std::string& text) { arguments.fail_over = share_of(text); },
          "Fail if a cost of a kernel rises by more than this, for example 1%")
      ->type_name("PERCENT");
  diff->add_option("-n,--top", arguments.top, "Rows per list; 0 shows all (default: 20, with --json all)")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 1000000000).description(""));
  diff->add_flag("--json", arguments.json, "Print one object with everything");
  diff->footer(
      "The first line is the verdict: costs that fell, findings that are gone, and what got worse. Costs\n"
      "are each kernel's warp instructions, sectors, wavefronts, atomic operations on one word, launches\n"
      "and, on a GPU, time, which counts if it changed by at least 10 %. Changed results, array elements\n"
      "and sites follow, largest change first; clocks and SM numbers of the cpu device are left out.\n\n"
      "A file of budgets contains one table per limit:\n"
      "  [[budget]]\n"
      "  kernel = \"^transpose\"                             # regular expression for the name\n"
      "  metric = \"shared_bank_conflicts.load_wavefronts\"  # SPECIFICATION.RESULT; arrays are summed\n"
      "  at_most = 8192                                    # and/or at_least\n"
      "A limit applies to the sum, or ratio, over all launches of each matching kernel. It fails, too, if\n"
      "nothing was measured.\n\n"
      "The exit code is 0, 1 if a file cannot be used, or 4 if a budget or --fail-over fails.\n\n"
      "Example: lynxpp report diff before.jsonl after.jsonl --fail-over 1% --budgets budgets.toml\n"
      "         lynxpp report diff after.jsonl --budgets budgets.toml");
  diff->callback([&arguments] {
    if (arguments.b.empty() && arguments.budgets.empty())
      throw CLI::RequiredError("B, the records of a second run, or --budgets");
    if (arguments.b.empty() && arguments.fail_over)
      throw CLI::ValidationError("--fail-over requires two runs");
  });
  return diff;
}

}  // namespace lynxpp::cli
