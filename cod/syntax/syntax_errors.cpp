#include "cod/syntax/syntax_errors.h"

#include "CodLexer.h"
#include "CodParser.h"

namespace lynxpp::cod {
namespace {

constexpr std::size_t maximum_errors = 20;

constexpr const char* type_words[] = {"const",    "void",     "bool",     "char",    "short",   "int",
                                      "long",     "signed",   "unsigned", "float",   "double",  "struct",
                                      "enum",     "int8_t",   "int16_t",  "int32_t", "int64_t", "uint8_t",
                                      "uint16_t", "uint32_t", "uint64_t", "size_t",  "static",  "typedef"};

std::string text_of(antlr4::Token* token) {
  if (token->getType() == antlr4::Token::EOF) return "the end of the file";
  std::string text = token->getText();
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return "'" + text + "'";
}

/// The text that a user would write there: the token itself, or the kind of word.
std::string expected_name(const antlr4::dfa::Vocabulary& vocabulary, std::size_t type) {
  switch (type) {
    case grammar::CodParser::Identifier: return "a name";
    case antlr4::Token::EOF: return "the end of the file";
    default: return vocabulary.getDisplayName(type);
  }
}

std::string expected_tokens(antlr4::Parser& parser) {
  const antlr4::misc::IntervalSet expected = parser.getExpectedTokens();
  if (expected.size() == 0 || expected.size() > 3) return {};
  std::string text;
  for (const auto type : expected.toList()) {
    if (!text.empty()) text += " or ";
    text += expected_name(parser.getVocabulary(), static_cast<std::size_t>(type));
  }
  return text;
}

std::string reserved_hint(const std::string& word) {
  if (word == "goto") return "use loops, if, switch, break and return";
  if (word == "union") return "use a struct, or a cast between integer types";
  return "remove it";
}

/// The indentation of the token's line: the column of its first token.
std::size_t indentation_of(antlr4::TokenStream& tokens, antlr4::Token* token) {
  std::size_t index = token->getTokenIndex();
  while (index > 0 && tokens.get(index - 1)->getLine() == token->getLine()) --index;
  return tokens.get(index)->getCharPositionInLine();
}

/// Returns the unmatched opening brace before token `end`; null if all are matched. If a closing brace is
/// missing, indentation decides: the brace with the smaller column belongs to an outer block.
antlr4::Token* open_brace(antlr4::TokenStream& tokens, std::size_t end) {
  std::vector<antlr4::Token*> open;
  antlr4::Token* forgotten = nullptr;
  for (std::size_t i = 0; i < end; ++i) {
    antlr4::Token* const token = tokens.get(i);
    if (token->getText() == "{") open.push_back(token);
    if (token->getText() != "}" || open.empty()) continue;
    const bool begins_line = i == 0 || tokens.get(i - 1)->getLine() != token->getLine();
    if (begins_line && open.size() > 1 && forgotten == nullptr &&
        indentation_of(tokens, open.back()) > token->getCharPositionInLine())
      forgotten = open.back();
    open.pop_back();
  }
  if (open.empty()) return nullptr;
  return forgotten != nullptr ? forgotten : open.back();
}

/// The construct at file scope that the parser is in; null between constructs.
antlr4::ParserRuleContext* item_of(antlr4::Parser& parser) {
  antlr4::RuleContext* context = parser.getContext();
  while (context != nullptr && context->getRuleIndex() != grammar::CodParser::RuleItem)
    context = dynamic_cast<antlr4::RuleContext*>(context->parent);
  return dynamic_cast<antlr4::ParserRuleContext*>(context);
}

}  // namespace

bool SyntaxErrors::add_open_brace(antlr4::Parser& parser, antlr4::Token* offending) {
  antlr4::TokenStream& tokens = *parser.getTokenStream();
  const bool is_end = offending->getType() == antlr4::Token::EOF;
  const std::size_t at = is_end ? tokens.size() : offending->getTokenIndex();
  antlr4::Token* const before = at == 0 ? nullptr : tokens.get(at - 1);
  const bool is_label =
      !is_end && offending->getText() == ":" && before != nullptr && before->getText().starts_with("ON_");
  antlr4::Token* const open = is_end || is_label ? open_brace(tokens, at) : nullptr;
  if (open == nullptr) return false;
  add(open, "this '{' is never closed",
      is_end ? std::string()
             : before->getText() + " on line " + std::to_string(before->getLine()) + " is inside it");
  return true;
}

/// Reports one error per construct at file scope: during error recovery, further unexpected tokens are not
/// the user's mistakes. Leftover braces then appear between constructs.
bool SyntaxErrors::follows_error(antlr4::Parser& parser, antlr4::Token* offending) {
  antlr4::ParserRuleContext* item = item_of(parser);
  const bool is_same_line = offending->getLine() == last_line_;
  last_line_ = offending->getLine();
  const bool is_left_over = item == nullptr || offending->getText() == "}" || item->getStart() == offending;
  const bool follows = has_error_ && (item == last_item_ || is_left_over || is_same_line);
  has_error_ = true;
  if (!follows) last_item_ = item;
  return follows;
}

/// Handles `adress x`, two names in a row at the start of a statement, and, if a type has a similar name,
/// `f(adress x)` and `(adress)x`. The parser fails at the second name, or at the first one if only a type is
/// allowed there.
bool SyntaxErrors::add_unknown_type(antlr4::Parser& parser, antlr4::Token* offending) {
  antlr4::TokenStream& tokens = *parser.getTokenStream();
  antlr4::Token* next =
      offending->getType() == antlr4::Token::EOF ? offending : tokens.get(offending->getTokenIndex() + 1);
  const bool is_first = offending->getType() == grammar::CodParser::Identifier &&
                        next->getType() == grammar::CodParser::Identifier;
  return (is_first && add_unknown_type_before(tokens, next)) || add_unknown_type_before(tokens, offending);
}

bool SyntaxErrors::add_unknown_type_before(antlr4::TokenStream& tokens, antlr4::Token* offending) {
  const auto before = [&](std::size_t distance) -> antlr4::Token* {
    const std::size_t index = offending->getTokenIndex();
    return index < distance ? nullptr : tokens.get(index - distance);
  };
  const auto text_before = [&](std::size_t distance) {
    return before(distance) == nullptr ? std::string(";") : before(distance)->getText();
  };
  const bool is_cast = text_before(1) == ")" && text_before(3) == "(";
  antlr4::Token* word = before(is_cast ? 2 : 1);
  const bool is_value = offending->getType() == grammar::CodParser::Identifier ||
                        offending->getType() == grammar::CodParser::Integer ||
                        offending->getType() == grammar::CodParser::Floating;
  if (word == nullptr || word->getType() != grammar::CodParser::Identifier || !is_value) return false;
  if (!is_cast && offending->getType() != grammar::CodParser::Identifier) return false;
  std::vector<std::string> names(std::begin(type_words), std::end(type_words));
  names.insert(names.end(), typedef_names.begin(), typedef_names.end());
  const std::string match = closest_match(word->getText(), names);
  const std::string previous = text_before(2);
  const bool begins = !is_cast && (previous == ";" || previous == "{" || previous == "}" || previous == ":");
  if (match.empty() && !begins) return false;
  add(word, "unknown type name '" + word->getText() + "'",
      match.empty() ? "use 'unsigned long', 'int', 'double' or another type, or declare it with 'typedef'"
                    : "did you mean '" + match + "'?");
  return true;
}

Position SyntaxErrors::position_of(antlr4::Token* token) const {
  std::uint32_t length = 1;
  if (token->getType() != antlr4::Token::EOF && token->getStopIndex() >= token->getStartIndex())
    length = static_cast<std::uint32_t>(token->getStopIndex() - token->getStartIndex() + 1);
  return {static_cast<std::uint32_t>(token->getLine()),
          static_cast<std::uint32_t>(token->getCharPositionInLine() + 1), length, file_};
}

void SyntaxErrors::add(antlr4::Token* token, std::string message, std::string hint) {
  add(position_of(token), std::move(message), std::move(hint));
}

void SyntaxErrors::add(const Position& position, std::string message, std::string hint) {
  if (diagnostics.size() >= maximum_errors) return;
  diagnostics.push_back(
      {Severity::error, location_of(files_, position), std::move(message), std::move(hint)});
}

void SyntaxErrors::syntaxError(antlr4::Recognizer* recognizer, antlr4::Token* offending, std::size_t line,
                               std::size_t column, const std::string& message, std::exception_ptr) {
  if (offending == nullptr) {
    if (diagnostics.size() < maximum_errors) {
      const Position place{static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(column + 1), 1,
                           file_};
      diagnostics.push_back({Severity::error, location_of(files_, place), message, ""});
    }
    return;
  }
  auto* parser = dynamic_cast<antlr4::Parser*>(recognizer);
  if (parser != nullptr && follows_error(*parser, offending)) return;
  if (parser != nullptr && add_open_brace(*parser, offending)) return;
  if (offending->getType() == grammar::CodParser::Reserved) {
    const std::string word = offending->getText();
    return add(offending, "'" + word + "' is not part of the language", reserved_hint(word));
  }
  if (offending->getText() == "#") {
    return add(offending, "preprocessor directives are not supported",
               "write 'include \"file.cod\"', and 'const' or 'enum' for constants");
  }
  const std::string expected = parser != nullptr ? expected_tokens(*parser) : std::string();
  if (offending->getText().starts_with("\"") && offending->getType() == grammar::CodParser::Unknown)
    return add(offending, "unterminated string", "terminate it with '\"' on the same line");
  if (parser != nullptr && add_unknown_type(*parser, offending)) return;
  add(offending, "unexpected " + text_of(offending), expected.empty() ? "" : "expected " + expected);
}

}  // namespace lynxpp::cod
