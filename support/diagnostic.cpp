#include "support/diagnostic.h"

#include <algorithm>

#include "support/printable.h"
#include "support/spelling.h"

namespace lynxpp {
namespace {

std::string_view line_of(std::string_view source, std::uint32_t line) {
  std::size_t begin = 0;
  for (std::uint32_t current = 1; current < line; ++current) {
    begin = source.find('\n', begin);
    if (begin == std::string_view::npos) return {};
    ++begin;
  }
  return source.substr(begin, source.find('\n', begin) - begin);
}

/// Returns the line with the location marked below it; for a long line, only the surroundings of the
/// location.
std::string quote_line(std::string_view line, const SourceLocation& place) {
  constexpr std::size_t longest = 240;
  std::size_t before = place.column == 0 ? 0 : std::min<std::size_t>(place.column - 1, line.size());
  if (line.size() > longest) {
    const std::size_t skipped = std::min(before - std::min(before, longest / 2), line.size() - longest);
    line = line.substr(skipped, longest);
    before -= skipped;
  }
  std::string text = "  " + std::string(line) + "\n  ";
  for (const char c : line.substr(0, before)) text += c == '\t' ? '\t' : ' ';
  const std::size_t marked = std::min<std::size_t>(place.length, longest);
  return text + "^" + std::string(marked > 1 ? marked - 1 : 0, '~') + "\n";
}

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: break;
  }
  return "error";
}

}  // namespace

std::string render(const Diagnostic& diagnostic, std::string_view source) {
  std::string text;
  const SourceLocation& place = diagnostic.location;
  if (!place.file.empty()) {
    text += place.file + ":";
    if (place.line != 0) {
      text += std::to_string(place.line) + ":" + std::to_string(place.column) + ":";
    }
    text += " ";
  }
  text += std::string(name_of(diagnostic.severity)) + ": " + diagnostic.message + "\n";
  if (place.line != 0 && !source.empty()) {
    text += quote_line(line_of(source, place.line), place);
  }
  if (!diagnostic.hint.empty()) text += "  hint: " + diagnostic.hint + "\n";
  return printable_lines(text);
}

std::string render(const Diagnostics& diagnostics, std::string_view source) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += render(diagnostic, source);
  return text;
}

std::string closest_match(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace lynxpp
