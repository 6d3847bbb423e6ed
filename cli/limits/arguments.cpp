#include "cli/limits/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/common_options.h"

namespace lynxpp::cli {

CLI::App* add_limits(CLI::App& app, LimitsArguments& arguments) {
  CLI::App* limits = app.add_subcommand("limits", "Measure what each class of operations costs each kernel");
  add_kernels(*limits, arguments.kernels);
  limits
      ->add_option("-n,--launches", arguments.launches,
                   "Measure classes with at most NUMBER launches per kernel (default: 60)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 100000).description(""));
  limits->add_flag("--replay", arguments.replay,
                   "Repeat launches of kernels that the program launches too rarely");
  limits->add_flag("--try", arguments.tries, "Also measure remedies that keep the results");
  limits
      ->add_option("-p,--perturbation", arguments.perturbations,
                   "Use only this perturbation, e.g. atomic:again@31; may be repeated")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  add_device(*limits, arguments.device);
  limits
      ->add_option("-m,--machine", arguments.machine,
                   "Modelled clock on cpu (default: LYNXPP_CPU_CLOCK, else compute_9_0)")
      ->type_name("MACHINE");
  limits
      ->add_option("-o,--output", arguments.output,
                   "Keep the records of the run in FILE, replacing its contents")
      ->type_name("FILE")
      ->check(record_file());
  limits->add_option("--json", arguments.json, "Write the limits as JSON to FILE")->type_name("FILE");
  limits->add_option("--html", arguments.html, "Write the limits as a page to FILE")->type_name("FILE");
  limits->add_option("--from", arguments.from, "Read the records in FILE instead of running a program")
      ->type_name("FILE");
  limits->footer(
      "The program runs once. Its launches alternate between the original kernel, a variant that executes\n"
      "each operation of a class twice, and one with cheap operations of the same kind added. The time\n"
      "differences show what the operations cost, and how much of that is due to their access pattern.\n"
      "Results do not change. Classes that cost at least 3 % are narrowed down to source lines if the\n"
      "program was compiled with -lineinfo.\n"
      "Without a GPU, times are modelled. The tables are printed on standard error when the program has\n"
      "ended (with --from: on standard output). The exit code is the program's, or 3 if no launch was\n"
      "timed, or 2, 126 or 127 as for `lynxpp run`.\n\n"
      "Example: lynxpp limits -k transpose --html limits.html -- ./app 1024");
  return limits;
}

}  // namespace lynxpp::cli
