#include "cli/trace/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/common_options.h"
#include "cli/completion/complete.h"

namespace lynxpp::cli {

CLI::App* add_trace(CLI::App& app, TraceArguments& arguments) {
  CLI::App* const trace = app.add_subcommand("trace", "Print trace entries that were streamed to files");
  trace->add_option("FOLDER", arguments.paths, "The folder of --trace, or files in it")
      ->required()
      ->type_name("");
  trace->add_flag("--list", arguments.list, "List the traces and their numbers of entries");
  trace->add_option("-t,--name", arguments.trace, "Only traces of this name, e.g. accesses")
      ->type_name("NAME");
  add_filters(*trace, arguments.kernels, arguments.launches);
  trace->add_option("-f,--format", arguments.format, "csv (default) or json, one object per line")
      ->type_name("FORMAT")
      ->check(one_of({"csv", "json"}));
  trace->footer(
      "Traces with the same name are printed one after the other, each in the order of its entries'\n"
      "numbers. A gap in the numbers is a lost entry; the launch's record counts these, too.\n"
      "The exit code is 1 if a file cannot be read.\n\n"
      "Example: lynxpp run -s memory_trace --trace seen -- ./app && lynxpp report trace seen -t accesses");
  return trace;
}

}  // namespace lynxpp::cli
