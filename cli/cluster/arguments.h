// The command line of `lynxpp merge`, and of `lynxpp report` what is about places.
#pragma once

#include <CLI/App.hpp>

#include "cli/arguments.h"

namespace lynxpp::cli {

CLI::App* add_merge(CLI::App& app, MergeArguments& arguments);
/// `lynxpp report --by`.
void add_place(CLI::App& report, ReportArguments& arguments);

}  // namespace lynxpp::cli
