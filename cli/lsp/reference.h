// The language reference's (docs/cod-reference.md) descriptions of labels, extents and functions.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lynxpp::cli::lsp {

struct Entry {
  enum class Kind { label, extent, function };
  Kind kind = Kind::function;
  std::vector<std::string> forms;  ///< as the tables write them: "atomicAdd(&a[i], x)"
  std::string text;                ///< Markdown: its effect, where it may be used, its cost, an example
};

/// Entries by name: "ON_KERNEL_ENTRY", "MEM_READ", "WARPS", "warpSum".
using Reference = std::map<std::string, Entry, std::less<>>;

Reference parse_reference(std::string_view markdown);

/// Returns words of the language that are in no table: types and statements.
std::span<const std::string_view> keywords();

}  // namespace lynxpp::cli::lsp
