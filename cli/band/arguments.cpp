#include "cli/band/arguments.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

#include "cli/common_options.h"
#include "cli/completion/complete.h"

namespace lynxpp::cli {
namespace {

void add_transactions(CLI::App& band, BandArguments& arguments) {
  constexpr const char* sizes[] = {"32", "64", "128"};
  for (int i = 0; i < 3; ++i) {
    for (const bool is_load : {true, false}) {
      const std::string name = std::string(is_load ? "--gld-" : "--gst-") + sizes[i];
      const std::string what =
          std::string(is_load ? "Loads" : "Stores") + " of " + sizes[i] + " bytes: transactions of a launch";
      band.add_option(name, is_load ? arguments.loads[i] : arguments.stores[i], what)
          ->type_name("NUMBER")
          ->check(CLI::NonNegativeNumber.description(""));
    }
  }
}

}  // namespace

CLI::App* add_calibrate(CLI::App& app, CalibrateArguments& arguments) {
  CLI::App* calibrate =
      app.add_subcommand("calibrate", "Find out what memory transactions cost on this machine's GPU");
  calibrate
      ->add_option("-m,--machine", arguments.machine,
                   "A modelled one instead, by name or .json file (see: advise -m list)")
      ->type_name("MACHINE");
  calibrate
      ->add_option("-i,--iterations", arguments.iterations, "Accesses of a thread in each run (default: 512)")
      ->type_name("NUMBER")
      ->check(CLI::Range(16, 1 << 20).description(""));
  CLI::Option* const printed =
      calibrate->add_flag("--printed", arguments.uses_printed_loops,
                          "Loops as the paper prints them, with an index computed for each access");
  calibrate
      ->add_flag("--scattered", arguments.scatters,
                 "Lanes access apart, a transaction each; kept as DEVICE-scattered")
      ->excludes(printed);
  calibrate->add_option("-o,--output", arguments.output, "Where to keep it (default: the user's data folder)")
      ->type_name("FILE");
  calibrate->add_option("--benchmarks", arguments.benchmarks, "Another program that prints the times")
      ->type_name("FILE");
  calibrate->footer(
      "Micro-benchmarks of reads and writes of 32, 64 and 128 bytes, spread over all partitions of memory\n"
      "and confined to one, give the equations that `lynxpp band` needs. A machine's times are modelled.\n"
      "The exit code is 1 when there is no such device or the benchmarks fail.\n\n"
      "Example: lynxpp calibrate --machine compute_1_3");
  return calibrate;
}

CLI::App* add_band(CLI::App& app, BandArguments& arguments) {
  CLI::App* band =
      app.add_subcommand("band", "How much a memory-bound kernel suffers from partition camping");
  band->add_option("-c,--calibration", arguments.calibration,
                   "Device by name, or .json file (default: the only one calibrated)")
      ->type_name("DEVICE");
  band->add_option("-e,--equation", arguments.equation,
                   "samples (default: times of benchmarks), sums (the paper's) or products")
      ->type_name("FORM")
      ->check(one_of({"samples", "sums", "products"}));
  band->add_flag("--cache", arguments.is_of_caches,
                 "Between all hits and all misses of modelled caches instead (CacheProf)");
  band->add_option("-m,--machine", arguments.machine, "… of which (default: compute_9_0)")
      ->type_name("MACHINE");
  band->add_flag("--cold", arguments.is_cold, "… emptied before each kernel, as profilers do");
  add_filters(*band, arguments.kernels, arguments.launches);
  band->add_option("--arithmetic", arguments.added_arithmetic,
                   "Memory bound? Times with so many additions beside each access")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 256).description(""));
  add_transactions(*band, arguments);
  band->add_option("--grid", arguments.blocks, "Blocks of the grid")->type_name("NUMBER");
  band->add_option("--block", arguments.block_threads, "Threads of a block")->type_name("NUMBER");
  band->add_option("--warps", arguments.warps, "Active warps of a multiprocessor")->type_name("NUMBER");
  band->add_option("--most-warps", arguments.most_warps, "… that there can be (default: the device's)")
      ->type_name("NUMBER");
  band->add_option("--time", arguments.milliseconds, "Milliseconds that the launch took")
      ->type_name("MS")
      ->check(CLI::PositiveNumber.description(""));
  band->add_flag("--json", arguments.json, "One JSON object for each kernel, one a line");
  band->add_option("--svg", arguments.svg, "Draw the band of the one kernel into FILE")->type_name("FILE");
  band->add_option("--html", arguments.html, "Write a page with every band to FILE")->type_name("FILE");
  band->footer(
      "CampProf's band: the times of a kernel at every number of active warps, from no transaction camped\n"
      "to all; its degree of camping; its predicted times. PROGRAM runs twice, for counts and for times,\n"
      "and twice more with --arithmetic; without one, the numbers given are those of a kernel.\n"
      "`lynxpp calibrate` comes first.\n"
      "The exit code is 1 when there is no calibration or no kernel has a band, 3 when\n"
      "no kernel was launched.\n\n"
      "Example: lynxpp band --gld-64 65536 --gst-64 65536 --warps 16 --time 0.35\n"
      "         lynxpp band --html band.html -- ./app\n"
      "         lynxpp band --cache -- ./app");
  return band;
}

}  // namespace lynxpp::cli
