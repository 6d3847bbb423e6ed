#include "cli/lsp/reference.h"

#include <algorithm>
#include <optional>

#include "cli/lsp/text.h"
#include "support/text.h"

namespace lynxpp::cli::lsp {
namespace {

std::string trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return std::string(text);
}

/// Returns the cells of "| a | b |"; "\|" is not a separator.
std::vector<std::string> cells_of(std::string_view row) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 1; i < row.size(); ++i) {
    if (row[i] == '|') {
      cells.push_back(trimmed(cell));
      cell.clear();
    } else {
      if (row[i] == '\\' && i + 1 < row.size() && row[i + 1] == '|') ++i;
      cell += row[i];
    }
  }
  return cells;
}

/// Returns the texts between backquotes.
std::vector<std::string> code_of(std::string_view cell) {
  std::vector<std::string> spans;
  for (std::size_t begin = cell.find('`'); begin != std::string_view::npos; begin = cell.find('`', begin)) {
    const std::size_t end = cell.find('`', begin + 1);
    if (end == std::string_view::npos) break;
    spans.emplace_back(cell.substr(begin + 1, end - begin - 1));
    begin = end + 1;
  }
  return spans;
}

/// Maps "[transfers](#transfers)" to "transfers": links within the document do not work in an editor.
std::string without_links(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t middle = text[i] == '[' ? text.find("](", i) : std::string_view::npos;
    const std::size_t end = middle == std::string_view::npos ? middle : text.find(')', middle);
    const bool is_link = end != std::string_view::npos &&
                         text.substr(i + 1, middle - i - 1).find('[') == std::string_view::npos;
    if (is_link) {
      plain += text.substr(i + 1, middle - i - 1);
      i = end;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// A table that describes names.
struct Table {
  std::vector<std::string> titles;
  std::size_t names = 0;  ///< the column with the names
  Entry::Kind kind = Entry::Kind::function;
};

std::optional<Table> table_of(const std::vector<std::string>& titles) {
  if (std::ranges::count(titles, "cost") == 0) return std::nullopt;
  Table table{titles, 0, Entry::Kind::function};
  for (const auto& [title, kind] :
       {std::pair{"label", Entry::Kind::label}, std::pair{"name", Entry::Kind::extent},
        std::pair{"function", Entry::Kind::function}}) {
    const auto found = std::ranges::find(titles, title);
    if (found == titles.end()) continue;
    table.names = static_cast<std::size_t>(found - titles.begin());
    table.kind = kind;
    return table;
  }
  return std::nullopt;
}

std::string description_of(const Table& table, const std::vector<std::string>& cells) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i == table.names || cells[i].empty()) continue;
    const std::string& title = table.titles[i];
    text += (text.empty() ? "" : "\n\n") + (title == "example" ? "" : title + ": ");
    if (title != "example") {
      text += without_links(cells[i]);
      continue;
    }
    text += "```cod";
    for (const std::string& example : code_of(cells[i])) text += "\n" + example;
    text += "\n```";
  }
  return text;
}

void add_row(const Table& table, const std::vector<std::string>& cells, Reference& found) {
  std::vector<std::string> names;
  for (const std::string& form : code_of(cells[table.names])) {
    const std::string name(form.begin(), std::ranges::find_if_not(form, is_name_character));
    // "sizes[k]" in a table of functions is not a call.
    const bool is_call = form.size() > name.size() && form[name.size()] == '(';
    if (name.empty() || (table.kind == Entry::Kind::function && !is_call)) continue;
    Entry& entry = found[name];
    entry.kind = table.kind;
    if (std::ranges::count(entry.forms, form) == 0) entry.forms.push_back(form);
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  }
  for (const std::string& name : names) {
    std::string& text = found[name].text;
    text += (text.empty() ? "" : "\n\n---\n\n") + description_of(table, cells);
  }
}

}  // namespace

Reference parse_reference(std::string_view markdown) {
  Reference found;
  std::optional<Table> table;
  bool is_in_table = false;
  for (const std::string& line : split(markdown, '\n')) {
    if (!line.starts_with("| ")) {
      is_in_table = false;
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    if (!is_in_table) {
      table = table_of(cells);
      is_in_table = true;
    } else if (table && cells.size() == table->titles.size() && !cells[0].starts_with("---")) {
      add_row(*table, cells, found);
    }
  }
  return found;
}

std::span<const std::string_view> keywords() {
  static constexpr std::string_view words[] = {
      "bool",   "break",   "by",       "case",     "char",     "const",  "continue", "default",   "do",
      "double", "else",    "enum",     "false",    "float",    "for",    "global",   "histogram", "host",
      "if",     "include", "inline",   "int",      "int64_t",  "linear", "log2",     "long",      "map",
      "return", "shared",  "short",    "signed",   "sizeof",   "static", "struct",   "switch",    "trace",
      "true",   "typedef", "uint32_t", "uint64_t", "unsigned", "void",   "while"};
  return words;
}

}  // namespace lynxpp::cli::lsp
