#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/child.h"
#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/preload.h"
#include "cli/program.h"
#include "image/compiler_caches.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

constexpr int exit_of_signal = 128;

Status check_names(const std::string& checks) {
  static constexpr std::string_view known[] = {"memory", "race", "init", "sync", "leak"};
  for (const std::string& part : split(checks, ',')) {
    if (std::ranges::find(known, trim(part)) == std::end(known))
      return failure("there is no check '" + part + "'", "there are memory, race, init, sync and leak");
  }
  return success();
}

Status prepare_environment_of_checks(const CheckRunArguments& arguments, const std::string& output) {
  const Result<std::string> library = preload_library();
  if (!library) return library.error();
  if (!output.empty() && !write_file(output, "")) return failure("cannot write " + output);
  if (!output.empty()) ::setenv("LYNXPP_CPU_CHECK_OUTPUT", output.c_str(), 1);
  ::setenv("LYNXPP_CPU_CHECK", arguments.checks.c_str(), 1);
  ::setenv("LYNXPP_DEVICE", "cpu", 1);
  ::setenv("LD_PRELOAD", with_other_preloads(*library).c_str(), 1);
  for (const auto& [variable, folder] : image::moved_compiler_caches())
    ::setenv(variable.c_str(), folder.c_str(), 1);
  let_find_cpu_driver("cpu");
  return success();
}

/// Runs the program in this terminal; its exit code, or 128 and the number of the signal that ended it.
int run_and_wait(const std::string& path, const std::vector<std::string>& command) {
  std::vector<char*> values;
  values.reserve(command.size() + 1);
  for (const std::string& value : command) values.push_back(const_cast<char*>(value.c_str()));
  values.push_back(nullptr);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, path.c_str(), nullptr, nullptr, values.data(), environ);
  if (error != 0) {
    print_error("cannot execute " + path + ": " + std::strerror(error));
    return exit_cannot_execute;
  }
  // Ctrl-C is for the program, which may have something to say about it.
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFSIGNALED(status) ? exit_of_signal + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Whether a process of the program has found something.
bool has_findings(const std::string& output) {
  std::string lines;
  read_file(output, lines);
  for (const std::string& line : split(lines, '\n')) {
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (object.is_object() && object.value("findings", 0) != 0) return true;
  }
  return false;
}

}  // namespace

int check_run(const CheckRunArguments& arguments) {
  if (Status known = check_names(arguments.checks); !known) {
    print(known.error().diagnostics);
    return exit_usage_error;
  }
  ProgramSearch program;
  if (const int problem = find_or_complain(arguments.command.front(), program); problem != exit_success)
    return problem;
  const WorkFolder folder;
  if (!folder.exists()) {
    print_error("cannot make a temporary folder");
    return exit_input_error;
  }
  const std::string output =
      arguments.output.empty() ? folder.file("findings.jsonl") : absolute_path(arguments.output);
  if (Status prepared = prepare_environment_of_checks(arguments, output); !prepared) {
    print(prepared.error().diagnostics);
    return exit_usage_error;
  }
  if (const std::string obstacle = preload_obstacle(program.path); !obstacle.empty())
    print_warning("'" + program.path + "' " + obstacle + "; nothing will be checked");
  const int exit_code = run_and_wait(program.path, arguments.command);
  std::string lines;
  if (!read_file(output, lines) || lines.empty())
    print_warning("the program launched no kernel on the cpu device, nothing was checked");
  return arguments.error_exit != 0 && has_findings(output) ? arguments.error_exit : exit_code;
}

}  // namespace lynxpp::cli
