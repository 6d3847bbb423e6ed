// The command line of `lynxpp report merge`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// `lynxpp report merge`.
struct MergeArguments {
  std::vector<std::string> files;
  std::string output;  ///< empty or "-": standard output
};

CLI::App* add_merge(CLI::App& app, MergeArguments& arguments);

}  // namespace lynxpp::cli
