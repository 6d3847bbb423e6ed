#include "cli/cluster/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace lynxpp::cli {

CLI::App* add_merge(CLI::App& app, MergeArguments& arguments) {
  CLI::App* const merge = app.add_subcommand("merge", "Merge the records of many processes into one file");
  merge->add_option("FILE", arguments.files, "Record files, plain or gzip-compressed; - for standard input")
      ->required()
      ->type_name("");
  merge->add_option("-o,--output", arguments.output, "Output file (default: standard output)")
      ->type_name("FILE");
  merge->footer(
      "Every record names its process, and every process its host and rank. Site tables that several\n"
      "processes share are written once. Lines are written as they are read, so memory use does not depend\n"
      "on the number or size of the files.\n"
      "The exit code is 1 if a file cannot be read or the output cannot be written. Invalid lines are\n"
      "reported and skipped.\n\n"
      "Example: lynxpp report merge rank*.jsonl -o job.jsonl && lynxpp report job.jsonl --by rank");
  return merge;
}

}  // namespace lynxpp::cli
