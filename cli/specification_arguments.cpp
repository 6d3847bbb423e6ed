#include "cli/specification_arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/common_options.h"

namespace lynxpp::cli {

CLI::App* add_check(CLI::App& app, CheckArguments& arguments) {
  CLI::App* check = app.add_subcommand("check", "Compile specifications and show their errors");
  check
      ->add_option("FILE", arguments.files,
                   "Specifications: .cod files, ready-made names, - (standard input)")
      ->type_name("");
  add_one_liners(*check, arguments.one_liners);
  check->add_flag("--emit-ptx", arguments.emit_ptx, "Print the PTX of every handler");
  check
      ->add_option("--explain", arguments.explain,
                   "Show the sites of the handlers in the kernels of FILE.ptx")
      ->type_name("FILE.ptx");
  check->add_option("-k,--kernel", arguments.kernel, "With --explain: only this kernel")->type_name("KERNEL");
  check->add_flag("--json", arguments.json, "With --explain: print one JSON object per line");
  add_compute_capability(*check, arguments.sm, "Compute capability of the PTX, times ten (default: 90)");
  check->footer(
      "The exit code is 1 if a specification or the PTX has errors.\n\n"
      "Examples: lynxpp check my.cod --emit-ptx --sm 80\n"
      "          lynxpp check my.cod --explain kernels.ptx");
  return check;
}

CLI::App* add_list(CLI::App& app, ListArguments& arguments) {
  CLI::App* list = app.add_subcommand("list", "List the ready-made specifications, or print one");
  list->add_option("NAME", arguments.name, "Print the text of this specification")->type_name("");
  list->footer("Example: lynxpp list branch_divergence > my.cod");
  return list;
}

}  // namespace lynxpp::cli
