// `lynxpp triton`: the module lynxpp.triton of the Python package, which runs in the Python that has Triton.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "cli/reports/arguments.h"
#include "cli/reports/summarise.h"
#include "support/output_file.h"
#include "support/result.h"

namespace lynxpp::cli {
namespace {

/// Returns the folder that contains the Python package; empty without one.
std::string package_folder() {
  // An installation, a wheel (lynxpp/native/bin), and a build folder of the repository.
  for (const char* const relative : {"/../share/lynxpp/python", "/../../..", "/../../../python"}) {
    const std::string folder = absolute_path(executable_folder() + relative);
    if (::access((folder + "/lynxpp/triton.py").c_str(), R_OK) == 0) return folder;
  }
  return {};
}

std::vector<std::string> command_of(const TritonArguments& arguments, const std::string& specifications,
                                    const std::string& output) {
  std::vector<std::string> command{arguments.python, "-m", "lynxpp.triton", "--output", output};
  if (!specifications.empty()) command.insert(command.end(), {"--spec", specifications});
  if (!arguments.checks.empty())
    command.insert(command.end(), {"--checks", arguments.checks == "none" ? "" : arguments.checks});
  if (arguments.sm != 0) command.insert(command.end(), {"--target", std::to_string(arguments.sm)});
  if (arguments.error_exit != 0)
    command.insert(command.end(), {"--error-exit", std::to_string(arguments.error_exit)});
  command.emplace_back("--");
  command.insert(command.end(), arguments.command.begin(), arguments.command.end());
  return command;
}

}  // namespace

int triton(const TritonArguments& arguments) {
  const bool is_usual = arguments.specifications.empty();
  const Result<std::string> specifications =
      is_usual ? Result<std::string>(std::string()) : specification_list(arguments.specifications);
  if (!specifications) {
    print(specifications.error().diagnostics);
    return exit_usage_error;
  }
  if (!is_usual && !compiles(*specifications)) return exit_usage_error;
  const std::string package = package_folder();
  if (package.empty()) {
    print_error("cannot find lynxpp's Python package near " + executable_folder(),
                "install lynxpp with its folder share/lynxpp/python");
    return exit_usage_error;
  }
  ProgramSearch python;
  if (const int problem = find_or_complain(arguments.python, python); problem != exit_success) return problem;
  const char* const folders = std::getenv("PYTHONPATH");
  const bool has_others = folders != nullptr && *folders != '\0';
  ::setenv("PYTHONPATH", (package + (has_others ? ":" + std::string(folders) : "")).c_str(), 1);
  ::setenv("LYNXPP_HOME", absolute_path(executable_folder() + "/..").c_str(), 1);
  const std::string stem = std::filesystem::path(arguments.command.front()).stem();
  const std::string output = arguments.output.empty() ? "lynxpp-" + stem + ".jsonl" : arguments.output;
  if (const Status begun = begin_output(absolute_path(output)); !begun) {
    print(begun.error().diagnostics);
    return exit_usage_error;
  }
  const int exit_code =
      run_in_terminal(python.path, command_of(arguments, *specifications, absolute_path(output)));
  summarise(output);
  return exit_code;
}

}  // namespace lynxpp::cli
