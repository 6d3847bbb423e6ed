// The command line of `lynxpp advise`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// Options for observing a program with `lynxpp advise`.
struct Observed {
  std::string kernels;
  std::string launches = "0";
  std::string device;
  std::uint64_t blocks = 64;  ///< per launch
  std::uint64_t seed = 1;
  std::uint32_t registers = 0;  ///< per thread; 0: as the device reports
  bool sharing = false;         ///< show which warps access the arrays
  std::string keep;             ///< a folder to keep the observations in
  std::string from;             ///< such a folder, read instead of running a program
};

/// `lynxpp advise`.
struct AdviseArguments {
  std::vector<std::string> files;
  std::string machine = "compute_9_0";  ///< a name, a file, or "list"
  std::vector<std::string> values;      ///< NAME=VALUE definitions of constants and choices
  bool references = false;              ///< show each reference of each variant
  bool explore = false;                 ///< explore alternatives to the description
  std::size_t best = 20;                ///< explored alternatives to print
  bool by_estimate = false;             ///< rank by the estimate even if the machine has caches
  bool json = false;
  std::string html;  ///< write a page to this file; empty: none
  /// The program to observe and its arguments; empty if descriptions are analysed.
  std::vector<std::string> command;
  Observed observed;
};

CLI::App* add_advise(CLI::App& app, AdviseArguments& arguments);

}  // namespace lynxpp::cli
