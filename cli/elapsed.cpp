#include "cli/elapsed.h"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include "cli/child.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/progress/progress.h"
#include "cli/run_arguments.h"
#include "report/overhead/elapsed.h"
#include "report/reader.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

class ElapsedRunner {
 public:
  ElapsedRunner(std::string path, const BenchArguments& arguments, std::string library)
      : path_(std::move(path)), arguments_(arguments), library_(std::move(library)) {
    on_cpu_ = !library_path_for(arguments_.device).empty();
  }

  bool is_ready() const { return folder_.exists(); }

  /// The first runs, which are not part of a round: native, then with each list. They write records, which
  /// say how many launches were instrumented.
  Result<report::ElapsedBench> begin(const std::vector<std::string>& lists) {
    report::ElapsedBench bench;
    bench.command = arguments_.command;
    Result<report::ElapsedRun> native = run("", false);
    if (!native) return native.error();
    bench.native.first = *native;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      report::ElapsedSetting& setting = bench.settings.emplace_back();
      setting.name = arguments_.settings[i];
      Result<report::ElapsedRun> first = run(lists[i], true);
      if (!first) return first.error();
      setting.first = *first;
      if (Status read = read_records(setting, bench.device); !read) return read.error();
    }
    return bench;
  }

  Status add_round(report::ElapsedBench& bench, const std::vector<std::string>& lists) {
    Result<report::ElapsedRun> native = run("", false);
    if (!native) return native.error();
    bench.native.runs.push_back(*native);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      Result<report::ElapsedRun> made = run(lists[i], false);
      if (!made) return made.error();
      bench.settings[i].runs.push_back(*made);
    }
    return success();
  }

 private:
  /// An empty list: a native run.
  Result<report::ElapsedRun> run(const std::string& list, bool writes_records) {
    Variables variables;
    if (!list.empty() || on_cpu_) {
      variables["LD_PRELOAD"] = with_other_preloads(library_);
      if (!arguments_.device.empty()) variables["LYNXPP_DEVICE"] = arguments_.device;
    }
    if (!list.empty()) {
      variables["LYNXPP_SPEC"] = list;
      if (!arguments_.kernels.empty()) variables["LYNXPP_KERNELS"] = arguments_.kernels;
      if (!arguments_.launches.empty()) variables["LYNXPP_LAUNCHES"] = arguments_.launches;
      if (writes_records) variables["LYNXPP_OUTPUT"] = records();
    }
    const Result<ChildRun> made = run_child(path_, arguments_.command, variables, folder_,
                                            list.empty() ? "uninstrumented" : "with " + list);
    if (!made) return made.error();
    if (!first_output_) first_output_ = made->output;
    return report::ElapsedRun{made->milliseconds, made->processor_milliseconds,
                              made->output == *first_output_};
  }

  std::string records() const { return folder_.file("records.jsonl"); }

  Status read_records(report::ElapsedSetting& setting, std::string& device) const {
    std::error_code ignored;
    if (!std::filesystem::exists(records(), ignored)) return success();
    Result<report::Reading> reading = report::read_json_lines_file(records());
    std::filesystem::remove(records(), ignored);
    if (!reading) return reading.error();
    for (const report::Record& record : reading->records) {
      if (const auto* coverage = std::get_if<report::CoverageRecord>(&record)) {
        setting.launches += coverage->launches;
        setting.instrumented_launches += coverage->instrumented_launches;
      }
      if (const auto* found = std::get_if<report::DeviceRecord>(&record)) device = found->device;
    }
    return success();
  }

  const std::string path_;
  const BenchArguments& arguments_;
  const std::string library_;
  WorkFolder folder_;
  bool on_cpu_ = false;
  std::optional<std::string> first_output_;
};

Result<report::ElapsedBench> measure(ElapsedRunner& runner, const BenchArguments& arguments,
                                     const std::vector<std::string>& lists) {
  Progress progress;
  progress.show("first runs");
  Result<report::ElapsedBench> bench = runner.begin(lists);
  if (!bench) return bench;
  for (int round = 0; round < arguments.rounds; ++round) {
    progress.show("round " + std::to_string(round + 1) + " of " + std::to_string(arguments.rounds));
    if (Status made = runner.add_round(*bench, lists); !made) return made.error();
  }
  return bench;
}

}  // namespace

int bench_elapsed(const std::string& path, const BenchArguments& arguments,
                  const std::vector<std::string>& lists, const std::string& library) {
  ElapsedRunner runner(path, arguments, library);
  if (!runner.is_ready()) {
    print_error("cannot make a temporary folder");
    return exit_input_error;
  }
  const Result<report::ElapsedBench> measured = measure(runner, arguments, lists);
  if (!measured) {
    print(measured.error().diagnostics);
    return exit_input_error;
  }
  const std::string text = report::to_text(*measured);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!arguments.output.empty() && !write_file(arguments.output, report::to_json(*measured))) {
    print_error("cannot write " + arguments.output);
    return exit_input_error;
  }
  bool has_measured = false;
  for (const report::ElapsedSetting& setting : measured->settings)
    has_measured |= setting.instrumented_launches != 0;
  return has_measured ? exit_success : exit_nothing_measured;
}

}  // namespace lynxpp::cli
