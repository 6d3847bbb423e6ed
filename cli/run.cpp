#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/control/why.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "cli/run_arguments.h"
#include "cli/texts/texts.h"
#include "image/compiler_caches.h"
#include "instrumentors/gmprof/schemes.h"
#include "support/output_file.h"
#include "support/result.h"
#include "support/run_mark.h"
#include "support/setting.h"
#include "support/start_condition.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

/// Escapes percent signs in the current folder's path, since they are not part of the pattern.
std::string output_pattern(const std::string& output) {
  std::error_code error;
  std::string folder;
  for (const char each : std::filesystem::current_path(error).string())
    folder += each == '%' ? "%%" : std::string(1, each);
  return (std::filesystem::path(folder) / output).lexically_normal().string();
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return failure("cannot create the folder " + path + ": " + error.message());
  return success();
}

/// Checks the options and the environment variables that replace them.
Status check(const RunArguments& arguments) {
  const Filters filters{option_or_variable(arguments.kernels, "--kernels", "LYNXPP_KERNELS"),
                        option_or_variable(arguments.launches, "--launches", "LYNXPP_LAUNCHES")};
  if (Status understood = check_filters(filters); !understood) return understood;
  if (Diagnostics problems = check_debug_settings(); !problems.empty()) return Failure{std::move(problems)};
  const Option words = option_or_variable(arguments.words, "--words", "LYNXPP_WORDS");
  if (const auto scheme = gmprof::parse_schemes(words.text, words.option); !scheme) return scheme.error();
  const Option start = option_or_variable(arguments.start, "--start", "LYNXPP_START");
  if (const auto condition = StartCondition::parse(start.text, start.option); !condition)
    return condition.error();
  return check_device(option_or_variable(arguments.device, "--device", "LYNXPP_DEVICE").text);
}

/// Returns the specifications from the options, else from the environment.
Result<std::string> chosen_specifications(const RunArguments& arguments) {
  if (arguments.specifications.empty() && arguments.one_liners.empty())
    return option_or_variable({}, "-s", "LYNXPP_SPEC").text;
  const Result<std::vector<std::string>> names = with_texts(arguments.specifications, arguments.one_liners);
  return names ? specification_list(*names) : Result<std::string>(names.error());
}

/// Same, with those that other options need.
Result<std::string> wanted_specifications(const RunArguments& arguments) {
  Result<std::string> list = chosen_specifications(arguments);
  const bool is_complete =
      !list || arguments.hang == 0 || list->find(hang_specification) != std::string::npos;
  if (is_complete) return list;
  return (trim(*list).empty() ? "" : *list + ",") + hang_specification;
}

/// Makes the program itself, but none of its children, report at exit that no launch was seen. It learns of
/// its children's launches from a memory file that they find through its process.
void report_missing_launches() {
  const int mark = ::memfd_create(LYNXPP_RUN_MARK, 0);
  const std::string run = std::to_string(::getpid()) + ":" + std::to_string(mark);
  ::setenv("LYNXPP_RUN", run.c_str(), 1);
}

Status prepare_environment(const RunArguments& arguments, const std::string& specifications) {
  const Result<std::string> library = preload_library();
  if (!library) return library.error();
  if (!trim(specifications).empty()) {
    ::setenv("LYNXPP_SPEC", specifications.c_str(), 1);
    report_missing_launches();
  }
  ::setenv("LD_PRELOAD", with_other_preloads(*library).c_str(), 1);
  for (const auto& [variable, folder] : image::moved_compiler_caches())
    ::setenv(variable.c_str(), folder.c_str(), 1);
  add_cpu_driver_path(option_or_variable(arguments.device, "--device", "LYNXPP_DEVICE").text);
  // NVTX_INJECTION64_PATH is for programs that a launcher starts without LD_PRELOAD. A user's own tool has
  // priority.
  ::setenv("NVTX_INJECTION64_PATH", library->c_str(), 0);
  ::setenv("CUDA_INJECTION64_PATH", library->c_str(), 0);

  if (!arguments.kernels.empty()) ::setenv("LYNXPP_KERNELS", arguments.kernels.c_str(), 1);
  if (!arguments.launches.empty()) ::setenv("LYNXPP_LAUNCHES", arguments.launches.c_str(), 1);
  if (!arguments.device.empty()) ::setenv("LYNXPP_DEVICE", arguments.device.c_str(), 1);
  if (!arguments.words.empty()) ::setenv("LYNXPP_WORDS", arguments.words.c_str(), 1);
  if (!arguments.start.empty()) ::setenv("LYNXPP_START", arguments.start.c_str(), 1);
  if (arguments.per_launch) ::setenv("LYNXPP_LAUNCH_RECORDS", "all", 1);
  if (!arguments.first_launch.empty()) ::setenv("LYNXPP_FIRST_LAUNCH", arguments.first_launch.c_str(), 1);
  if (arguments.timing) ::setenv("LYNXPP_TIMING", "1", 1);
  if (!arguments.dump.empty()) {
    const std::string folder = absolute_path(arguments.dump);
    if (Status made = make_folder(folder); !made) return made;
    ::setenv("LYNXPP_DUMP", folder.c_str(), 1);
  }
  if (!arguments.trace.empty()) ::setenv("LYNXPP_TRACE", output_pattern(arguments.trace).c_str(), 1);
  if (!arguments.output.empty()) {
    // Truncate the file so that it holds only this run's records: the program and its child processes append.
    // The names that a pattern yields are known only to the processes that write them.
    const bool is_pattern = arguments.output.find('%') != std::string::npos;
    if (!is_pattern) {
      if (Status begun = begin_output(absolute_path(arguments.output)); !begun) return begun;
    }
    ::setenv("LYNXPP_OUTPUT", output_pattern(arguments.output).c_str(), 1);
  }
  return success();
}

int execute(const std::string& path, const std::vector<std::string>& command) {
  std::vector<char*> values;
  values.reserve(command.size() + 1);
  for (const std::string& value : command) values.push_back(const_cast<char*>(value.c_str()));
  values.push_back(nullptr);
  ::execvp(path.c_str(), values.data());
  print_error("cannot execute " + path + ": " + std::strerror(errno));
  return exit_cannot_execute;
}

}  // namespace

int run(const RunArguments& arguments) {
  const Result<std::string> specifications = wanted_specifications(arguments);
  const Status checked = specifications ? check(arguments) : Status(specifications.error());
  if (!checked) {
    print(checked.error().diagnostics);
    return exit_usage_error;
  }
  if (!trim(*specifications).empty() && !compiles(*specifications)) return exit_usage_error;
  ProgramSearch program;
  if (const int problem = find_or_report(arguments.command.front(), program); problem != exit_success)
    return problem;
  if (Status prepared = prepare_environment(arguments, *specifications); !prepared) {
    print(prepared.error().diagnostics);
    return exit_usage_error;
  }
  const bool attaches_itself = uses_program_api(program.path);
  if (trim(*specifications).empty() && !attaches_itself) {
    print_warning("no specification is attached; nothing will be measured",
                  "choose one with -s; `lynxpp list` shows the ready-made ones");
  }
  const std::string obstacle = preload_obstacle(program.path);
  if (!obstacle.empty()) {
    print_warning("'" + program.path + "' " + obstacle + "; nothing will be measured" +
                  (attaches_itself ? ", and the functions of lynxpp.h report that lynxpp is missing" : ""));
  }
  if (arguments.hang != 0) watch_for_hang(::getpid(), arguments.hang);
  if (obstacle.empty() || trim(*specifications).empty()) return execute(program.path, arguments.command);
  const int exit_code = run_in_terminal(program.path, arguments.command);
  return exit_code == exit_success ? exit_nothing_measured : exit_code;
}

}  // namespace lynxpp::cli
