#include "cli/lsp/embedded.h"

namespace lynxpp::cli::lsp {

const Reference& reference() {
  static const Reference parsed = parse_reference(embedded_references().front().text);
  return parsed;
}

}  // namespace lynxpp::cli::lsp
