// `lynxpp band calibrate`: runs the micro-benchmarks and stores their results for a device.
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <sstream>
#include <string>

#include "cli/band/arguments.h"
#include "cli/band/calibrations.h"
#include "cli/child.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "models/campprof/calibration.h"
#include "models/machine.h"
#include "report/tables/text_table.h"
#include "support/text.h"
#include "support/trust.h"

namespace lynxpp::cli {
namespace {

using namespace models::campprof;
using models::statistics::Coefficient;
using models::statistics::Regression;

std::string formatted(double value, const char* format = "%.4g") {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
  return text;
}

/// Reads direction, placement and bytes from a line. Returns false if it has none.
template <typename Benchmark>
bool read_benchmark(std::istream& line, Benchmark& benchmark) {
  std::string direction, placement;
  std::uint32_t bytes = 0;
  if (!(line >> direction >> placement >> bytes)) return false;
  benchmark.direction = direction == "write" ? Direction::write : Direction::read;
  benchmark.placement = placement == "camped" ? Placement::camped : Placement::spread;
  for (std::uint32_t type = 0; type < transaction_bytes.size(); ++type) {
    if (transaction_bytes[type] == bytes) return benchmark.type = type, true;
  }
  return false;
}

/// Parses the benchmarks' output, which has one fact per line.
Result<Calibration> read_output(const std::string& output) {
  Calibration calibration;
  for (const std::string& text : split(output, '\n')) {
    std::istringstream line(text);
    std::string word;
    if (!(line >> word)) continue;
    Sample sample;
    Validity validity;
    if (word == "device") {
      std::getline(line >> std::ws, calibration.device);
    } else if (word == "multiprocessors") {
      line >> calibration.multiprocessors;
    } else if (word == "warps") {
      line >> calibration.most_warps;
    } else if (word == "transactions") {
      line >> calibration.transactions_per_warp;
    } else if (word == "sample" && read_benchmark(line, sample) &&
               (line >> sample.warps >> sample.milliseconds)) {
      calibration.samples.push_back(sample);
    } else if (word == "validity" && read_benchmark(line, validity) && (line >> validity.ratio)) {
      calibration.validity.push_back(validity);
    } else {
      return failure("the benchmarks printed '" + text + "', which is invalid");
    }
    if (!line) return failure("the benchmarks printed '" + text + "', which is invalid");
  }
  if (calibration.device.empty() || calibration.samples.empty())
    return failure("the benchmarks printed no times");
  return calibration;
}

std::string benchmarks_program(const CalibrateArguments& arguments, bool is_modelled) {
  if (!arguments.benchmarks.empty()) return absolute_path(arguments.benchmarks);
  const std::string folder = executable_folder() + "/../libexec/lynxpp/";
  return absolute_path(folder + (is_modelled ? "camping-shared" : "camping"));
}

/// Sets the partitions over which the spread benchmarks distribute their accesses.
void set_partitions(Calibration& calibration, const models::Machine* machine) {
  const bool has_partitions = machine != nullptr && machine->global.channel_width != 0;
  calibration.partitions = has_partitions ? machine->global.channels : hashed_regions;
  calibration.partition_bytes = has_partitions ? machine->global.channel_width : 256;
}

Result<Calibration> measure(const CalibrateArguments& arguments, const models::Machine* machine) {
  const std::string program = benchmarks_program(arguments, machine != nullptr);
  if (::access(program.c_str(), X_OK) != 0)
    return failure("cannot find the benchmarks, " + program, "building them requires nvcc");
  Calibration partitions;
  set_partitions(partitions, machine);
  std::vector<std::string> command{program, "iterations=" + std::to_string(arguments.iterations),
                                   "partitions=" + std::to_string(partitions.partitions),
                                   "width=" + std::to_string(partitions.partition_bytes)};
  if (arguments.uses_printed_loops) command.emplace_back("printed=1");
  if (arguments.scatters) command.emplace_back("scattered=1");
  std::map<std::string, std::string> variables;
  if (machine != nullptr) {
    const Result<std::string> library = preload_library();
    if (!library) return library.error();
    variables = {{"LD_PRELOAD", with_other_preloads(*library)},
                 {"LYNXPP_DEVICE", "cpu"},
                 {"LYNXPP_CPU_CLOCK", arguments.machine}};
    command.push_back("repeats=1");  // the runs would not differ
    command.push_back("warps=" + std::to_string(machine->residency.warps));
    command.push_back("block_warps=" + std::to_string(machine->residency.block_threads / machine->warp_size));
  }
  const WorkFolder folder;
  if (!folder.exists()) return failure("cannot create a temporary folder");
  const Result<ChildRun> run = run_child(program, command, variables, folder, "measuring");
  if (!run) return run.error();
  Result<Calibration> calibration = read_output(run->output);
  if (!calibration) return calibration;
  set_partitions(*calibration, machine);
  calibration->is_modelled = machine != nullptr;
  calibration->loop = arguments.scatters             ? Calibration::Loop::scattered
                      : arguments.uses_printed_loops ? Calibration::Loop::printed
                                                     : Calibration::Loop::bare;
  calibration->date = today();
  if (machine != nullptr) calibration->device = arguments.machine;
  return calibration;
}

void print_equations(const Equations& equations) {
  report::TextColumn name{{"ms ="}, {}, false}, dropped{{"not significant"}, {}, false};
  std::vector<report::TextColumn> numbers{{{"variable"}, {}}, {{"value"}, {}}, {{"std error"}, {}},
                                          {{"t"}, {}},        {{"p"}, {}},     {{"R2"}, {}},
                                          {{"RMSE"}, {}}};
  const auto row = [&](std::string what, const Coefficient& each, const Regression* fit) {
    name.cells.push_back(std::move(what));
    const std::string cells[] = {each.name,
                                 formatted(each.value),
                                 formatted(each.standard_error),
                                 formatted(each.t),
                                 formatted(each.p),
                                 fit != nullptr ? formatted(fit->r_squared) : "",
                                 fit != nullptr ? formatted(fit->rmse) : ""};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i].cells.push_back(cells[i]);
    std::string left_out;
    for (std::size_t i = 0; fit != nullptr && i < fit->dropped.size(); ++i)
      left_out += (i == 0 ? "" : ", ") + fit->dropped[i].name + " (p " + formatted(fit->dropped[i].p) + ")";
    dropped.cells.push_back(left_out);
  };
  for (const Direction direction : {Direction::read, Direction::write}) {
    for (const Placement placement : {Placement::spread, Placement::camped}) {
      const Regression& fit = equations.of(direction, placement);
      row(std::string(name_of(direction)) + ", " + std::string(name_of(placement)), fit.intercept, &fit);
      for (const Coefficient& each : fit.coefficients) row("", each, nullptr);
    }
  }
  std::vector<report::TextColumn> columns{std::move(name)};
  columns.insert(columns.end(), numbers.begin(), numbers.end());
  columns.push_back(std::move(dropped));
  std::fputs(report::render_columns(columns).c_str(), stdout);
}

/// Prints the ratio of camped to spread time at the most warps, as in the paper's Figure 3.
void print_ratios(const Calibration& calibration) {
  std::puts("");
  for (const Direction direction : {Direction::read, Direction::write}) {
    for (std::uint32_t type = 0; type < transaction_bytes.size(); ++type) {
      const Longest longest = longest_of(calibration, direction, type);
      const double ratio = longest.camped / longest.spread;
      std::printf("%ss of %u bytes, %u warps: %.4g ms spread, %.4g ms camped, %.2f times as long%s\n",
                  std::string(name_of(direction)).c_str(), transaction_bytes[type], longest.warps,
                  longest.spread, longest.camped, ratio,
                  ratio < least_camping_ratio ? ": no partition camping here" : "");
    }
  }
}

/// Prints where the equations cannot be used, and what can be used there.
void print_gaps(const Calibration& calibration, const Equations& equations) {
  const std::vector<Gap> gaps = gaps_of(calibration, equations);
  if (gaps.empty()) return;
  std::puts("\nThe equations yield no time above 0 (`lynxpp band -e samples` has one everywhere):");
  for (const Gap& gap : gaps) {
    std::string list;
    for (const std::uint32_t warps : gap.warps) list += (list.empty() ? "" : ", ") + std::to_string(warps);
    std::printf("  %ss of %u bytes, %s: at %s warps\n", std::string(name_of(gap.direction)).c_str(),
                transaction_bytes[gap.type], std::string(name_of(gap.placement)).c_str(), list.c_str());
  }
}

void warn_of_invalid(const Calibration& calibration) {
  for (const Validity& each : calibration.validity) {
    if (each.ratio <= largest_memory_bound_ratio) continue;
    print_warning("the benchmark of " + std::string(name_of(each.direction)) + "s of " +
                  std::to_string(transaction_bytes[each.type]) + " bytes, " +
                  std::string(name_of(each.placement)) +
                  ", is not memory bound: added arithmetic makes it take " + formatted(each.ratio, "%.2f") +
                  " times as long");
  }
}

Status calibrate_device(const CalibrateArguments& arguments) {
  const bool is_modelled = !arguments.machine.empty();
  std::optional<models::Machine> machine;
  if (is_modelled) {
    Result<models::Machine> found = models::find_machine(arguments.machine);
    if (!found) return found.error();
    machine = std::move(*found);
  } else if (Status present = check_device("cuda"); !present) {
    return failure("there is no NVIDIA driver (libcuda.so.1) on this machine",
                   "use --machine compute_1_3 to calibrate a modelled machine");
  }
  const Result<Calibration> calibration = measure(arguments, machine ? &*machine : nullptr);
  if (!calibration) return calibration.error();
  const Result<Equations> usable = equations_of(*calibration, Form::samples);
  if (!usable) return usable.error();
  const Result<Equations> equations = equations_of(*calibration, Form::sums);
  const Result<std::string> text = to_json(*calibration);
  if (!text) return text.error();
  const std::string file =
      arguments.output.empty()
          ? calibration_file(calibration->device + (arguments.scatters ? "-scattered" : ""))
          : absolute_path(arguments.output);
  if (file.empty() || file.front() != '/')
    return failure("cannot store the calibration: there is no home folder", "use -o FILE");
  if (Status stored = keep_file(file, *text); !stored) return stored;
  std::printf("calibration of %s, %s, %s\n\n", calibration->device.c_str(), calibration->date.c_str(),
              calibration->is_modelled ? "times modelled" : "times measured");
  if (equations) {
    print_equations(*equations);
    print_gaps(*calibration, *equations);
  } else {
    for (const Diagnostic& problem : equations.error().diagnostics)
      print_warning("no equation: " + problem.message + "; `lynxpp band -e samples` needs none");
  }
  print_ratios(*calibration);
  warn_of_invalid(*calibration);
  std::printf("\nstored in %s\n", file.c_str());
  const trust::Number times = machine ? trust::Number::clock_1_3 : trust::Number::times;
  std::printf("%s\n", (machine && machine->name != "compute_1_3" ? trust::line_of({trust::Number::clock_9_0})
                                                                 : trust::line_of({times}))
                          .c_str());
  return success();
}

}  // namespace

int calibrate(const CalibrateArguments& arguments) {
  const Status done = calibrate_device(arguments);
  if (!done) print(done.error().diagnostics);
  return done ? exit_success : exit_input_error;
}

}  // namespace lynxpp::cli
