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
                   "Descriptions of kernels; each choice in one multiplies its variants")
      ->type_name("");
  advise
      ->add_option("-m,--machine", arguments.machine,
                   "Name or .json file (default: compute_9_0); list prints the names")
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
  advise
      ->add_option("--html", arguments.html,
                   "Write a page with the estimate's terms and the arrays' accesses to FILE")
      ->type_name("FILE");
  Observed& observed = arguments.observed;
  advise
      ->add_option("-k,--kernels", observed.kernels, "With PROGRAM: only kernels whose name contains a match")
      ->type_name("REGEX");
  advise
      ->add_option("-l,--launches", observed.launches,
                   "With PROGRAM: launches of each kernel (default: 0, the first)")
      ->type_name("LIST");
  advise->add_option("-d,--device", observed.device, "With PROGRAM: cuda or cpu")->type_name("DEVICE");
  advise
      ->add_option("--blocks", observed.blocks,
                   "With PROGRAM: number of thread blocks to observe (default: 64)")
      ->type_name("N")
      ->check(CLI::Validator(CLI::PositiveNumber).description(""));
  advise->add_option("--seed", observed.seed, "With PROGRAM: seed for the choice of thread blocks")
      ->type_name("N");
  advise->add_option("--registers", observed.registers, "With PROGRAM: registers per thread")->type_name("N");
  advise->add_flag("--sharing", observed.sharing,
                   "With PROGRAM: show how many warps and thread blocks access its arrays");
  advise->add_option("--keep", observed.keep, "With PROGRAM: keep the observations in FOLDER")
      ->type_name("FOLDER");
  advise
      ->add_option("--from", observed.from,
                   "Read the observations that --keep stored instead of running PROGRAM")
      ->type_name("FOLDER");
  advise->footer(
      "The estimate is that of CuMAPz: a model without a unit, for comparing variants of one kernel.\n"
      "With '-- PROGRAM', the program runs, and the estimate is computed from its kernels' accesses.\n"
      "The exit code is 1 if a description or a machine has errors, 3 if the program launches no kernel.\n\n"
      "Example: lynxpp advise examples/advise/product.access --machine compute_1_3\n"
      "Example: lynxpp advise -k matmul --sharing -- ./app");
  return advise;
}

}  // namespace lynxpp::cli
