#include "cli/quality/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/common_options.h"

namespace lynxpp::cli {

CLI::App* add_quality(CLI::App& app, QualityArguments& arguments) {
  CLI::App* quality =
      app.add_subcommand("quality", "Rate how well a program's kernels and ranges use the device");
  add_filters(*quality, arguments.kernels, arguments.launches);
  add_device(*quality, arguments.device);
  quality
      ->add_option("-w,--weights", arguments.weights,
                   "JSON file of weights, or paper (default: the device's, else paper)")
      ->type_name("FILE");
  CLI::Option* const fit = quality->add_flag(
      "--fit", arguments.fit, "Fit weights to the device, from ranges named PRIMITIVE/IMPLEMENTATION");
  quality
      ->add_option("-o,--output", arguments.output,
                   "Where to store the weights (default: the user's data folder)")
      ->type_name("FILE")
      ->needs(fit);
  quality
      ->add_option("-m,--machine", arguments.machine,
                   "Modelled clock on cpu (default: LYNXPP_CPU_CLOCK, else compute_9_0)")
      ->type_name("MACHINE");
  quality
      ->add_option("-r,--range", arguments.ranges,
                   "Only this range and those in it, as \"outer/inner\"; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  quality
      ->add_option("--function", arguments.functions,
                   "Also treat the launches of these functions (comma-separated) as ranges")
      ->type_name("NAMES");
  quality
      ->add_option("--problem-bytes", arguments.problem_bytes,
                   "Bytes that the computation needs (default: the size of its arrays)")
      ->type_name("NUMBER");
  quality->add_flag("--inputs", arguments.inputs, "Show every raw input with its source");
  quality->add_flag("--json", arguments.json, "Print one JSON object");
  quality->footer(
      "The criteria are those of Pro++, from 0 to 1: occupancy (OC), load balancing (LB), warp efficiency\n"
      "(WE), synchronization (SO), instructions (IO), memory hierarchy (MH), memory coalescing (MC), data\n"
      "transfer (DT); QM is their weighted mean. Ranges come from NVTX, LYNXPP_RANGE and --function.\n"
      "The program runs twice, three times on a GPU; its output is discarded. The exit code is 1 if the\n"
      "program fails; 2: wrong usage, or errors in the file of weights; 3: the program launches no kernel\n"
      "or does not enter a range.\n\n"
      "Example: lynxpp quality --range reduction -- ./primitives reduction\n"
      "Example: lynxpp quality --fit -- ./primitives 100000");
  return quality;
}

}  // namespace lynxpp::cli
