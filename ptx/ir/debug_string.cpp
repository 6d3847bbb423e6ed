#include "ptx/ir/debug_string.h"

#include <charconv>
#include <optional>

namespace lynxpp::ptx {
namespace {

/// Returns the text after `label:`; nullopt if the section does not define the label.
std::optional<std::string_view> text_after(std::string_view section, std::string_view label) {
  for (std::size_t at = section.find(label); at != std::string_view::npos; at = section.find(label, at + 1)) {
    const std::size_t end = at + label.size();
    const bool begins = at == 0 || std::string_view(" \t\n{").find(section[at - 1]) != std::string_view::npos;
    if (begins && end < section.size() && section[end] == ':') return section.substr(end + 1);
  }
  return std::nullopt;
}

/// Reads `.b8 95,90,0` directives up to the zero; nullopt if anything else comes first.
std::optional<std::string> read_bytes(std::string_view text) {
  constexpr std::string_view directive = ".b8";
  std::string bytes;
  bool is_value_next = false;
  for (std::size_t at = 0; at < text.size();) {
    const char next = text[at];
    if (next == ' ' || next == '\t' || next == '\r' || next == '\n') {
      ++at;
    } else if (next == ',') {
      is_value_next = true;
      ++at;
    } else if (text.substr(at).starts_with(directive)) {
      is_value_next = true;
      at += directive.size();
    } else {
      unsigned value = 0;
      const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
      if (!is_value_next || error != std::errc() || value > 255) return std::nullopt;
      if (value == 0) return bytes;
      bytes += static_cast<char>(value);
      is_value_next = false;
      at = static_cast<std::size_t>(end - text.data());
    }
  }
  return std::nullopt;
}

}  // namespace

std::string debug_string(const Module& module, std::string_view label) {
  if (label.empty()) return "";
  for (const Item& item : module.items) {
    if (item.kind != ItemKind::directive || item.name != ".section") continue;
    const auto text = text_after(module.text(item.text), label);
    if (text) return read_bytes(*text).value_or("");
  }
  return "";
}

}  // namespace lynxpp::ptx
