// PTX text ▶ IR. The scanner splits a module into top-level items and skips bodies; the body of a function is
// parsed on demand. Ptx.g4 defines the syntax of a body; statements of common shapes are parsed by hand, the
// others by the parser that ANTLR generates from the grammar. No ANTLR type is used outside this folder's
// .cpp files.
#pragma once

#include <string>

#include "ptx/ir/module.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Scans a module: version, target, variables, function headers and parameters; no bodies. Drops trailing
/// zero bytes (fatbinary padding). `name` is the file name in diagnostics. Fails with line and column if the
/// text is malformed.
Result<Module> parse_module(std::string text, const std::string& name = "<ptx>");

/// Method of parsing statements. Both produce the same body and the same diagnostics; `grammar` is the
/// reference for tests.
enum class BodyParsing {
  fast,     ///< by hand if possible
  grammar,  ///< every statement with the grammar
};

/// Parses the body of `function` (of `module`) into function.body. Does nothing if the body is already
/// parsed. Precondition: !function.is_declaration().
Status parse_body(const Module& module, Function& function, const std::string& name = "<ptx>",
                  BodyParsing parsing = BodyParsing::fast);

/// Parses every body of the module.
Status parse_all_bodies(Module& module, const std::string& name = "<ptx>");

/// Returns the initial bytes of a variable (all zero without an initialiser).
Result<InitialValue> parse_initial_value(const Module& module, const Variable& variable);

}  // namespace lynxpp::ptx
