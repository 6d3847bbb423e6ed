// Parses statements with the ANTLR grammar (Ptx.g4): slow but complete, and the only parser that reports
// errors. Private to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ptx/ir/module.h"
#include "ptx/parser/body_builder.h"
#include "support/diagnostic.h"

namespace lynxpp::ptx {

class GrammarParser {
 public:
  /// Parses between the braces of `function`. All arguments must outlive the parser.
  GrammarParser(const Module& module, const Function& function, const std::string& name,
                BodyBuilder& builder);
  ~GrammarParser();

  /// Parses the statement whose first token begins at `position`, in line `line`; there must be one. Returns
  /// the end of the statement. Errors go to diagnostics(); the statement then ends after the next semicolon.
  std::uint32_t parse_statement(std::uint32_t position, std::uint32_t line);

  /// Errors in the order found.
  const Diagnostics& diagnostics() const;
  std::size_t syntax_errors() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace lynxpp::ptx
