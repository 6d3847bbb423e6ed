// The command lines of `lynxpp attach`, `detach`, `status` and `top`.
#pragma once

#include <CLI/App.hpp>

#include "cli/arguments.h"

namespace lynxpp::cli {

/// Adds the four commands; parsing one of them sets `arguments.command`.
void add_control(CLI::App& app, ControlArguments& arguments);

}  // namespace lynxpp::cli
