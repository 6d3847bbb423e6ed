// ANTLR's complaints ▶ diagnostics in the user's words. Included by parser.cpp only: it shows ANTLR types.
#pragma once

#include <string>

#include "antlr4-runtime.h"
#include "support/diagnostic.h"

namespace lynxpp::cod {

/// Collects at most a screenful of syntax errors.
class SyntaxErrors final : public antlr4::BaseErrorListener {
 public:
  explicit SyntaxErrors(std::string file) : file_(std::move(file)) {}

  void syntaxError(antlr4::Recognizer* recognizer, antlr4::Token* offending, std::size_t line,
                   std::size_t column, const std::string& message, std::exception_ptr error) override;

  SourceLocation location_of(antlr4::Token* token) const;
  void add(antlr4::Token* token, std::string message, std::string hint = {});

  Diagnostics diagnostics;

 private:
  bool follows_error(antlr4::Parser& parser, antlr4::Token* offending);

  std::string file_;
  bool has_error_ = false;
  std::size_t last_line_ = 0;
  antlr4::ParserRuleContext* last_item_ = nullptr;  ///< with the last error; compared only
};

}  // namespace lynxpp::cod
