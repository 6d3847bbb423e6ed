#include "support/printable.h"

namespace lynxpp {
namespace {

std::string cleaned(std::string_view text, bool keeps_lines) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = utf8_length(text.data(), text.size());
    const bool is_kept =
        keeps_lines && (text.front() == '\n' || text.front() == '\t' || text.starts_with("\r\n"));
    const bool is_replaced = length == 0 || (is_control(text.data(), length) && !is_kept);
    if (length == 0) length = 1;
    if (is_replaced) {
      clean += '?';
    } else {
      clean += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return clean;
}

}  // namespace

std::string printable(std::string_view text) { return cleaned(text, false); }

std::string printable_lines(std::string_view text) { return cleaned(text, true); }

}  // namespace lynxpp
