#include "report/kernel_name.h"

#include <algorithm>
#include <map>
#include <set>

namespace lynxpp::report {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0u) == 0x80u; }

/// Maps "void f<int>(int*)" to "void f<int>".
std::string_view without_parameters(std::string_view name) {
  if (!name.ends_with(')')) return name;
  std::size_t depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i == 0 ? name : name.substr(0, i);
  }
  return name;
}

std::string without_template_arguments(std::string_view name) {
  std::string text;
  std::size_t depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_arrow = name[i] == '>' && i > 0 && name[i - 1] == '-';
    if (name[i] == '<') {
      if (depth == 0) text += "<...";
      ++depth;
    } else if (name[i] == '>' && !is_arrow && depth > 0) {
      --depth;
    }
    if (depth == 0) text += name[i];
  }
  return text;
}

/// Keeps the first and the last characters, which distinguish most names.
std::string cut_in_the_middle(const std::string& name, std::size_t width) {
  constexpr std::string_view dots = "...";
  if (width <= dots.size()) return std::string(dots.substr(0, width));
  const std::size_t head = (width - dots.size() + 1) / 2;
  const std::size_t tail = width - dots.size() - head;
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_continuation(name[i])) starts.push_back(i);
  }
  return name.substr(0, starts[head]) + std::string(dots) +
         (tail == 0 ? std::string() : name.substr(starts[starts.size() - tail]));
}

}  // namespace

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

std::string without_signature(const std::string& demangled) {
  std::string_view plain = without_parameters(demangled);
  if (plain.starts_with("void ")) plain.remove_prefix(5);
  return std::string(plain);
}

std::string short_kernel_name(const std::string& demangled, std::size_t width) {
  std::string name = printable(demangled);
  if (width_of(name) <= width) return name;
  const std::string plain = without_signature(name);
  if (width_of(plain) <= width) return plain;
  const std::string brief = without_template_arguments(plain);
  return width_of(brief) <= width ? brief : cut_in_the_middle(brief, width);
}

std::string base_name(const std::string& demangled) {
  std::string name = without_signature(demangled);
  name.resize(std::min(name.find('<'), name.size()));
  return name.substr(name.find_last_of(" :") + 1);
}

ShortNames short_kernel_names(const std::vector<std::string>& demangled, std::size_t width) {
  ShortNames result;
  std::map<std::string, std::set<std::string>> owners;
  for (const std::string& name : demangled) {
    result.names.push_back(short_kernel_name(name, width));
    owners[result.names.back()].insert(name);
  }
  std::map<std::string, std::size_t> marks;
  for (std::size_t i = 0; i < demangled.size(); ++i) {
    if (owners[result.names[i]].size() < 2) continue;
    const auto [mark, is_new] = marks.try_emplace(demangled[i], marks.size() + 1);
    const std::string suffix = "[" + std::to_string(mark->second) + "]";
    const std::size_t room = width > suffix.size() + 1 ? width - suffix.size() - 1 : 1;
    result.names[i] = short_kernel_name(demangled[i], room) + " " + suffix;
    if (is_new) result.legend.push_back(suffix + " " + printable(demangled[i]));
  }
  return result;
}

}  // namespace lynxpp::report
