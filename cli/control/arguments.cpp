#include "cli/control/arguments.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <limits>

#include "cli/common_options.h"

namespace lynxpp::cli {
namespace {

using Command = ControlArguments::Command;

CLI::App* add_control_command(CLI::App& app, const char* name, const char* description, Command command,
                              ControlArguments& arguments) {
  CLI::App* const added = app.add_subcommand(name, description);
  added->add_option("PID", arguments.process, "The process: a CUDA program that `lynxpp run` has started")
      ->required()
      ->type_name("")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()).description(""));
  added->callback([&arguments, command] { arguments.command = command; });
  return added;
}

}  // namespace

void add_control(CLI::App& app, ControlArguments& arguments) {
  CLI::App* const attach = add_control_command(app, "attach", "Instrument a program that is running already",
                                               Command::attach, arguments);
  add_specifications(*attach, arguments.specifications, false);
  add_one_liners(*attach, arguments.one_liners);
  add_kernels(*attach, arguments.kernels);
  attach->footer(
      "Takes the place of what is attached, from the next launch on. Records go where LYNXPP_OUTPUT of the\n"
      "program says, and into the table at its end. The program must have liblynxpp.so preloaded\n"
      "(`lynxpp run` without -s will do) and have loaded CUDA code.\n"
      "The exit code is 1 when the process cannot be reached or refuses; then nothing has changed.\n\n"
      "Example: lynxpp attach 4711 -s instruction_count -k 'matmul.*'");
  CLI::App* const detach = add_control_command(app, "detach", "End what `attach`, or -s of `run`, has begun",
                                               Command::detach, arguments);
  detach->footer("Launches run as they are from the next one on. The exit code is 1 as of `lynxpp attach`.");
  CLI::App* const status =
      add_control_command(app, "status", "Show what is attached to a running program and what it has counted",
                          Command::status, arguments);
  status->footer(
      "Launches are those since the program began, and those while something was attached. The exit code is\n"
      "1 as of attach.");
  CLI::App* const top = add_control_command(app, "top", "Show rates and the busiest kernels every second",
                                            Command::top, arguments);
  top->add_flag("--once", arguments.once, "Watch for one second, print that, and leave");
  top->footer("Ends with Ctrl-C, or with the program. The exit code is 1 as of `lynxpp attach`.");
}

}  // namespace lynxpp::cli
