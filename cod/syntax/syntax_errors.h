// Turns ANTLR's errors into diagnostics in the user's terms. Included by parser.cpp only: exposes ANTLR
// types.
#pragma once

#include <set>
#include <string>

#include "antlr4-runtime.h"
#include "cod/syntax/ast.h"
#include "support/diagnostic.h"

namespace lynxpp::cod {

/// Collects at most a screenful of syntax errors.
class SyntaxErrors final : public antlr4::BaseErrorListener {
 public:
  explicit SyntaxErrors(const std::vector<SourceFile>& files) : files_(files) {}

  /// The file of the tokens that come next, an index into the list of files.
  std::uint32_t file() const { return file_; }
  void set_file(std::uint32_t file) { file_ = file; }

  void syntaxError(antlr4::Recognizer* recognizer, antlr4::Token* offending, std::size_t line,
                   std::size_t column, const std::string& message, std::exception_ptr error) override;

  Position position_of(antlr4::Token* token) const;
  void add(antlr4::Token* token, std::string message, std::string hint = {});
  void add(const Position& position, std::string message, std::string hint = {});

  /// Typedef names so far, candidates for "did you mean".
  std::set<std::string> typedef_names;

  Diagnostics diagnostics;

 private:
  bool follows_error(antlr4::Parser& parser, antlr4::Token* offending);
  bool add_open_brace(antlr4::Parser& parser, antlr4::Token* offending);
  bool add_unknown_type(antlr4::Parser& parser, antlr4::Token* offending);
  bool add_unknown_type_before(antlr4::TokenStream& tokens, antlr4::Token* offending);

  const std::vector<SourceFile>& files_;
  std::uint32_t file_ = 0;
  bool has_error_ = false;
  std::size_t last_line_ = 0;
  antlr4::ParserRuleContext* last_item_ = nullptr;  ///< that contains the last error; only compared
};

}  // namespace lynxpp::cod
