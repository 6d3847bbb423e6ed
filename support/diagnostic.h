// Diagnostics are data: a severity, a place, a message and a hint. Nothing in lynxpp throws at a user or
// asserts on a user's mistake; functions that can fail return Result<T> (support/result.h) with diagnostics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp {

/// A place in a text. Lines and columns count from 1; line 0 means "no place". Columns count bytes.
struct SourceLocation {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 1;  ///< how many bytes the caret underlines
};

enum class Severity { note, warning, error };

struct Diagnostic {
  Severity severity = Severity::error;
  SourceLocation location;
  std::string message;  ///< lower case, no full stop
  std::string hint;     ///< what to do about it; may be empty
};

using Diagnostics = std::vector<Diagnostic>;

/// "file:line:column: error: message", then the source line and a caret when `source` (the text that
/// location.file names) is given, then "hint: …". Ends with a newline.
std::string render(const Diagnostic& diagnostic, std::string_view source = {});
std::string render(const Diagnostics& diagnostics, std::string_view source = {});

/// The candidate closest to `word` by edit distance, or an empty string when none is close enough to
/// be a plausible misspelling.
std::string closest_match(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace lynxpp
