#include "cli/lsp/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace lynxpp::cli {

CLI::App* add_lsp(CLI::App& app, LspArguments& arguments) {
  CLI::App* const command = app.add_subcommand("lsp", "Run a language server for specifications");
  command->add_flag("--stdio", arguments.stdio, "Ignored; editors pass it");
  command->footer(
      "Offers diagnostics, completion of labels, extents, functions and names of the file, and the\n"
      "reference's description of the name under the cursor. Editors start the command:\n"
      "editors/README.md describes their configuration.");
  return command;
}

}  // namespace lynxpp::cli
