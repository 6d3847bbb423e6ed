#include "cli/python_module.h"

#include <unistd.h>

#include <cstdlib>

#include "cli/child.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/preload.h"
#include "cli/program.h"

namespace lynxpp::cli {
namespace {

/// Returns the folder that contains the Python package; empty without one.
std::string package_folder() {
  // An installation, a wheel (lynxpp/native/bin), and a build folder of the repository.
  for (const char* const relative : {"/../share/lynxpp/python", "/../../..", "/../../../python"}) {
    const std::string folder = absolute_path(executable_folder() + relative);
    if (::access((folder + "/lynxpp/__init__.py").c_str(), R_OK) == 0) return folder;
  }
  return {};
}

}  // namespace

int run_python_module(const std::string& python, const std::string& module, std::vector<std::string> words) {
  const std::string package = package_folder();
  if (package.empty()) {
    print_error("cannot find lynxpp's Python package near " + executable_folder(),
                "install lynxpp with its folder share/lynxpp/python");
    return exit_usage_error;
  }
  ProgramSearch program;
  if (const int problem =
          find_or_report(python, program, "install Python 3.9 or newer (Debian: apt-get install python3)");
      problem != exit_success)
    return problem;
  const char* const folders = std::getenv("PYTHONPATH");
  const bool has_others = folders != nullptr && *folders != '\0';
  ::setenv("PYTHONPATH", (package + (has_others ? ":" + std::string(folders) : "")).c_str(), 1);
  ::setenv("LYNXPP_HOME", absolute_path(executable_folder() + "/..").c_str(), 1);
  words.insert(words.begin(), {python, "-m", module});
  return run_in_terminal(program.path, words);
}

}  // namespace lynxpp::cli
