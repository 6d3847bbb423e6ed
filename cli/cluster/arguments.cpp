#include "cli/cluster/arguments.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/completion/complete.h"

namespace lynxpp::cli {

void add_place(CLI::App& report, ReportArguments& arguments) {
  report.add_option("--by", arguments.by, "rank, host, process or device: numbers of each beside each other")
      ->type_name("PLACE")
      ->check(one_of({"rank", "host", "process", "device"}));
  report.callback([&arguments] {
    if (!arguments.by.empty() && arguments.format != "table" && arguments.format != "csv")
      throw CLI::ValidationError("--by is for the formats table and csv");
  });
}

CLI::App* add_merge(CLI::App& app, MergeArguments& arguments) {
  CLI::App* const merge = app.add_subcommand("merge", "Put the records of many processes into one file");
  merge
      ->add_option("FILE", arguments.files,
                   "JSON Lines of runs, plain or compressed (gzip); - for standard input")
      ->required()
      ->type_name("");
  merge->add_option("-o,--output", arguments.output, "Where to write (default: standard output)")
      ->type_name("FILE");
  merge->footer(
      "Every record goes on naming its process, and the process its host and rank. Tables of sites that\n"
      "processes have in common are written once. Lines are handed on as they are read, so that neither\n"
      "the number of files nor their length takes memory.\n"
      "The exit code is 1 when a file cannot be read or the output cannot be written; lines that are no\n"
      "records are named and left out.\n\n"
      "Example: lynxpp merge rank*.jsonl -o job.jsonl && lynxpp report job.jsonl --by rank");
  return merge;
}

}  // namespace lynxpp::cli
