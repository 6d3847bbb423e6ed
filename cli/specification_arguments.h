// The command lines of `lynxpp check` and `lynxpp list`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

struct CheckArguments {
  std::vector<std::string> files;       ///< "-": standard input
  std::vector<std::string> one_liners;  ///< specification texts
  bool emit_ptx = false;
  std::string explain;  ///< a PTX file: show the sites of the handlers in it
  std::string kernel;   ///< explain: mangled, demangled or plain name; empty: every entry
  bool json = false;    ///< explain
  int sm = 90;
};

struct ListArguments {
  std::string name;  ///< print this specification's text; empty: list all
};

CLI::App* add_check(CLI::App& app, CheckArguments& arguments);
CLI::App* add_list(CLI::App& app, ListArguments& arguments);

}  // namespace lynxpp::cli
