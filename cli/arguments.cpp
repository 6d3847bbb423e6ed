#include "cli/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <deque>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/band/arguments.h"
#include "cli/characterize/arguments.h"
#include "cli/checked/arguments.h"
#include "cli/cluster/arguments.h"
#include "cli/common_options.h"
#include "cli/completion/complete.h"
#include "cli/control/arguments.h"
#include "cli/diagnostics.h"
#include "cli/lsp/arguments.h"
#include "cli/reports/arguments.h"
#include "cli/texts/help_formatter.h"
#include "cli/trace/arguments.h"

namespace lynxpp::cli {
namespace {

constexpr const char* words_help = "Counting scheme for memory words (default: exact), e.g. static,plain";

CLI::Validator compute_capability() { return CLI::Range(50, 200).description(""); }

CLI::App* add_run(CLI::App& app, RunArguments& arguments) {
  CLI::App* run = app.add_subcommand("run", "Run a program with its CUDA kernels instrumented");
  add_specifications(*run, arguments.specifications, false);
  add_one_liners(*run, arguments.one_liners);
  add_filters(*run, arguments.kernels, arguments.launches);
  run->add_option("-o,--output", arguments.output,
                  "Write records as JSON Lines to FILE, replacing its contents")
      ->type_name("FILE");
  add_device(*run, arguments.device);
  run->add_option("--dump", arguments.dump, "Write original and instrumented PTX of each kernel into FOLDER")
      ->type_name("FOLDER");
  run->add_option("--trace", arguments.trace, "Stream trace entries to files in FOLDER (see `lynxpp trace`)")
      ->type_name("FOLDER");
  run->add_option("--words", arguments.words, words_help)->type_name("SCHEME");
  run->add_option("--start", arguments.start,
                  "Measure only within EVENT: profiler (cuProfilerStart) or range=NAME")
      ->type_name("EVENT");
  run->add_flag("--timing", arguments.timing,
                "Report the time of each stage: parse, instrument, emit, load, execute");
  run->footer(
      "The results are printed as a table on standard error when the program ends.\n"
      "The exit code is the program's, or 2: wrong usage, or a specification is missing or has errors;\n"
      "3: the program succeeded but nothing was measured; 126: PROGRAM cannot be executed;\n"
      "127: PROGRAM does not exist.\n\n"
      "Example: lynxpp run -s instruction_count -k 'matmul.*' -o out.jsonl -- ./app 1024\n"
      "         lynxpp run -e 'ON_INSTRUCTION: MEM_READ: SHARED: count[sourceLine()]++;' -- ./app");
  return run;
}

CLI::App* add_bench(CLI::App& app, BenchArguments& arguments) {
  CLI::App* bench = app.add_subcommand("bench", "Measure the overhead of instrumentation on a program");
  add_specifications(*bench, arguments.settings, true,
                     "Name or .cod file; comma-separated: together; repeated: separately");
  bench->add_option("-r,--rounds", arguments.rounds, "Number of runs per setting (default: 5)")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1000).description(""));
  add_filters(*bench, arguments.kernels, arguments.launches);
  bench->add_option("-o,--output", arguments.output, "Write the results as JSON to FILE")->type_name("FILE");
  bench->add_option("-c,--compare", arguments.compare, "Show changes relative to the results in FILE")
      ->type_name("FILE");
  bench->add_flag("--elapsed", arguments.elapsed,
                  "Measure the whole program instead: wall and processor time");
  add_device(*bench, arguments.device);
  bench->footer(
      "In each round the program runs once natively and once with each SPEC. The table shows every\n"
      "kernel's native and instrumented time, its registers and the warps that fit on an SM. With --elapsed\n"
      "no kernel is timed: in turn, the program runs natively and as under `lynxpp run`. The program's\n"
      "output is discarded, but compared between the runs. The exit code is 1 if the program fails, 3 if\n"
      "nothing was measured.\n\n"
      "Example: lynxpp bench -s instruction_count -s memory_efficiency,kernel_runtime -- ./app 1024");
  return bench;
}

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
  check->add_option("--sm", arguments.sm, "Compute capability of the PTX, times ten (default: 90)")
      ->type_name("NUMBER")
      ->check(compute_capability());
  check->footer(
      "The exit code is 1 if a specification or the PTX has errors.\n\n"
      "Examples: lynxpp check my.cod --emit-ptx --sm 80\n"
      "          lynxpp check my.cod --explain kernels.ptx");
  return check;
}

/// Adds an option that takes names of passes. Their output goes to standard error, apart from the result.
void add_passes(CLI::App& command, const char* option, const char* description,
                std::vector<std::string>& passes) {
  command.add_option(option, passes, description)
      ->type_name("PASS")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

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
  instrument
      ->add_option("--sm", arguments.sm, "Compute capability of the GPU, times ten (default: the module's)")
      ->type_name("NUMBER")
      ->check(compute_capability());
  instrument->add_flag("--full-warps", arguments.launch.has_full_warps,
                       "Only for launches whose thread blocks have a multiple of 32 threads");
  instrument->add_flag("--whole-rows", arguments.launch.has_whole_rows,
                       "Only for launches whose blockDim.x is a multiple of 32");
  instrument->add_flag("--one-dimension", arguments.launch.is_linear,
                       "Only for launches whose grid and blocks have one dimension");
  instrument->add_flag("--few-threads", arguments.launch.has_few_threads,
                       "Only for launches of at most 2^20 threads");
  instrument->add_option("--words", arguments.words, words_help)->type_name("SCHEME");
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

CLI::App* add_ptx_command(CLI::App& ptx, const char* name, const char* description, PtxArguments& arguments,
                          PtxArguments::Command command) {
  CLI::App* const added = ptx.add_subcommand(name, description);
  added->add_option("FILE.ptx", arguments.input, "The PTX module")->required()->type_name("");
  const std::string which =
      command == PtxArguments::Command::annotate ? "kernel" : "kernel or device function";
  added
      ->add_option("-k,--kernel", arguments.kernel,
                   "Only this " + which + ", by its mangled or demangled name")
      ->type_name("NAME");
  added->callback([&arguments, command] { arguments.command = command; });
  return added;
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
  ptx->footer(
      "The exit code is 1 if the PTX or a specification has errors.\n\n"
      "Example: lynxpp ptx cfg app.ptx -k matmul --dot | dot -Tsvg -o matmul.svg");
  return ptx;
}

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

CLI::App* add_quality(CLI::App& app, QualityArguments& arguments) {
  CLI::App* quality =
      app.add_subcommand("quality", "Rate how well a program's kernels and ranges use the device (Pro++)");
  add_filters(*quality, arguments.kernels, arguments.launches);
  add_device(*quality, arguments.device);
  quality
      ->add_option("-w,--weights", arguments.weights,
                   "Weights as JSON, or paper (default: the device's, else the paper's)")
      ->type_name("FILE");
  CLI::Option* const fit = quality->add_flag("--fit", arguments.fit,
                                             "Fit weights to the device, by ranges PRIMITIVE/IMPLEMENTATION");
  quality
      ->add_option("-o,--output", arguments.output, "Where to store them (default: the user's data folder)")
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
                   "Functions, comma-separated, whose launches are also a range")
      ->type_name("NAMES");
  quality
      ->add_option("--problem-bytes", arguments.problem_bytes,
                   "Bytes that the computation needs (default: the launches' arrays)")
      ->type_name("NUMBER");
  quality->add_flag("--inputs", arguments.inputs, "Show every raw input with its source");
  quality->add_flag("--json", arguments.json, "Print one JSON object");
  quality->footer(
      "The criteria range from 0 to 1: occupancy (OC), load balancing (LB), warp efficiency (WE),\n"
      "synchronization (SO), instructions (IO), memory hierarchy (MH), memory coalescing (MC), data\n"
      "transfer (DT); QM is their weighted mean. Ranges are those of NVTX, LYNXPP_RANGE and --function.\n"
      "The program runs twice; its output is discarded. The exit code is 1 if it fails; 2: wrong usage, or\n"
      "errors in the file of weights; 3: it launches no kernel or does not enter a range.\n\n"
      "Example: lynxpp quality --range reduction -- ./primitives reduction\n"
      "Example: lynxpp quality --fit -- ./primitives 100000");
  return quality;
}

CLI::App* add_list(CLI::App& app, ListArguments& arguments) {
  CLI::App* list = app.add_subcommand("list", "List the ready-made specifications, or print one");
  list->add_option("NAME", arguments.name, "Print the text of this specification")->type_name("");
  list->footer("Example: lynxpp list branch_divergence > my.cod");
  return list;
}

/// True if `word` is an option of `command` whose value is the next word.
bool takes_next_word(const CLI::App& command, const std::string& word) {
  const bool is_long = word.starts_with("--");
  if (is_long ? word.find('=') != std::string::npos : word.size() > 2) return false;
  for (const CLI::Option* option : command.get_options()) {
    if (option->check_name(word)) return option->get_items_expected_min() > 0;
  }
  return false;
}

/// Removes the program's command line from the end of `words` ("run", options, [--], program, arguments) and
/// returns it. The parser must not see it.
std::vector<std::string> take_command(const CLI::App& run, std::vector<std::string>& words) {
  std::size_t begin = 1;
  while (begin < words.size() && words[begin] != "--" && words[begin].size() > 1 &&
         words[begin].front() == '-') {
    begin += takes_next_word(run, words[begin]) ? 2 : 1;
  }
  if (begin >= words.size()) return {};
  const std::size_t first = words[begin] == "--" ? begin + 1 : begin;
  std::vector<std::string> command(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
  words.resize(begin);
  return command;
}

Finished usage_error(const std::string& message, const std::string& command = {}) {
  print_error(message,
              "`lynxpp " + (command.empty() ? "" : command + " ") + "--help` lists commands and options");
  return {exit_usage_error};
}

/// Returns a message if the first word is not a subcommand; it is more specific than the parser's own.
std::string unknown_subcommand(const CLI::App& app, const std::vector<std::string>& words,
                               const std::string& prefix = {}) {
  if (words.empty() || words[0].starts_with('-')) return {};
  std::vector<std::string> names;
  for (const CLI::App* subcommand : app.get_subcommands({})) names.push_back(subcommand->get_name());
  for (const std::string& name : names) {
    if (name == words[0]) return {};
  }
  const std::string close = closest_match(words[0], names);
  return "no command '" + prefix + words[0] + "'" + (close.empty() ? "" : "; did you mean '" + close + "'?");
}

void set_up(CLI::App& app) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "lynxpp " LYNXPP_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(1);
  app.footer("`lynxpp help COMMAND` and `man lynxpp` describe each command.");
}

/// A subcommand and its parsed arguments.
struct Subcommand {
  Arguments arguments;
  const CLI::App* app = nullptr;
};
using Subcommands = std::deque<Subcommand>;  // a deque: the parser keeps pointers to elements

template <typename Each>
void add(CLI::App& app, Subcommands& subcommands, CLI::App* (*add_one)(CLI::App&, Each&)) {
  Subcommand& added = subcommands.emplace_back(Subcommand{Each{}});
  added.app = add_one(app, std::get<Each>(added.arguments));
}

/// Adds the subcommands in the order in which help lists them.
Subcommands add_subcommands(CLI::App& app) {
  Subcommands subcommands;
  add(app, subcommands, add_run);
  add(app, subcommands, add_record);
  add(app, subcommands, add_bench);
  add(app, subcommands, add_characterize);
  add(app, subcommands, add_report);
  add(app, subcommands, add_merge);
  add(app, subcommands, add_trace);
  add(app, subcommands, add_diff);
  add(app, subcommands, add_check);
  add(app, subcommands, add_check_run);
  add(app, subcommands, add_instrument);
  add(app, subcommands, add_ptx);
  add(app, subcommands, add_advise);
  add(app, subcommands, add_quality);
  add(app, subcommands, add_calibrate);
  add(app, subcommands, add_band);
  add(app, subcommands, add_list);
  add(app, subcommands, add_lsp);
  return subcommands;
}

/// Returns where to store the program's command line; nullptr if the subcommand takes none.
struct ProgramOf {
  std::vector<std::string>* operator()(RunArguments& run) const { return &run.command; }
  std::vector<std::string>* operator()(RecordArguments& record) const { return &record.run.command; }
  std::vector<std::string>* operator()(CheckRunArguments& check_run) const { return &check_run.command; }
  std::vector<std::string>* operator()(BenchArguments& bench) const { return &bench.command; }
  std::vector<std::string>* operator()(QualityArguments& quality) const { return &quality.command; }
  std::vector<std::string>* operator()(BandArguments& band) const { return &band.command; }
  template <typename Other>
  std::vector<std::string>* operator()(Other&) const {
    return nullptr;
  }
};

/// Same, for subcommands that take a program only after "--": earlier words are files or programs.
struct DividedProgramOf {
  std::vector<std::string>* operator()(AdviseArguments& advise) const { return &advise.command; }
  std::vector<std::string>* operator()(CharacterizeArguments& each) const { return &each.command; }
  template <typename Other>
  std::vector<std::string>* operator()(Other&) const {
    return nullptr;
  }
};

/// Moves a program's command line from the end of `words` to the arguments of the subcommand.
void take_program(Subcommands& subcommands, std::vector<std::string>& words) {
  for (Subcommand& each : subcommands) {
    if (words.empty() || words[0] != each.app->get_name()) continue;
    if (auto* const program = std::visit(ProgramOf{}, each.arguments))
      *program = take_command(*each.app, words);
    if (auto* const program = std::visit(DividedProgramOf{}, each.arguments)) {
      const auto divider = std::ranges::find(words, "--");
      if (divider != words.end()) program->assign(divider + 1, words.end());
      words.erase(divider, words.end());
    }
  }
}

/// If the words name no subcommand, prints an error and returns its exit code.
std::optional<Finished> refuse_unknown(const CLI::App& app, const std::vector<std::string>& words) {
  if (const std::string complaint = unknown_subcommand(app, words); !complaint.empty())
    return usage_error(complaint);
  if (words.size() > 1 && words[0] == "ptx") {
    const CLI::App& ptx = *app.get_subcommand(words[0]);
    const std::string complaint = unknown_subcommand(ptx, {words.begin() + 1, words.end()}, "ptx ");
    if (!complaint.empty()) return usage_error(complaint, words[0]);
  }
  return std::nullopt;
}

/// Returns an error about missing or conflicting arguments that the parser does not detect; empty: no error.
struct MistakeIn {
  std::string operator()(const RunArguments& run) const {
    return run.command.empty() ? "no program to run" : "";
  }
  std::string operator()(const RecordArguments& record) const { return (*this)(record.run); }
  std::string operator()(const BenchArguments& bench) const {
    if (bench.elapsed && !bench.compare.empty()) return "--compare compares kernels: leave out --elapsed";
    return bench.command.empty() ? "no program to run" : "";
  }
  std::string operator()(const CheckRunArguments& check_run) const {
    return check_run.command.empty() ? "no program to run" : "";
  }
  std::string operator()(const QualityArguments& quality) const {
    return quality.command.empty() ? "no program to measure" : "";
  }
  std::string operator()(const CheckArguments& check) const {
    return check.files.empty() && check.one_liners.empty() ? "no specification to check" : "";
  }
  std::string operator()(const AdviseArguments& advise) const {
    const bool lists = advise.machine == "list";
    const bool is_run = !advise.command.empty(), is_kept = !advise.observed.from.empty();
    if (advise.files.empty() && !is_run && !is_kept && !lists) return "no description or program given";
    if (!advise.files.empty() && (is_run || is_kept)) return "give descriptions or a program, not both";
    return is_kept && is_run ? "--from replaces the program; give one of them" : "";
  }
  std::string operator()(const ControlArguments& control) const {
    const bool has_texts = !control.specifications.empty() || !control.one_liners.empty();
    const bool attaches = control.command == ControlArguments::Command::attach;
    return attaches && !has_texts ? "no specification to attach" : "";
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

/// Returns the arguments of the parsed subcommand.
Arguments& parsed_arguments(const CLI::App& app, Subcommands& subcommands, Arguments& control) {
  for (Subcommand& each : subcommands) {
    if (app.got_subcommand(each.app)) return each.arguments;
  }
  return control;
}

}  // namespace

Arguments parse_arguments(int count, char** values) {
  CLI::App app{"Instruments the CUDA kernels of unmodified programs while they run.", "lynxpp"};
  set_up(app);
  Subcommands subcommands = add_subcommands(app);
  Arguments control = ControlArguments{};
  add_control(app, std::get<ControlArguments>(control));

  std::vector<std::string> words(values + 1, values + count);
  if (words.size() > 1 && words[0] == "complete" && words[1] == "--") {  // shell completion
    std::cout << complete(app, {words.begin() + 2, words.end()});
    return Finished{};
  }
  // `help` and `help COMMAND` are `--help` and `COMMAND --help`.
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (const std::optional<Finished> refused = refuse_unknown(app, words)) return *refused;
  take_program(subcommands, words);
  const std::string command = words.empty() || words[0].starts_with('-') ? "" : words[0];
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // the parser reads words from the end
  } catch (const CLI::Success& request) {                               // help or version was requested
    return Finished{app.exit(request, std::cout, std::cerr)};
  } catch (const CLI::ParseError& error) {
    if (!words.empty() && command.empty()) return usage_error("no option '" + words[0] + "'", command);
    return usage_error(error.what(), command);
  }
  Arguments& parsed = parsed_arguments(app, subcommands, control);
  const std::string mistake = std::visit(MistakeIn{}, parsed);
  if (!mistake.empty()) return usage_error(mistake, command);
  return std::move(parsed);
}

}  // namespace lynxpp::cli
