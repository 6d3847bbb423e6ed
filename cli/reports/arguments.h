// The command lines of `lynxpp record`, `lynxpp report` and `lynxpp diff`.
#pragma once

#include <CLI/App.hpp>

#include "cli/arguments.h"

namespace lynxpp::cli {

CLI::App* add_record(CLI::App& app, RecordArguments& arguments);
CLI::App* add_report(CLI::App& app, ReportArguments& arguments);
CLI::App* add_diff(CLI::App& app, DiffArguments& arguments);

}  // namespace lynxpp::cli
