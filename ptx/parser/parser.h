// PTX text ▶ IR. The scanner cuts a module into top-level items without looking into bodies; the body of a
// function is parsed when it is wanted. Ptx.g4 says what a body is; statements of the common shapes are read
// by hand, the others by the parser that ANTLR makes of the grammar. No ANTLR type leaves this folder's .cpp
// files.
#pragma once

#include <string>

#include "ptx/ir/module.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Scans a module: version, target, variables, function headers and parameters; no bodies. Trailing zero
/// bytes (fatbinary padding) are dropped. `name` stands in diagnostics as the file. Failure: malformed text,
/// with line and column.
Result<Module> parse_module(std::string text, const std::string& name = "<ptx>");

/// How statements are parsed. Both give the same body and the same diagnostics; `grammar` is the reference
/// that tests compare with.
enum class BodyParsing {
  fast,     ///< by hand where that is possible
  grammar,  ///< every statement by the grammar
};

/// Parses the body of `function` (of `module`) into function.body. Does nothing when it is already there.
/// Precondition: !function.is_declaration().
Status parse_body(const Module& module, Function& function, const std::string& name = "<ptx>",
                  BodyParsing parsing = BodyParsing::fast);

/// Every body of the module.
Status parse_all_bodies(Module& module, const std::string& name = "<ptx>");

/// The bytes of a variable's initialiser (all zero when there is none).
Result<InitialValue> parse_initial_value(const Module& module, const Variable& variable);

}  // namespace lynxpp::ptx
