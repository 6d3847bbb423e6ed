// The command line of `lynxpp characterize`.
#pragma once

#include <CLI/App.hpp>

#include "cli/arguments.h"

namespace lynxpp::cli {

CLI::App* add_characterize(CLI::App& app, CharacterizeArguments& arguments);

}  // namespace lynxpp::cli
