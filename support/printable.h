// Text for a terminal: names, paths and texts from programs and records must not control it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lynxpp {

/// Length in bytes of the well-formed UTF-8 sequence at the start of `text`; 0 if it is malformed.
inline std::size_t utf8_length(const char* text, std::size_t bytes) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (bytes == 0) return 0;
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || length > bytes) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
  }
  // Overlong encodings, surrogates, code points beyond U+10FFFF.
  const unsigned second = byte(1);
  const bool is_bad = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0) ||
                      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90);
  return is_bad ? 0 : length;
}

/// True if the sequence of that length may control a terminal: a control character of C0 or C1, or one that
/// changes the direction or the line of the text around it.
inline bool is_control(const char* text, std::size_t length) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (length == 2) return (byte(0) == 0xC2 && byte(1) < 0xA0) || (byte(0) == 0xD8 && byte(1) == 0x9C);
  if (length != 3 || byte(0) != 0xE2) return false;
  const bool is_mark = byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F);            // U+200E, U+200F
  const bool is_line_or_override = byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE;  // U+2028 to U+202E
  const bool is_isolate = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;           // U+2066 to U+2069
  return is_mark || is_line_or_override || is_isolate;
}

/// Returns the text on one line: controls and bytes that are not UTF-8 become '?'.
std::string printable(std::string_view text);

/// The same, but preserves newlines and tabs.
std::string printable_lines(std::string_view text);

}  // namespace lynxpp
