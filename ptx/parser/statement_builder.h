// Parse tree of one statement ▶ IR. Inside this folder only.
#pragma once

#include <string>

#include "ptx/ir/module.h"
#include "support/diagnostic.h"

namespace antlr4::tree {
class ParseTree;
}

namespace lynxpp::ptx {

/// Appends statements to a body in textual order and keeps track of scopes and of the `.loc` in force.
class StatementBuilder {
 public:
  /// `body` gets scope 0. All three must outlive the builder.
  StatementBuilder(const Module& module, const std::string& name, Body& body);

  /// `statement`: the tree of the grammar rule of that name. False when it had errors; they are in diagnostics().
  bool add(antlr4::tree::ParseTree* statement);
  /// Closes scope 0 and indexes the names.
  void finish();

  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  class Converter;

  const Module& module_;
  const std::string& name_;
  Body& body_;
  std::uint32_t scope_ = 0;
  std::uint32_t source_file_ = 0;
  std::uint32_t source_line_ = 0;
  Diagnostics diagnostics_;
};

}  // namespace lynxpp::ptx
