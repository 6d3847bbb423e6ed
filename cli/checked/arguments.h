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
  std::string output;                ///< a file for JSON Lines; empty: none
  unsigned schedules = 1;            ///< orders in which each launch is judged
  unsigned seed = 0;                 ///< the only order that is judged; 0: those of `schedules`
  int error_exit = 0;                ///< the exit code if something is found; 0: the program's
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

CLI::App* add_check_run(CLI::App& app, CheckRunArguments& arguments);

}  // namespace lynxpp::cli
