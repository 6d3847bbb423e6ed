// The command line of `lynxpp check-run`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// `lynxpp check-run`.
struct CheckRunArguments {
  std::string checks = "memory,race,init,sync";
  std::string output;                ///< a file for the findings; empty: none
  std::string format = "json";       ///< of the file: "text", "json" or "sarif"
  unsigned schedules = 1;            ///< schedules in which each launch runs
  unsigned seed = 0;                 ///< the only schedule to run; 0: the first `schedules` ones
  int error_exit = 0;                ///< the exit code if a check finds something; 0: the program's
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

CLI::App* add_check_run(CLI::App& app, CheckRunArguments& arguments);

}  // namespace lynxpp::cli
