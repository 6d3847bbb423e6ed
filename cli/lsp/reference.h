// What the reference of the language (docs/cod-reference.md) says of labels, extents and functions.
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
  std::string text;                ///< Markdown: what it does, where, what it costs, an example
};

/// By name: "ON_KERNEL_ENTRY", "MEM_READ", "WARPS", "warpSum".
using Reference = std::map<std::string, Entry, std::less<>>;

Reference parse_reference(std::string_view markdown);

/// Words of the language that no table has: types and statements.
std::span<const std::string_view> keywords();

}  // namespace lynxpp::cli::lsp
