#include "cli/lsp/definition.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <vector>

#include "support/text.h"

namespace lynxpp::cli::lsp {
namespace {

Position position_at(const Text& text, std::string_view whole, std::size_t offset) {
  const std::string_view before = whole.substr(0, offset);
  const auto line = static_cast<std::size_t>(std::ranges::count(before, '\n'));
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return text.position_of(line + 1, offset - line_begin + 1);
}

Definition at_word(const Text& text, std::string_view whole, const Word& word) {
  return {
      {}, position_at(text, whole, word.offset), position_at(text, whole, word.offset + word.text.size())};
}

/// True if only spaces and stars separate the word from a previous word, its type.
bool follows_type(std::string_view whole, const Word& before, const Word& word) {
  const std::size_t end = before.offset + before.text.size();
  const std::string_view between = whole.substr(end, word.offset - end);
  return before.text != "return" && !between.empty() && between.find_first_not_of(" \t\r\n*") == between.npos;
}

/// Returns the first occurrence of the name in the enclosing braces and parentheses: names are declared
/// before use.
const Word* local_declaration(const Text& text, std::string_view whole, const Word& word) {
  const std::vector<Word>& words = text.words();
  const auto here = static_cast<std::size_t>(&word - words.data());
  std::size_t first = here;
  while (first > 0 && !words[first - 1].is_at_file_scope) --first;
  for (std::size_t i = first; i <= here; ++i) {
    if (words[i].text != word.text) continue;
    return i > 0 && follows_type(whole, words[i - 1], words[i]) ? &words[i] : nullptr;
  }
  return nullptr;
}

const Word* file_declaration(const Text& text, std::string_view name) {
  const auto found = std::ranges::find_if(
      text.words(), [name](const Word& each) { return each.is_at_file_scope && each.text == name; });
  return found == text.words().end() ? nullptr : &*found;
}

/// For enumerators and later variables of a declaration in a handler: returns the first occurrence of all.
const Word* any_declaration(const Text& text, std::string_view name, const Word& word) {
  const auto found =
      std::ranges::find_if(text.words(), [name](const Word& each) { return each.text == name; });
  return found == text.words().end() || found->offset > word.offset ? nullptr : &*found;
}

/// Returns the paths of the files that the text includes.
std::vector<std::string> included_by(const Text& text, std::string_view whole, const std::string& path) {
  std::vector<std::string> paths;
  for (const Word& word : text.words()) {
    if (!word.is_at_file_scope || word.text != "include") continue;
    const std::size_t open = whole.find_first_not_of(" \t", word.offset + word.text.size());
    if (open == whole.npos || whole[open] != '"') continue;
    const std::size_t close = whole.find('"', open + 1);
    if (close == whole.npos) continue;
    const std::filesystem::path name(whole.substr(open + 1, close - open - 1));
    paths.push_back((std::filesystem::path(path).parent_path() / name).lexically_normal().string());
  }
  return paths;
}

std::optional<Definition> in_included(const Text& text, std::string_view whole, const std::string& path,
                                      std::string_view name, std::set<std::string>& seen) {
  for (const std::string& each : included_by(text, whole, path)) {
    std::string content;
    if (!seen.insert(each).second || !read_file(each, content)) continue;
    const Text other(content);
    if (const Word* const found = file_declaration(other, name)) {
      Definition definition = at_word(other, content, *found);
      definition.path = each;
      return definition;
    }
    if (auto deeper = in_included(other, content, each, name, seen)) return deeper;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Definition> definition_at(const std::string& text, std::size_t offset,
                                        const std::string& path) {
  const Text found(text);
  const Word* const word = found.word_at(offset);
  if (word == nullptr) return std::nullopt;
  if (!word->is_at_file_scope) {
    if (const Word* const local = local_declaration(found, text, *word)) return at_word(found, text, *local);
  }
  if (const Word* const declared = file_declaration(found, word->text))
    return at_word(found, text, *declared);
  std::set<std::string> seen;
  if (auto included = in_included(found, text, path, word->text, seen)) return included;
  const Word* const any = any_declaration(found, word->text, *word);
  return any == nullptr ? std::nullopt : std::optional(at_word(found, text, *any));
}

}  // namespace lynxpp::cli::lsp
