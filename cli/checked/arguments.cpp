#include "cli/checked/arguments.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace lynxpp::cli {

CLI::App* add_check_run(CLI::App& app, CheckRunArguments& arguments) {
  CLI::App* const command =
      app.add_subcommand("check-run", "Run a program on the cpu device and check what its kernels do");
  command
      ->add_option("-c,--checks", arguments.checks,
                   "Some of memory,race,init,sync,leak (default: all but leak)")
      ->type_name("LIST");
  command->add_option("-o,--output", arguments.output, "Write the findings as JSON Lines to FILE, begun anew")
      ->type_name("FILE");
  command
      ->add_option("--error-exit", arguments.error_exit,
                   "Exit with CODE when something is found (default: as the program does)")
      ->type_name("CODE")
      ->check(CLI::Range(1, 255).description(""));
  command->footer(
      "memory: accesses to what is not allocated, or no longer, and misaligned ones; race: conflicting\n"
      "accesses that nothing orders; init: reads of global and shared memory that nothing has written;\n"
      "sync: barriers that a warp reaches in parts, leaves out or never leaves; leak: memory that is never\n"
      "freed. Findings are printed on standard error when the program ends, each place once. What can be\n"
      "seen and what cannot is in docs/checking.md. Exit code 3: nothing was checked; 2, 126, 127: as of\n"
      "`lynxpp run`.\n\n"
      "Example: lynxpp check-run --error-exit 1 -- ./app 1024");
  return command;
}

}  // namespace lynxpp::cli
