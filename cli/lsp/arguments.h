// The command line of `lynxpp lsp`.
#pragma once

#include <CLI/App.hpp>

#include "cli/arguments.h"

namespace lynxpp::cli {

CLI::App* add_lsp(CLI::App& app, LspArguments& arguments);

}  // namespace lynxpp::cli
