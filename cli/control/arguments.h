// The command lines of `lynxpp attach`, `detach`, `status`, `why` and `top`.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// `lynxpp attach`, `detach`, `status`, `why` and `top`.
struct ControlArguments {
  enum class Command { attach, detach, status, why, top };
  std::optional<Command> command;
  int process = 0;
  std::vector<std::string> specifications;  ///< attach
  std::vector<std::string> one_liners;      ///< attach: specification texts
  std::string kernels;                      ///< attach
  bool once = false;                        ///< top
};

/// Adds the commands and returns them; parsing one of them sets `arguments.command`.
std::vector<CLI::App*> add_control(CLI::App& app, ControlArguments& arguments);

}  // namespace lynxpp::cli
