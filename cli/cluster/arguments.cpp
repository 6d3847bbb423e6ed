#include "cli/cluster/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace lynxpp::cli {

CLI::App* add_merge(CLI::App& app, MergeArguments& arguments) {
  CLI::App* const merge = app.add_subcommand("merge", "Merge the records of many processes into one file");
  merge
      ->add_option("FILE", arguments.files,
                   "JSON Lines of runs, may be gzip-compressed; - for standard input")
      ->required()
      ->type_name("");
  merge->add_option("-o,--output", arguments.output, "Output file (default: standard output)")
      ->type_name("FILE");
  merge->footer(
      "Records keep the name of their process, and processes their host and rank. Tables of sites that\n"
      "processes share are written once. Lines are written as they are read, so memory use depends neither\n"
      "on the number of files nor on their length.\n"
      "The exit code is 1 if a file cannot be read or the output cannot be written. Invalid lines are\n"
      "reported and skipped.\n\n"
      "Example: lynxpp report merge rank*.jsonl -o job.jsonl && lynxpp report job.jsonl --by rank");
  return merge;
}

}  // namespace lynxpp::cli
