// The command lines of `lynxpp calibrate` and `lynxpp band`.
#pragma once

#include <CLI/App.hpp>

#include "cli/arguments.h"

namespace lynxpp::cli {

CLI::App* add_calibrate(CLI::App& app, CalibrateArguments& arguments);
CLI::App* add_band(CLI::App& app, BandArguments& arguments);

}  // namespace lynxpp::cli
