// The command line of `lynxpp limits`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// `lynxpp limits`.
struct LimitsArguments {
  std::string kernels;
  std::string device;
  std::string machine;  ///< of the modelled clock without a GPU; empty: LYNXPP_CPU_CLOCK, else compute_9_0
  std::vector<std::string> perturbations;  ///< tried instead of all classes; empty: all classes, then lines
  int launches = 60;                       ///< trials of classes per kernel and shape
  bool replay = false;                     ///< launches are repeated if there are too few
  bool tries = false;                      ///< remedies are tried, too
  std::string output;                      ///< a file for the records; empty: none is kept
  std::string json;                        ///< a file for JSON; empty: none
  std::string html;                        ///< a file for a page; empty: none
  std::string from;                        ///< records of an earlier run, read instead of running a program
  std::vector<std::string> command;        ///< the program and its arguments; empty with `from`
};

CLI::App* add_limits(CLI::App& app, LimitsArguments& arguments);

}  // namespace lynxpp::cli
