#include "cli/advise/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace lynxpp::cli {

CLI::App* add_advise(CLI::App& app, AdviseArguments& arguments) {
  CLI::App* advise =
      app.add_subcommand("advise", "Estimate and rank the memory performance of described kernels");
  advise
      ->add_option("FILE.access", arguments.files,
                   "Descriptions; each choice in a description makes variants")
      ->type_name("");
  advise
      ->add_option("-m,--machine", arguments.machine,
                   "Name or .json file (default: compute_9_0; list: print the names)")
      ->type_name("MACHINE");
  advise->add_option("-D,--define", arguments.values, "Override a constant or a choice; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  advise->add_flag("--references", arguments.references, "Show each fetch, read and write of a variant");
  advise->add_flag("--explore", arguments.explore, "Explore alternatives: fetches, padding, layout, blocks");
  advise->add_option("--best", arguments.best, "With --explore: how many to print (default: 20)")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000).description(""));
  advise->add_flag("--by-estimate", arguments.by_estimate,
                   "Rank by CuMAPz's estimate even if the machine has a modelled time");
  advise->add_flag("--json", arguments.json, "Print one JSON object per variant or launch");
  advise->add_option("--html", arguments.html, "Write a page to FILE: terms and accesses to arrays")
      ->type_name("FILE");
  Observed& observed = arguments.observed;
  advise->add_option("-k,--kernels", observed.kernels, "Program: kernels whose name contains a match")
      ->type_name("REGEX");
  advise->add_option("-l,--launches", observed.launches, "Program: launches of each kernel (default: 0)")
      ->type_name("LIST");
  advise->add_option("-d,--device", observed.device, "Program: cuda or cpu")->type_name("DEVICE");
  advise->add_option("--blocks", observed.blocks, "Program: thread blocks to observe (default: 64)")
      ->type_name("N")
      ->check(CLI::Validator(CLI::PositiveNumber).description(""));
  advise->add_option("--seed", observed.seed, "Program: seed for the choice of thread blocks")
      ->type_name("N");
  advise->add_option("--registers", observed.registers, "Program: registers per thread")->type_name("N");
  advise->add_flag("--sharing", observed.sharing,
                   "Program: show how many warps and thread blocks access its arrays");
  advise->add_option("--keep", observed.keep, "Program: keep the observations in FOLDER")
      ->type_name("FOLDER");
  advise
      ->add_option("--from", observed.from,
                   "Read the observations of a run with --keep, instead of a program")
      ->type_name("FOLDER");
  advise->footer(
      "The estimate is CuMAPz's: modelled, without a unit, and meant for comparing variants of one kernel.\n"
      "With '-- PROGRAM' it is computed from the accesses of the program's kernels.\n"
      "The exit code is 1 if a description or a machine has errors, 3 if a program launches no kernel.\n\n"
      "Example: lynxpp advise examples/advise/product.access --machine compute_1_3\n"
      "Example: lynxpp advise -k matmul --sharing -- ./app");
  return advise;
}

}  // namespace lynxpp::cli
