// `lynxpp bench`: runs the program natively and with each set of specifications, in turn, and compares the
// kernels' times.
#include <unistd.h>
#include <algorithm>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/compare/saved_bench.h"
#include "cli/diagnostics.h"
#include "cli/elapsed.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/progress/progress.h"
#include "cli/run_arguments.h"
#include "report/overhead/overhead.h"
#include "report/reader.h"
#include "report/tables/table_sink.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

/// Runs the program repeatedly.
class Runner {
 public:
  Runner(std::string program, const BenchArguments& arguments, std::string library)
      : program_(std::move(program)), arguments_(arguments), library_(std::move(library)) {}

  bool is_ready() const { return folder_.exists(); }

  /// Runs the program once with LYNXPP_SPEC and LYNXPP_TIMING set to these values. Fails if the program
  /// cannot be started or fails.
  Result<report::BenchRun> run(const std::string& specifications, const std::string& timing) {
    const std::string records = folder_.file("records.jsonl");
    std::error_code ignored;
    std::filesystem::remove(records, ignored);
    Variables variables{{"LD_PRELOAD", with_other_preloads(library_)},
                        {"LYNXPP_SPEC", specifications},
                        {"LYNXPP_TIMING", timing},
                        {"LYNXPP_OUTPUT", records}};
    if (!arguments_.kernels.empty()) variables["LYNXPP_KERNELS"] = arguments_.kernels;
    if (!arguments_.launches.empty()) variables["LYNXPP_LAUNCHES"] = arguments_.launches;
    if (!arguments_.device.empty()) variables["LYNXPP_DEVICE"] = arguments_.device;
    // Pass these on: they select how counts are collected, which the user may want to compare.
    for (const char* const name : {"LYNXPP_WORDS", "LYNXPP_WITHOUT"}) {
      if (const char* const value = std::getenv(name)) variables[name] = value;
    }
    const bool is_native = timing == "original";
    const Result<ChildRun> made = run_child(program_, arguments_.command, variables, folder_,
                                            is_native ? "uninstrumented" : "with " + specifications);
    if (!made) return made.error();
    report::BenchRun run;
    run.program_ms = made->milliseconds;
    const std::string& output = made->output;
    if (!first_output_) first_output_ = output;
    run.same_output = output == *first_output_;
    if (std::filesystem::exists(records, ignored)) {
      if (Status read = read_records(records, run); !read) return read.error();
    }
    return run;
  }

 private:
  static Status read_records(const std::string& path, report::BenchRun& run) {
    Result<report::Reading> reading = report::read_json_lines_file(path);
    if (!reading) return reading.error();
    for (report::Record& record : reading->records) {
      if (auto* timing = std::get_if<report::TimingRecord>(&record))
        run.timings.push_back(std::move(*timing));
      if (auto* coverage = std::get_if<report::CoverageRecord>(&record))
        run.coverage.push_back(std::move(*coverage));
    }
    return success();
  }

  std::string program_;
  const BenchArguments& arguments_;
  std::string library_;
  WorkFolder folder_;
  std::optional<std::string> first_output_;
};

/// Runs the rounds: in each a native run, then one with each setting.
Result<report::Bench> measure(Runner& runner, const BenchArguments& arguments,
                              const std::vector<std::string>& lists) {
  report::Bench bench;
  bench.command = arguments.command;
  for (const std::string& name : arguments.settings) bench.settings.push_back({name, {}});
  Progress progress;
  const auto say = [&](int round, const std::string& how) {
    progress.show("round " + std::to_string(round + 1) + " of " + std::to_string(arguments.rounds) + ": " +
                  how);
  };
  for (int round = 0; round < arguments.rounds; ++round) {
    say(round, "uninstrumented");
    Result<report::BenchRun> native = runner.run(lists.front(), "original");
    if (!native) return native.error();
    bench.native.push_back(std::move(*native));
    for (std::size_t i = 0; i < lists.size(); ++i) {
      say(round, arguments.settings[i]);
      Result<report::BenchRun> instrumented = runner.run(lists[i], "variant");
      if (!instrumented) return instrumented.error();
      bench.settings[i].runs.push_back(std::move(*instrumented));
    }
  }
  return bench;
}

/// True if at least one launch of a run with a setting was timed.
bool has_measured(const report::Bench& bench) {
  const auto has_times = [](const report::BenchRun& run) {
    return std::ranges::any_of(run.timings, [](const auto& each) { return each.launches != 0; });
  };
  return std::ranges::any_of(
      bench.settings, [&](const auto& setting) { return std::ranges::any_of(setting.runs, has_times); });
}

Result<std::vector<std::string>> lists_of(const BenchArguments& arguments) {
  // Clear lynxpp's environment variables for the runs.
  const Filters filters{{"--kernels", arguments.kernels}, {"--launches", arguments.launches}};
  if (Status understood = check_filters(filters); !understood) return understood.error();
  if (Status present = check_device(arguments.device); !present) return present.error();
  std::vector<std::string> lists;
  for (const std::string& setting : arguments.settings) {
    Result<std::string> list = specification_list({setting});
    if (!list) return list.error();
    lists.push_back(std::move(*list));
  }
  return lists;
}

}  // namespace

int bench(const BenchArguments& arguments) {
  const Result<std::vector<std::string>> lists = lists_of(arguments);
  const Result<std::string> library = preload_library();
  for (const Diagnostics* problems :
       {lists ? nullptr : &lists.error().diagnostics, library ? nullptr : &library.error().diagnostics}) {
    if (problems == nullptr) continue;
    print(*problems);
    return exit_usage_error;
  }
  for (const std::string& list : *lists) {
    if (!compiles(list)) return exit_usage_error;
  }
  ProgramSearch program;
  if (const int problem = find_or_report(arguments.command.front(), program); problem != exit_success)
    return problem;
  if (const std::string obstacle = preload_obstacle(program.path); !obstacle.empty())
    print_warning("'" + program.path + "' " + obstacle);
  if (arguments.elapsed) return bench_elapsed(program.path, arguments, *lists, *library);
  std::optional<SavedBench> before;
  if (!arguments.compare.empty()) {
    Result<SavedBench> saved = read_saved_bench(arguments.compare);
    if (!saved) {
      print(saved.error().diagnostics);
      return exit_input_error;
    }
    before = std::move(*saved);
  }
  Runner runner(program.path, arguments, *library);
  if (!runner.is_ready()) {
    print_error("cannot create a temporary folder");
    return exit_input_error;
  }
  const Result<report::Bench> measured = measure(runner, arguments, *lists);
  if (!measured) {
    print(measured.error().diagnostics);
    return exit_input_error;
  }
  const report::Overhead overhead = report::overhead_of(*measured);
  const std::size_t width = report::terminal_width(STDOUT_FILENO);
  std::string text = report::to_text(overhead, width);
  if (before) text += compared_text(*before, overhead, width);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!arguments.output.empty() && !write_file(arguments.output, report::to_json(overhead))) {
    print_error("cannot write " + arguments.output);
    return exit_input_error;
  }
  return has_measured(*measured) ? exit_success : exit_nothing_measured;
}

}  // namespace lynxpp::cli
