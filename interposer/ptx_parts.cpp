#include "interposer/ptx_parts.h"

#include <algorithm>
#include <string>

#include "support/text.h"

namespace lynxpp::interposer {
namespace {

/// The lines of a text that are kept.
class KeptLines {
 public:
  explicit KeptLines(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      lines_.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    is_kept_.resize(lines_.size());
  }

  /// Keeps the lines from the beginning of the function to its closing brace. Lines are numbered from 0;
  /// those past the end of the text are ignored.
  void keep_function_around(std::size_t first, std::size_t last) {
    if (last >= lines_.size()) return;
    const auto begins = [](std::string_view line) {
      return line.find(".entry") != std::string_view::npos || line.find(".func") != std::string_view::npos;
    };
    while (first > 0 && !begins(lines_[first])) --first;
    while (last + 1 < lines_.size() && !lines_[last].starts_with('}')) ++last;
    keep(first, last);
  }

  void keep_lines_that_begin_with(std::string_view word) {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (trim(lines_[i]).starts_with(word)) is_kept_[i] = true;
    }
  }

  void keep_section(std::string_view name) {
    for (std::size_t first = 0; first < lines_.size(); ++first) {
      const std::string_view line = trim(lines_[first]);
      if (!line.starts_with(".section") || line.find(name) == std::string_view::npos) continue;
      std::size_t last = first;
      while (last + 1 < lines_.size() && !trim(lines_[last]).ends_with('}')) ++last;
      keep(first, last);
    }
  }

  bool holds(std::string_view word) const {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (is_kept_[i] && lines_[i].find(word) != std::string_view::npos) return true;
    }
    return false;
  }

  std::vector<report::SitesRecord::PtxPart> parts() const {
    std::vector<report::SitesRecord::PtxPart> parts;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (!is_kept_[i]) continue;
      if (i == 0 || !is_kept_[i - 1]) parts.push_back({i + 1, {}});
      parts.back().text.append(lines_[i]).append("\n");
    }
    return parts;
  }

 private:
  void keep(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i) is_kept_[i] = true;
  }

  std::vector<std::string_view> lines_;
  std::vector<bool> is_kept_;
};

}  // namespace

std::vector<report::SitesRecord::PtxPart> ptx_parts(std::string_view ptx, const cod::SiteTable& sites) {
  KeptLines lines(ptx);
  for (std::size_t function = 0; function < sites.functions.size(); ++function) {
    std::size_t first = SIZE_MAX;
    std::size_t last = 0;
    for (const cod::SiteTable::Instruction& each : sites.instructions) {
      if (sites.blocks[each.block].function != function || each.ptx_line == 0) continue;
      first = std::min<std::size_t>(first, each.ptx_line - 1);
      last = std::max<std::size_t>(last, each.ptx_line - 1);
    }
    if (first <= last) lines.keep_function_around(first, last);
  }
  lines.keep_lines_that_begin_with(".file");
  if (lines.holds("inlined_at")) lines.keep_section(".debug_str");
  return lines.parts();
}

}  // namespace lynxpp::interposer
