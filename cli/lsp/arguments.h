// The command line of `lynxpp lsp`.
#pragma once

namespace CLI {
class App;
}  // namespace CLI

namespace lynxpp::cli {

/// `lynxpp lsp`.
struct LspArguments {
  bool stdio = false;  ///< ignored: standard input and output are always used
};

CLI::App* add_lsp(CLI::App& app, LspArguments& arguments);

}  // namespace lynxpp::cli
