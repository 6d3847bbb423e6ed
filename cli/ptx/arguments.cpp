#include "cli/ptx/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>
#include <vector>

#include "cli/common_options.h"
#include "ptx/perturb/perturbation.h"

namespace lynxpp::cli {
namespace {

/// Adds an option that takes names of passes. Their output goes to standard error, apart from the result.
void add_passes(CLI::App& command, const char* option, const char* description,
                std::vector<std::string>& passes) {
  command.add_option(option, passes, description)
      ->type_name("PASS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

/// Returns the operations that code can perturb, separated by commas.
std::string operation_names() {
  std::string names;
  for (const ptx::OperationDescription& each : ptx::operation_table()) {
    if (ptx::adds_code(each.operation)) names += (names.empty() ? "" : ", ") + std::string(each.name);
  }
  return names;
}

CLI::App* add_ptx_command(CLI::App& ptx, const char* name, const char* description, PtxArguments& arguments,
                          PtxArguments::Command command) {
  CLI::App* const added = ptx.add_subcommand(name, description);
  added->add_option("FILE.ptx", arguments.input, "The PTX module")->required()->type_name("");
  using Command = PtxArguments::Command;
  const bool is_of_kernels = command == Command::annotate || command == Command::perturb;
  const std::string which = is_of_kernels ? "kernel" : "kernel or device function";
  added
      ->add_option("-k,--kernel", arguments.kernel,
                   "Only this " + which + ", by its mangled or demangled name")
      ->type_name("NAME");
  added->callback([&arguments, command] { arguments.command = command; });
  return added;
}

}  // namespace

CLI::App* add_instrument(CLI::App& app, InstrumentArguments& arguments) {
  CLI::App* instrument = app.add_subcommand("instrument", "Instrument a PTX file without running it");
  instrument->add_option("IN.ptx", arguments.input, "The PTX module")->required()->type_name("");
  add_specifications(*instrument, arguments.specifications, true);
  instrument
      ->add_option("-k,--kernel", arguments.kernel, "Only this kernel, by its mangled or demangled name")
      ->type_name("NAME");
  instrument
      ->add_option("-o,--output", arguments.output,
                   "Output file; several kernels: FILE-KERNEL.ptx (default: stdout)")
      ->type_name("FILE");
  add_compute_capability(*instrument, arguments.sm,
                         "Compute capability of the GPU, times ten (default: the module's)");
  instrument->add_flag("--full-warps", arguments.launch.has_full_warps,
                       "Only for launches whose thread blocks have a multiple of 32 threads");
  instrument->add_flag("--whole-rows", arguments.launch.has_whole_rows,
                       "Only for launches whose blockDim.x is a multiple of 32");
  add_word_scheme(*instrument, arguments.words);
  instrument
      ->add_option("--without", arguments.without,
                   "Disable refinements of counting (list: print their names)")
      ->type_name("NAME,NAME");
  add_passes(*instrument, "--print-before", "Print the kernel's PTX before this pass, or before all",
             arguments.print_before);
  add_passes(*instrument, "--print-after", "Print the kernel's PTX after this pass, or after all",
             arguments.print_after);
  instrument->add_flag("--time-passes", arguments.time_passes, "Print the time and the edits of every pass");
  instrument->footer(
      "Each kernel becomes a module with the functions that it can reach. A summary goes to standard error.\n"
      "The exit code is 1 if the PTX or a specification has errors.\n\n"
      "Example: lynxpp instrument app.ptx -s instruction_count -o out.ptx");
  return instrument;
}

CLI::App* add_ptx(CLI::App& app, PtxArguments& arguments) {
  using Command = PtxArguments::Command;
  CLI::App* ptx = app.add_subcommand("ptx", "Inspect a PTX file: statistics, control flow, probes");
  ptx->require_subcommand(1);
  add_ptx_command(*ptx, "stat", "Print blocks, instructions, registers, loops, accesses of each kernel",
                  arguments, Command::stat);
  CLI::App* const cfg =
      add_ptx_command(*ptx, "cfg", "Print the control flow of each kernel", arguments, Command::cfg);
  cfg->add_flag("--dot", arguments.dot, "Print a graph for Graphviz");
  CLI::App* const annotate =
      add_ptx_command(*ptx, "annotate", "Print the original with the code that a specification adds",
                      arguments, Command::annotate);
  add_specifications(*annotate, arguments.specifications, true);
  annotate->add_flag("-y,--side-by-side", arguments.side_by_side,
                     "Print original and instrumented code side by side");
  CLI::App* const perturb = add_ptx_command(
      *ptx, "perturb", "Print each kernel with a class of operations repeated", arguments, Command::perturb);
  perturb
      ->add_option("-p,--perturbation", arguments.perturbation,
                   "OPERATION:again or OPERATION:harmless, for some lines of the PTX with @LINE+LINE")
      ->required()
      ->type_name("TEXT");
  perturb->footer("The operations are " + operation_names() +
                  ".\n\nExample: lynxpp ptx perturb app.ptx -k matmul -p shared-access:again");
  ptx->footer(
      "The exit code is 1 if the PTX or a specification has errors.\n\n"
      "Example: lynxpp ptx cfg app.ptx -k matmul --dot | dot -Tsvg -o matmul.svg");
  return ptx;
}

}  // namespace lynxpp::cli
