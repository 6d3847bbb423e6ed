// The command line of `lynxpp trace`.
#pragma once

#include <CLI/App.hpp>

#include "cli/arguments.h"

namespace lynxpp::cli {

CLI::App* add_trace(CLI::App& app, TraceArguments& arguments);

}  // namespace lynxpp::cli
