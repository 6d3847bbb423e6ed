#include "cli/band/arguments.h"

#include <CLI/App.hpp>
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
          std::string(is_load ? "Loads" : "Stores") + " of " + sizes[i] + " bytes: transactions per launch";
      band.add_option(name, is_load ? arguments.loads[i] : arguments.stores[i], what)
          ->type_name("NUMBER")
          ->check(CLI::NonNegativeNumber.description(""));
    }
  }
}

}  // namespace

CLI::App* add_calibrate(CLI::App& app, CalibrateArguments& arguments) {
  CLI::App* calibrate =
      app.add_subcommand("calibrate", "Measure the cost of memory transactions on this machine's GPU");
  calibrate
      ->add_option("-m,--machine", arguments.machine,
                   "Use a modelled machine, by name or .json file (see advise -m list)")
      ->type_name("MACHINE");
  calibrate
      ->add_option("-i,--iterations", arguments.iterations, "Accesses per thread in each run (default: 512)")
      ->type_name("NUMBER")
      ->check(CLI::Range(16, 1 << 20).description(""));
  CLI::Option* const printed =
      calibrate->add_flag("--printed", arguments.uses_printed_loops,
                          "Use the paper's loops, which compute an index for each access");
  calibrate
      ->add_flag("--scattered", arguments.scatters, "One transaction per lane; stored as DEVICE-scattered")
      ->excludes(printed);
  calibrate
      ->add_option("-o,--output", arguments.output,
                   "Where to store the result (default: the user's data folder)")
      ->type_name("FILE");
  calibrate->add_option("--benchmarks", arguments.benchmarks, "Benchmark program (default: lynxpp's own)")
      ->type_name("FILE");
  calibrate->footer(
      "Micro-benchmarks of reads and writes of 32, 64 and 128 bytes, spread over all partitions of memory\n"
      "or confined to one, give the equations that `lynxpp band` needs. Times of --machine are modelled.\n"
      "The exit code is 1 if the device does not exist or the benchmarks fail.\n\n"
      "Example: lynxpp band calibrate --machine compute_1_3");
  return calibrate;
}

CLI::App* add_band(CLI::App& app, BandArguments& arguments) {
  CLI::App* band =
      app.add_subcommand("band", "Show what kernels lose to partition camping; calibrate its costs");
  band->add_option("-c,--calibration", arguments.calibration,
                   "Device name or .json file (default: the only stored calibration)")
      ->type_name("DEVICE");
  band->add_option("-e,--equation", arguments.equation,
                   "both (default), samples (interpolation), sums (regression), products")
      ->type_name("FORM")
      ->check(one_of({"both", "samples", "sums", "products"}));
  band->add_flag("--cache", arguments.is_of_caches,
                 "Show the band from all hits to all misses of modelled caches (CacheProf)");
  band->add_option("-m,--machine", arguments.machine, "With --cache: the machine (default: compute_9_0)")
      ->type_name("MACHINE");
  band->add_flag("--cold", arguments.is_cold,
                 "With --cache: empty the L2 before each kernel, as profilers do");
  add_filters(*band, arguments.kernels, arguments.launches);
  band->add_option("--arithmetic", arguments.added_arithmetic,
                   "Test for memory bound: add NUMBER additions to each access")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 256).description(""));
  add_transactions(*band, arguments);
  band->add_option("--grid", arguments.blocks, "Blocks of the grid")->type_name("NUMBER");
  band->add_option("--block", arguments.block_threads, "Threads per block")->type_name("NUMBER");
  band->add_option("--warps", arguments.warps, "Active warps per multiprocessor")->type_name("NUMBER");
  band->add_option("--most-warps", arguments.most_warps,
                   "Most warps that fit on a multiprocessor (default: the device's)")
      ->type_name("NUMBER");
  band->add_option("--time", arguments.milliseconds, "Time of the launch in milliseconds")
      ->type_name("MS")
      ->check(CLI::PositiveNumber.description(""));
  band->add_flag("--json", arguments.json, "Print one JSON object per kernel");
  band->add_option("--csv", arguments.csv, "Write the lines of every band to FILE, for spreadsheets")
      ->type_name("FILE");
  band->add_option("--svg", arguments.svg, "Draw the kernel's band into FILE")->type_name("FILE");
  band->add_option("--html", arguments.html, "Write a page with every band to FILE")->type_name("FILE");
  band->footer(
      "Partition camping: concurrent accesses that fall on few partitions of the memory. The band, as\n"
      "defined by CampProf, holds a kernel's times at every number of active warps if no transaction\n"
      "camps (best) and if all do (worst). The kernel's own time gives its degree of camping, unless the\n"
      "device hashes addresses, as current GPUs do. PROGRAM runs twice, for counts and for times, and\n"
      "twice more with --arithmetic. Without PROGRAM, the options describe a kernel.\n"
      "Run `lynxpp band calibrate` first.\n"
      "The exit code is 1 if there is no calibration or no kernel has a band, 3 if no kernel was "
      "launched.\n\n"
      "Example: lynxpp band --gld-64 65536 --gst-64 65536 --warps 16 --time 0.35\n"
      "         lynxpp band --html band.html -- ./app\n"
      "         lynxpp band --cache -- ./app");
  return band;
}

}  // namespace lynxpp::cli
