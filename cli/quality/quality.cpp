// `lynxpp quality`: runs the program with the specification `quality` and again natively, timed, and computes
// the criteria of Pro++ from the records.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/quality/arguments.h"
#include "cli/quality/barrier_waits.h"
#include "cli/quality/fit.h"
#include "cli/quality/quality_inputs.h"
#include "cli/quality/quality_output.h"
#include "models/machine.h"
#include "models/proplusplus/weights.h"
#include "report/reader.h"
#include "support/setting.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

using models::proplusplus::Weights;

/// Returns nullopt if the weights of the device apply.
Result<std::optional<Weights>> given_weights(const QualityArguments& arguments) {
  if (arguments.weights.empty()) return std::optional<Weights>();
  if (arguments.weights == "paper") return std::optional<Weights>(models::proplusplus::paper_weights());
  std::string text;
  if (!read_file(arguments.weights, text)) return failure(cannot_read(arguments.weights));
  Result<Weights> weights = models::proplusplus::parse_weights(text, arguments.weights);
  if (!weights) return weights.error();
  return std::optional<Weights>(std::move(*weights));
}

std::string machine_name(const QualityArguments& arguments) {
  if (!arguments.machine.empty()) return arguments.machine;
  const char* const variable = setting("LYNXPP_CPU_CLOCK");
  return variable != nullptr && *variable != '\0' ? variable : "compute_9_0";
}

/// Returns the machine whose clock times kernels without a GPU.
Result<models::Machine> clock_machine(const QualityArguments& arguments) {
  Result<models::Machine> machine = models::find_machine(machine_name(arguments));
  if (machine && !machine->timing)
    return failure("the machine " + machine->name + " has no timing", "choose one with a timing with -m");
  return machine;
}

Result<std::vector<report::Record>> run_once(const std::string& program, const QualityArguments& arguments,
                                             const std::string& library, const WorkFolder& folder,
                                             const std::string& specification, const std::string& timing) {
  const std::string records = folder.file("records.jsonl");
  std::error_code ignored;
  std::filesystem::remove(records, ignored);
  Variables variables{{"LD_PRELOAD", with_other_preloads(library)},
                      {"NVTX_INJECTION64_PATH", library},
                      {"LYNXPP_SPEC", specification},
                      {"LYNXPP_TIMELINE", "1"},
                      {"LYNXPP_TIMING", timing},
                      {"LYNXPP_CPU_CLOCK", machine_name(arguments)},
                      {"LYNXPP_OUTPUT", records}};
  if (timing.empty()) variables["LYNXPP_CPU_CLOCK_TIMES"] = "0";
  if (!arguments.kernels.empty()) variables["LYNXPP_KERNELS"] = arguments.kernels;
  if (!arguments.launches.empty()) variables["LYNXPP_LAUNCHES"] = arguments.launches;
  if (!arguments.device.empty()) variables["LYNXPP_DEVICE"] = arguments.device;
  if (!arguments.functions.empty()) variables["LYNXPP_RANGE_FUNCTION"] = arguments.functions;
  if (const char* range = std::getenv("LYNXPP_RANGE")) variables["LYNXPP_RANGE"] = range;
  const Result<ChildRun> made =
      run_child(program, arguments.command, variables, folder,
                timing.empty() ? "with the specification '" + specification + "'" : "uninstrumented");
  if (!made) return made.error();
  if (!std::filesystem::exists(records, ignored)) return std::vector<report::Record>();
  Result<report::Reading> reading = report::read_json_lines_file(records);
  if (!reading) return reading.error();
  return std::move(reading->records);
}

bool is_of_gpu(const std::vector<report::Record>& records) {
  for (const report::Record& record : records) {
    if (const auto* device = std::get_if<report::DeviceRecord>(&record))
      return !device->device.starts_with("cpu");
  }
  return false;
}

/// Keeps the ranges that the user names. Fails if the program did not enter one of them.
Status keep_ranges(rating::Inputs& inputs, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return success();
  std::vector<std::string> known;
  for (const rating::Subject& subject : inputs.subjects) {
    if (subject.kind == rating::Subject::Kind::range) known.push_back(subject.name);
  }
  const auto is_inside = [](const std::string& name, const std::string& path) {
    return name == path || name.starts_with(path + "/");
  };
  for (const std::string& path : wanted) {
    if (std::ranges::any_of(known, [&](const std::string& name) { return is_inside(name, path); })) continue;
    const std::string close = closest_match(path, known);
    std::string list;
    for (std::size_t i = 0; i < known.size() && i < 10; ++i) list += (i == 0 ? "" : ", ") + known[i];
    return nothing_measured("no kernel was launched in a range '" + path + "'",
                            !close.empty() ? "did you mean '" + close + "'?"
                            : known.empty()
                                ? "the program names no ranges; use NVTX, LYNXPP_RANGE or --function"
                                : "existing ranges: " + list);
  }
  std::erase_if(inputs.subjects, [&](const rating::Subject& subject) {
    return subject.kind != rating::Subject::Kind::range ||
           std::ranges::none_of(wanted,
                                [&](const std::string& path) { return is_inside(subject.name, path); });
  });
  return success();
}

Result<rating::Inputs> measure(const std::string& program, const QualityArguments& arguments,
                               const models::Machine& machine) {
  const Result<std::string> library = preload_library();
  if (!library) return library.error();
  const WorkFolder folder;
  if (!folder.exists()) return failure("cannot create a temporary folder");
  rating::Runs runs;
  Result<std::vector<report::Record>> counted = run_once(program, arguments, *library, folder, "quality", "");
  if (!counted) return counted.error();
  runs.counted = std::move(*counted);
  Result<std::vector<report::Record>> timed =
      run_once(program, arguments, *library, folder, "quality", "original");
  if (!timed) return timed.error();
  runs.timed = std::move(*timed);
  if (is_of_gpu(runs.counted)) {
    const std::string clocks = folder.file("barrier_waits.cod");
    if (!write_file(clocks, rating::barrier_waits)) return failure("cannot write " + clocks);
    Result<std::vector<report::Record>> clocked = run_once(program, arguments, *library, folder, clocks, "");
    if (!clocked) return clocked.error();
    runs.clocked = std::move(*clocked);
  } else {
    runs.modelled = machine;
  }
  if (arguments.problem_bytes != 0) runs.problem_bytes = arguments.problem_bytes;
  return rating::inputs_of(runs);
}

/// The machine and weights used for the rating.
struct Rating {
  Weights weights;
  std::optional<rating::KeptFit> fit;
};

Result<Rating> rating_of(const rating::Inputs& inputs, const QualityArguments& arguments,
                         const std::optional<Weights>& given) {
  if (arguments.fit) {
    Result<rating::KeptFit> fit = rating::fit_and_keep(inputs, arguments.output);
    if (!fit) return fit.error();
    return Rating{given.value_or(fit->weights), std::move(*fit)};
  }
  if (given) return Rating{*given, {}};
  Result<std::optional<Weights>> stored = rating::stored_weights(inputs.device);
  if (!stored) return stored.error();
  return Rating{stored->value_or(models::proplusplus::paper_weights()), {}};
}

Status show(const std::string& program, const QualityArguments& arguments, const models::Machine& machine,
            const std::optional<Weights>& given) {
  Result<rating::Inputs> inputs = measure(program, arguments, machine);
  if (!inputs) return inputs.error();
  const Result<Rating> rated = rating_of(*inputs, arguments, given);
  if (!rated) return rated.error();
  if (Status kept = keep_ranges(*inputs, arguments.ranges); !kept) return kept;
  std::string text = arguments.json ? rating::to_json(*inputs, rated->weights)
                                    : rating::to_text(*inputs, rated->weights, arguments.inputs);
  if (rated->fit && !arguments.json) text += rating::fit_text(*rated->fit);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return success();
}

}  // namespace

int quality(const QualityArguments& arguments) {
  const Result<std::optional<Weights>> given = given_weights(arguments);
  if (!given) return print(given.error().diagnostics), exit_usage_error;
  const Result<models::Machine> machine = clock_machine(arguments);
  if (!machine) return print(machine.error().diagnostics), exit_usage_error;
  const Filters filters{{"--kernels", arguments.kernels}, {"--launches", arguments.launches}};
  for (const Status& checked : {check_filters(filters), check_device(arguments.device)}) {
    if (!checked) return print(checked.error().diagnostics), exit_usage_error;
  }
  ProgramSearch program;
  if (const int problem = find_or_report(arguments.command.front(), program); problem != exit_success)
    return problem;
  if (const std::string obstacle = preload_obstacle(program.path); !obstacle.empty())
    print_warning("'" + program.path + "' " + obstacle);
  const Status shown = show(program.path, arguments, *machine, *given);
  return shown ? exit_success : failed(shown.error());
}

}  // namespace lynxpp::cli
