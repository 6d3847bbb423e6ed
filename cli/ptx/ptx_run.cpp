// `lynxpp ptx run`: the module lynxpp.ptx_run of the Python package, for one kernel of a file.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/ptx/arguments.h"
#include "cli/ptx/ptx_input.h"
#include "cli/python_module.h"
#include "report/reader.h"
#include "report/tables/table_sink.h"
#include "support/output_file.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

Result<std::string> wanted_specifications(const PtxArguments& arguments) {
  if (!arguments.specifications.empty()) return specification_list(arguments.specifications);
  return option_or_variable({}, "-s", "LYNXPP_SPEC").text;
}

/// Returns the command line of the module. Its options have the names of this command's.
std::vector<std::string> words_of(const PtxArguments& arguments, const std::string& file,
                                  const std::string& kernel) {
  const PtxLaunch& launch = arguments.launch;
  std::vector<std::string> words{"--grid=" + launch.grid, "--kernel=" + kernel,
                                 "--shared=" + std::to_string(launch.shared_bytes),
                                 "--seed=" + std::to_string(launch.seed), "--tolerance=" + launch.tolerance};
  const auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) words.push_back(option + "=" + value);
  };
  const auto add_all = [&](const std::string& option, const std::vector<std::string>& values) {
    for (const std::string& value : values) words.push_back(option + "=" + value);
  };
  add("--block", launch.block);
  add("--cluster", launch.cluster);
  add("--device", launch.device);
  add("--timeout", launch.timeout);
  add_all("--arg", launch.values);
  add_all("--expect", launch.expected);
  add_all("--print", launch.printed);
  add_all("--output", launch.outputs);
  if (launch.check) words.emplace_back("--check");
  words.insert(words.end(), {"--", file});
  return words;
}

/// Prints the records as `lynxpp run` does when the program ends.
void print_table(const std::string& path) {
  const Result<report::Reading> reading = report::read_json_lines_file(path);
  if (!reading) return print(reading.error().diagnostics);
  const auto sink = report::make_table_sink(
      {[](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); },
       report::terminal_width(STDERR_FILENO), false, false});
  report::replay(reading->records, *sink);
}

}  // namespace

int ptx_run(const PtxArguments& arguments) {
  PtxInput input;
  if (!read_ptx_input(arguments.input, arguments.kernel, Wanted::kernels, input)) return exit_usage_error;
  if (input.functions.size() > 1) {
    std::string names;
    for (const std::string& each : input.functions)
      names += (names.empty() ? "" : ", ") + readable_name(*input.module.find_function(each));
    print_error(input.path + " has " + counted(input.functions.size(), "kernel"),
                "choose one with --kernel: " + names);
    return exit_usage_error;
  }
  const Result<std::string> specifications = wanted_specifications(arguments);
  if (!specifications) return print(specifications.error().diagnostics), exit_usage_error;
  const bool is_measured = !trim(*specifications).empty();
  if (is_measured && !compiles(*specifications)) return exit_usage_error;
  const WorkFolder folder;
  const std::string file = folder.file("module.ptx");
  if (!folder.exists() || !write_file(file, input.text)) {
    print_error("cannot create a temporary folder");
    return exit_usage_error;
  }
  std::vector<std::string> words = words_of(arguments, file, input.functions.front());
  const std::string& wanted = arguments.launch.records;
  const std::string records = wanted.empty() ? folder.file("records.jsonl") : absolute_path(wanted);
  if (is_measured) words.insert(words.begin(), {"--spec=" + *specifications, "--records=" + records});
  if (const Status begun = is_measured ? begin_output(records) : success(); !begun)
    return print(begun.error().diagnostics), exit_usage_error;
  const int exit_code = run_python_module(arguments.launch.python, "lynxpp.ptx_run", std::move(words));
  if (is_measured) print_table(records);
  return exit_code;
}

}  // namespace lynxpp::cli
