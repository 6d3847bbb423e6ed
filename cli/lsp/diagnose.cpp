#include "cli/lsp/diagnose.h"

#include <algorithm>
#include <cstdint>

#include "cli/lsp/text.h"
#include "cod/specification.h"

namespace lynxpp::cli::lsp {
namespace {

/// Any compute capability that supports the whole language.
constexpr int compute_capability = 80;

void append(Diagnostics& all, const Diagnostics& more) { all.insert(all.end(), more.begin(), more.end()); }

/// Returns where the text first includes a file; no location if it does not.
SourceLocation first_inclusion(const std::string& text) {
  const Text found(text);
  for (const Word& word : found.words()) {
    if (!word.is_at_file_scope || word.text != "include") continue;
    const auto begin = text.begin();
    const auto at = begin + static_cast<std::ptrdiff_t>(word.offset);
    const std::size_t line_begin = text.rfind('\n', word.offset) + 1;  // npos + 1 is 0
    return {"", static_cast<std::uint32_t>(std::count(begin, at, '\n') + 1),
            static_cast<std::uint32_t>(word.offset - line_begin + 1),
            static_cast<std::uint32_t>(word.text.size())};
  }
  return {};
}

}  // namespace

Diagnostics diagnose(const std::string& text, const std::string& path) {
  Diagnostics all;
  const auto specification = cod::compile(text, path, &all);
  if (!specification) {
    append(all, specification.error().diagnostics);
  } else if (const auto code = (*specification)->lower_device({compute_capability}); !code) {
    append(all, code.error().diagnostics);
  } else if (const auto host = (*specification)->compile_host(); !host) {
    append(all, host.error().diagnostics);
  }
  for (Diagnostic& each : all) {
    if (each.location.file.empty() || each.location.file == path) continue;
    const std::string line = each.location.line == 0 ? "" : ":" + std::to_string(each.location.line);
    each.message = each.location.file + line + ": " + each.message;
    each.location = first_inclusion(text);
  }
  return all;
}

}  // namespace lynxpp::cli::lsp
