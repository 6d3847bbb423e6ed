// `lynxpp triton`: the module lynxpp.triton of the Python package, which runs in the Python that has Triton.
#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "cli/python_module.h"
#include "cli/reports/arguments.h"
#include "cli/reports/summarise.h"
#include "support/output_file.h"
#include "support/result.h"

namespace lynxpp::cli {
namespace {

std::vector<std::string> words_of(const TritonArguments& arguments, const std::string& specifications,
                                  const std::string& output) {
  std::vector<std::string> words{"--output", output};
  if (!specifications.empty()) words.insert(words.end(), {"--spec", specifications});
  if (!arguments.checks.empty())
    words.insert(words.end(), {"--checks", arguments.checks == "none" ? "" : arguments.checks});
  if (arguments.sm != 0) words.insert(words.end(), {"--target", std::to_string(arguments.sm)});
  if (arguments.error_exit != 0)
    words.insert(words.end(), {"--error-exit", std::to_string(arguments.error_exit)});
  words.emplace_back("--");
  words.insert(words.end(), arguments.command.begin(), arguments.command.end());
  return words;
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
  const std::string stem = std::filesystem::path(arguments.command.front()).stem();
  const std::string output = arguments.output.empty() ? "lynxpp-" + stem + ".jsonl" : arguments.output;
  if (const Status begun = begin_output(absolute_path(output)); !begun) {
    print(begun.error().diagnostics);
    return exit_usage_error;
  }
  const int exit_code = run_python_module(arguments.python, "lynxpp.triton",
                                          words_of(arguments, *specifications, absolute_path(output)));
  summarise(output);
  return exit_code;
}

}  // namespace lynxpp::cli
