// The command line of `lynxpp merge`, and the options of `lynxpp report` about ranks and devices.
#pragma once

#include <CLI/App.hpp>

#include "cli/arguments.h"

namespace lynxpp::cli {

CLI::App* add_merge(CLI::App& app, MergeArguments& arguments);
/// Adds `lynxpp report --by`.
void add_place(CLI::App& report, ReportArguments& arguments);

}  // namespace lynxpp::cli
