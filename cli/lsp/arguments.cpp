#include "cli/lsp/arguments.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace lynxpp::cli {

CLI::App* add_lsp(CLI::App& app, LspArguments& arguments) {
  CLI::App* const command =
      app.add_subcommand("lsp", "Serve an editor that speaks the language server protocol");
  command->add_flag("--stdio", arguments.stdio, "Says what is so in any case; editors give it");
  command->footer(
      "Diagnostics while a specification is written, completion of labels, extents, functions and names of\n"
      "the file, and what the reference says of the name under the cursor. Editors start the command\n"
      "themselves: editors/README.md says how to tell them.");
  return command;
}

}  // namespace lynxpp::cli
