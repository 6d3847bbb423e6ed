#include "cli/trace/arguments.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/common_options.h"
#include "cli/completion/complete.h"

namespace lynxpp::cli {

CLI::App* add_trace(CLI::App& app, TraceArguments& arguments) {
  CLI::App* const trace =
      app.add_subcommand("trace", "Print the entries of traces that were streamed to files");
  trace->add_option("FOLDER", arguments.paths, "What --trace named, or files in it")
      ->required()
      ->type_name("");
  trace->add_flag("--list", arguments.list, "Only which traces there are, and how many entries each has");
  trace->add_option("-t,--name", arguments.trace, "Only traces of this name, e.g. accesses")
      ->type_name("NAME");
  add_filters(*trace, arguments.kernels, arguments.launches);
  trace->add_option("-f,--format", arguments.format, "csv (default) or json, an object in each line")
      ->type_name("FORMAT")
      ->check(one_of({"csv", "json"}));
  trace->footer(
      "Traces of one name are printed one behind the other, their entries in the order of their numbers.\n"
      "A number that is missing belongs to an entry that was lost, which the launch's record says, too.\n"
      "The exit code is 1 when a file cannot be read.\n\n"
      "Example: lynxpp run -s memory_trace --trace seen -- ./app && lynxpp trace seen -t accesses");
  return trace;
}

}  // namespace lynxpp::cli
