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
  const bool is_of_kernels = command != Command::stat && command != Command::cfg;
  const std::string which = is_of_kernels ? "kernel" : "kernel or device function";
  added
      ->add_option("-k,--kernel", arguments.kernel,
                   "Only this " + which + ", by its mangled or demangled name")
      ->type_name("NAME");
  added->callback([&arguments, command] { arguments.command = command; });
  return added;
}

void add_repeated(CLI::App& command, const char* option, const char* type, const char* description,
                  std::vector<std::string>& values) {
  command.add_option(option, values, description)
      ->type_name(type)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void add_launch(CLI::App& run, PtxLaunch& launch) {
  run.add_option("--grid", launch.grid, "Blocks of the grid")->required()->type_name("X[,Y[,Z]]");
  run.add_option("--block", launch.block, "Threads of a block (default: what the kernel requires)")
      ->type_name("X[,Y[,Z]]");
  run.add_option("--cluster", launch.cluster, "Blocks of a cluster")->type_name("X[,Y[,Z]]");
  run.add_option("--shared", launch.shared_bytes, "Dynamic shared memory of a block")->type_name("BYTES");
  run.add_option("-d,--device", launch.device, "Where the kernel runs: cpu (built in) or cuda (default: cpu)")
      ->type_name("DEVICE")
      ->check(CLI::IsMember({"cpu", "cuda"}).description(""));
  add_repeated(run, "-a,--arg", "ARG", "The next argument of the kernel, as described below", launch.values);
  run.add_option("--seed", launch.seed, "Seed of the random numbers (default: 0)")->type_name("NUMBER");
  add_repeated(run, "--expect", "N=FILE", "Compare argument N with FILE after the launch", launch.expected);
  run.add_option("--tolerance", launch.tolerance,
                 "Largest difference, relative to expected values above 1 (default: 0)")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber.description(""));
  add_repeated(run, "--print", "N[:COUNT]", "Print the first elements of argument N (default: 10)",
               launch.printed);
  add_repeated(run, "--output", "N=FILE", "Write argument N to FILE", launch.outputs);
  run.add_flag("--check", launch.check, "Report what `lynxpp check-run` finds in the launch");
  run.add_option("--records", launch.records, "Write records as JSON Lines to FILE, replacing its contents")
      ->type_name("FILE");
  run.add_option("--timeout", launch.timeout, "Stop the kernel after this time")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber.description(""));
  run.add_option("--python", launch.python, "The Python interpreter to use (default: python3)")
      ->type_name("PROGRAM");
  run.footer(
      "ARG is null, TYPE=NUMBER, or TYPE[COUNT]=FILL for an array. TYPE: u8 to u64, s8 to s64, f16, bf16,\n"
      "f32, f64. COUNT: a number, or a shape such as 64,32. FILL: zero, iota, const:NUMBER,\n"
      "NUMBER,NUMBER..., random[:LOW:HIGH[:STEP]] or @FILE; without =FILL, the array is uninitialized.\n"
      "A FILE is NumPy's (.npy) or holds raw bytes. TYPE[COUNT]:box[COUNT]:swizzle128=FILL passes a tensor\n"
      "map of the array.\n"
      "Checks run on the cpu device. The exit code is 1 if results differ or a check finds something, 2 if\n"
      "the kernel cannot run or fails.\n\n"
      "Example: lynxpp ptx run scale.ptx --grid 4 --block 256 -a f32[1000]=iota -a f32=0.5 -a u32=1000\n"
      "                        --expect 1=expected.npy --check");
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
      "Example: lynxpp ptx instrument app.ptx -s instruction_count -o out.ptx");
  return instrument;
}

CLI::App* add_ptx(CLI::App& app, PtxArguments& arguments) {
  using Command = PtxArguments::Command;
  CLI::App* ptx = app.add_subcommand("ptx", "Inspect a PTX file, instrument it, or run one of its kernels");
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
                   "OPERATION:again or OPERATION:harmless; only some PTX lines: @LINE+LINE")
      ->required()
      ->type_name("TEXT");
  perturb->footer("The operations are " + operation_names() +
                  ".\n\nExample: lynxpp ptx perturb app.ptx -k matmul -p shared-access:again");
  CLI::App* const run =
      add_ptx_command(*ptx, "run", "Run a kernel of the file, with given arguments", arguments, Command::run);
  add_launch(*run, arguments.launch);
  add_specifications(*run, arguments.specifications, false);
  ptx->footer(
      "The exit code is 1 if the PTX or a specification has errors.\n\n"
      "Example: lynxpp ptx cfg app.ptx -k matmul --dot | dot -Tsvg -o matmul.svg");
  return ptx;
}

}  // namespace lynxpp::cli
