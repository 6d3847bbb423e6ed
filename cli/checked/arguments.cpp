#include "cli/checked/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace lynxpp::cli {

CLI::App* add_check_run(CLI::App& app, CheckRunArguments& arguments) {
  CLI::App* const command = app.add_subcommand(
      "check-run", "Check a program's kernels for races and illegal accesses, without a GPU");
  command
      ->add_option("-c,--checks", arguments.checks,
                   "Comma-separated: memory,race,init,sync,leak (default: all but leak)")
      ->type_name("LIST");
  command->add_option("-o,--output", arguments.output, "Write the findings to FILE, replacing its contents")
      ->type_name("FILE");
  command
      ->add_option("-f,--format", arguments.format,
                   "Format of FILE: text, json (JSON Lines) or sarif (default: json)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json", "sarif"}).description(""));
  CLI::Option* const schedules =
      command
          ->add_option("--schedules", arguments.schedules,
                       "Try N schedules of warps, blocks and asynchronous copies (default: 1)")
          ->type_name("N")
          ->check(CLI::Range(1, 1'000'000).description(""));
  command
      ->add_option("--seed", arguments.seed, "Try only schedule SEED, which a finding of --schedules names")
      ->type_name("SEED")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->excludes(schedules);
  command
      ->add_option("--error-exit", arguments.error_exit,
                   "Exit with CODE if a check finds something (default: the program's code)")
      ->type_name("CODE")
      ->check(CLI::Range(1, 255).description(""));
  command->footer(
      "memory: accesses to unallocated or freed memory, and misaligned ones; race: conflicting accesses\n"
      "without synchronization; init: reads of uninitialized global memory, and of shared memory if\n"
      "results depend on them; sync: barriers that a partial warp reaches, that a warp skips or never\n"
      "leaves, and shuffles from lanes that have exited; leak: memory that is never freed.\n"
      "Findings are printed on standard error when the program ends, each location once. An error went\n"
      "wrong in the run, a hazard may go wrong in another order of execution, and a warning is defined but\n"
      "probably not meant; --error-exit counts all three.\n"
      "docs/checking.md lists what the checks detect. Exit code 3: nothing was checked; 2, 126 and 127:\n"
      "see `lynxpp run`.\n\n"
      "Example: lynxpp check-run --error-exit 1 --format sarif -o findings.sarif -- ./app 1024");
  return command;
}

}  // namespace lynxpp::cli
