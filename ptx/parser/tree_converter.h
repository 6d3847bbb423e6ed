// Parse tree of one statement ▶ IR. Private to this folder.
#pragma once

#include <string>

#include "ptx/ir/module.h"
#include "ptx/parser/body_builder.h"
#include "support/diagnostic.h"

namespace antlr4::tree {
class ParseTree;
}

namespace lynxpp::ptx {

/// Appends `statement`, a tree of the grammar rule `statement`, to the body. Errors go to `diagnostics`, with
/// `name` as the file name.
void convert_statement(const Module& module, const std::string& name, antlr4::tree::ParseTree& statement,
                       BodyBuilder& builder, Diagnostics& diagnostics);

}  // namespace lynxpp::ptx
