// The command lines of `lynxpp run` and `lynxpp bench`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

struct RunArguments {
  std::vector<std::string> specifications;  ///< each a name, a path, "-", or several separated by commas
  std::vector<std::string> one_liners;      ///< specification texts
  std::string kernels;
  std::string launches;
  std::string output;
  std::string device;
  std::string dump;
  std::string trace;         ///< a folder for trace entries; empty: none
  std::string words;         ///< a word counting scheme (instrumentors/gmprof/schemes.h)
  std::string start;         ///< when measuring starts (support/start_condition.h)
  std::string first_launch;  ///< LYNXPP_FIRST_LAUNCH
  int hang = 0;              ///< seconds after which a running kernel is reported; 0: never
  bool timing = false;
  bool per_launch = false;           ///< every launch has a record of its own
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

/// `lynxpp bench`.
struct BenchArguments {
  std::vector<std::string> settings;  ///< each a list of specifications that are measured together; not empty
  std::string kernels;
  std::string launches;
  std::string device;
  std::string output;    ///< a file for JSON; empty: none
  std::string compare;   ///< a JSON file of an earlier run; empty: none
  bool elapsed = false;  ///< measure whole programs instead of kernels
  int rounds = 5;
  std::vector<std::string> command;  ///< the program and its arguments; not empty
};

CLI::App* add_run(CLI::App& app, RunArguments& arguments);
CLI::App* add_bench(CLI::App& app, BenchArguments& arguments);

}  // namespace lynxpp::cli
