#include "tests/interposer/preload_run.h"

#include <sys/wait.h>

#include <cstdlib>

#include "support/text.h"
#include "tests/support/temporary_folder.h"

namespace lynxpp {

Outcome run(const std::string& command, const std::string& environment, const std::string& preload) {
  const TemporaryFolder folder;
  const std::string base = folder.file("run");
  // The environment in which the tests are run must not affect the programs.
  const std::string line =
      "env -u LYNXPP_SPEC -u LYNXPP_DEVICE -u LYNXPP_LOG -u LYNXPP_RUN LD_LIBRARY_PATH=" + programs_folder +
      " LYNXPP_TEST_EVENTS=" + base + ".events " + environment +
      (preload.empty() ? "" : " LD_PRELOAD=" + preload) + " " + command + " >" + base + ".out 2>" + base +
      ".err";
  const int status = std::system(line.c_str());
  Outcome result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  read_file(base + ".out", result.output);
  read_file(base + ".err", result.errors);
  std::string events;
  read_file(base + ".events", events);
  for (const std::string& event : split(events, '\n')) {
    if (!event.empty()) result.events.push_back(event);
  }
  return result;
}

Outcome run_driver(const std::string& arguments, const std::string& environment, const std::string& preload) {
  const bool linked = arguments.starts_with("linked");
  return run(programs_folder + (linked ? "/linked_driver_program " : "/driver_program ") + arguments,
             "LYNXPP_DEVICE=cuda " + environment, preload);
}

}  // namespace lynxpp
