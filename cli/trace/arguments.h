// The command line of `lynxpp report trace`.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// `lynxpp report trace`.
struct TraceArguments {
  std::vector<std::string> paths;  ///< folders, or files in them
  std::string trace;               ///< the trace's name; empty: all
  std::string kernels;
  std::string launches;
  std::string format = "csv";
  bool list = false;
};

CLI::App* add_trace(CLI::App& app, TraceArguments& arguments);

}  // namespace lynxpp::cli
