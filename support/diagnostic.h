// Diagnostics are data: a severity, a location, a message and a hint. lynxpp neither throws nor asserts on a
// user's mistake; functions that can fail return Result<T> (support/result.h) with diagnostics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp {

/// A location in a text. Lines and columns count from 1; line 0 means "no location". Columns count bytes.
struct SourceLocation {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 1;  ///< number of bytes that the caret underlines
};

enum class Severity { note, warning, error };

struct Diagnostic {
  Severity severity = Severity::error;
  SourceLocation location;
  std::string message;  ///< lower case, no full stop
  std::string hint;     ///< suggested fix; may be empty
};

using Diagnostics = std::vector<Diagnostic>;

/// Formats "file:line:column: error: message", then the source line and a caret if `source` (the text of
/// location.file) is given, then "hint: …". Ends with a newline.
std::string render(const Diagnostic& diagnostic, std::string_view source = {});
std::string render(const Diagnostics& diagnostics, std::string_view source = {});

/// Returns the candidate closest to `word` by edit distance, or an empty string if none is close enough to be
/// a plausible misspelling.
std::string closest_match(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace lynxpp
