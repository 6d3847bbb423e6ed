// `lynxpp limits`: runs a program whose launches take variants of its kernels in turn, and shows what each
// class of operations costs.
#include "report/limits/limits.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/limits/arguments.h"
#include "cli/limits/trials.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "image/compiler_caches.h"
#include "report/tables/heat_map.h"
#include "report/tables/table_sink.h"
#include "report/tables/text_table.h"
#include "support/output_file.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

void prepare_environment_of_trials(const Variables& variables) {
  ::unsetenv("LYNXPP_SPEC");
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  for (const auto& [name, folder] : image::moved_compiler_caches()) ::setenv(name.c_str(), folder.c_str(), 1);
  const auto device = variables.find("LYNXPP_DEVICE");
  add_cpu_driver_path(device == variables.end() ? "" : device->second);
}

std::string text_of(const std::vector<report::KernelLimits>& kernels, std::size_t width) {
  constexpr std::size_t most = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, kernels.size()); ++i)
    text += (i == 0 ? "" : "\n") + report::limits_text(kernels[i], width);
  if (kernels.size() > most) {
    text += "\n… " + std::to_string(kernels.size() - most) +
            " more kernels and shapes with less time: --json and --html have them; -k selects kernels\n";
  }
  if (kernels.empty()) return text;
  return text +
         report::wrapped(
             "\"Gain at most\" is what repeating the operations costs, \"by another pattern\" what it costs "
             "more than harmless ones, \"by reuse\" what repeating loads of the same addresses costs; each "
             "up to the time that other operations and the kernel's bytes do not need. "
             "\"Waiting\" is time that no class explains. Removing one limit reveals the next, so less is "
             "gained (docs/limits.md).",
             0, width) +
         report::wrapped(report::trust_line_of(kernels), 0, width);
}

/// Writes the files and prints the tables; returns an exit code.
int show(const Trials& trials, const LimitsArguments& arguments, std::FILE* stream) {
  const std::vector<report::KernelLimits> kernels = report::limits_of(trials.trials, trials.devices);
  const std::string text = text_of(kernels, report::terminal_width(::fileno(stream)));
  std::fwrite(text.data(), 1, text.size(), stream);
  if (!arguments.json.empty() &&
      !write_file(arguments.json, report::limits_json(kernels, arguments.command))) {
    print_error("cannot write " + arguments.json);
    return exit_input_error;
  }
  const std::string page = report::html_page("Limits of kernels", report::limits_html(kernels));
  if (!arguments.html.empty() && !write_file(arguments.html, page)) {
    print_error("cannot write " + arguments.html);
    return exit_input_error;
  }
  const bool is_timed =
      std::ranges::any_of(kernels, [](const report::KernelLimits& kernel) { return kernel.timed != 0; });
  if (is_timed) return exit_success;
  print_warning("no launch was timed");
  for (const report::CoverageRecord& each : trials.coverage) {
    if (!each.reason.empty()) print_warning(demangle(each.kernel) + ": " + each.reason);
  }
  return exit_nothing_measured;
}

int show_saved(const LimitsArguments& arguments) {
  const Result<Trials> trials = read_trials(arguments.from);
  if (trials) return show(*trials, arguments, stdout);
  print(trials.error().diagnostics);
  return exit_input_error;
}

}  // namespace

int limits(const LimitsArguments& arguments) {
  if (!arguments.from.empty()) return show_saved(arguments);
  ProgramSearch program;
  if (const int problem = find_or_report(arguments.command.front(), program); problem != exit_success)
    return problem;
  const WorkFolder folder;
  if (!folder.exists()) {
    print_error("cannot create a temporary folder");
    return exit_input_error;
  }
  const std::string output =
      arguments.output.empty() ? folder.file("trials.jsonl") : absolute_path(arguments.output);
  const Result<Variables> variables = trial_variables(arguments, output);
  Status prepared = variables ? success() : Status(variables.error());
  if (prepared && !arguments.output.empty()) prepared = begin_output(output);
  if (!prepared) {
    print(prepared.error().diagnostics);
    return exit_usage_error;
  }
  prepare_environment_of_trials(*variables);
  if (const std::string obstacle = preload_obstacle(program.path); !obstacle.empty())
    print_warning("'" + program.path + "' " + obstacle + "; nothing will be measured");
  const int exit_code = run_in_terminal(program.path, arguments.command);
  std::error_code ignored;
  Trials found;
  if (std::filesystem::exists(output, ignored)) {
    Result<Trials> read = read_trials(output);
    if (!read) {
      print(read.error().diagnostics);
      return exit_input_error;
    }
    found = std::move(*read);
  }
  const int shown = show(found, arguments, stderr);
  return exit_code == exit_success ? shown : exit_code;
}

}  // namespace lynxpp::cli
