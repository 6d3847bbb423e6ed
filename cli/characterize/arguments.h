// The command line of `lynxpp characterize`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// `lynxpp characterize`.
struct CharacterizeArguments {
  std::vector<std::string> programs;  ///< each a program and its arguments in one string
  std::string list;                   ///< a file with more programs, one per line; empty: none
  std::string kernels;
  std::string launches;
  std::string device;
  std::string csv;                   ///< a file; empty: none
  std::string svg;                   ///< a file; empty: none
  std::vector<std::string> command;  ///< another program and its arguments; may be empty
};

CLI::App* add_characterize(CLI::App& app, CharacterizeArguments& arguments);

}  // namespace lynxpp::cli
