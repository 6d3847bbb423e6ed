#include "cli/control/arguments.h"

#include <CLI/App.hpp>
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
  added->add_option("PID", arguments.process, "The process: a CUDA program started by `lynxpp run`")
      ->required()
      ->type_name("")
      ->check(CLI::Range(1, std::numeric_limits<int>::max()).description(""));
  added->callback([&arguments, command] { arguments.command = command; });
  return added;
}

}  // namespace

std::vector<CLI::App*> add_control(CLI::App& app, ControlArguments& arguments) {
  CLI::App* const attach =
      add_control_command(app, "attach", "Instrument a running program", Command::attach, arguments);
  add_specifications(*attach, arguments.specifications, false);
  add_one_liners(*attach, arguments.one_liners);
  add_kernels(*attach, arguments.kernels);
  attach->footer(
      "Replaces the attached specifications, beginning with the next launch. Records go to the program's\n"
      "LYNXPP_OUTPUT and into the table at its end. The program must have liblynxpp.so preloaded\n"
      "(`lynxpp run` without -s does that) and must have loaded CUDA code.\n"
      "The exit code is 1 if the process cannot be reached or refuses; nothing changes then.\n\n"
      "Example: lynxpp attach 4711 -s instruction_count -k 'matmul.*'");
  CLI::App* const detach = add_control_command(app, "detach", "Detach specifications from a running program",
                                               Command::detach, arguments);
  detach->footer("Later launches run uninstrumented. The exit code is as for `lynxpp attach`.");
  CLI::App* const status = add_control_command(
      app, "status", "Show a running program's specifications and launch counts", Command::status, arguments);
  status->footer(
      "Counts launches since the program started, and those with a specification attached.\n"
      "The exit code is as for `lynxpp attach`.");
  CLI::App* const why = add_control_command(app, "why", "Show where the warps of running kernels wait",
                                            Command::why, arguments);
  why->footer(
      "For a program that hangs. Lists each instrumented launch that has not ended and, if the\n"
      "specification hang_location was attached before the launch, how many of its warps wait at which\n"
      "barrier or run in which loop. The exit code is as for `lynxpp attach`, or 3 if no instrumented\n"
      "launch is running.\n\n"
      "Example: lynxpp run -s hang_location -- ./app & sleep 60; lynxpp why $!");
  CLI::App* const top = add_control_command(app, "top", "Show rates and the busiest kernels every second",
                                            Command::top, arguments);
  top->add_flag("--once", arguments.once, "Watch for one second, print the result and exit");
  top->footer("Runs until Ctrl-C or the end of the program. The exit code is as for `lynxpp attach`.");
  return {attach, detach, status, why, top};
}

}  // namespace lynxpp::cli
