// The command lines of `lynxpp record` and `lynxpp report`.
#pragma once

#include <CLI/App.hpp>

#include "cli/arguments.h"

namespace lynxpp::cli {

CLI::App* add_record(CLI::App& app, RecordArguments& arguments);
CLI::App* add_report(CLI::App& app, ReportArguments& arguments);

}  // namespace lynxpp::cli
