// The command line of `lynxpp check-run`.
#pragma once

#include <CLI/App.hpp>

#include "cli/arguments.h"

namespace lynxpp::cli {

CLI::App* add_check_run(CLI::App& app, CheckRunArguments& arguments);

}  // namespace lynxpp::cli
