// Parse tree of one statement ▶ IR. Inside this folder only.
#pragma once

#include <string>

#include "ptx/ir/module.h"
#include "ptx/parser/body_builder.h"
#include "support/diagnostic.h"

namespace antlr4::tree {
class ParseTree;
}

namespace lynxpp::ptx {

/// Appends `statement`, the tree of the grammar rule of that name, to the body. What is wrong with it goes to
/// `diagnostics`, with `name` as the file.
void convert_statement(const Module& module, const std::string& name, antlr4::tree::ParseTree& statement,
                       BodyBuilder& builder, Diagnostics& diagnostics);

}  // namespace lynxpp::ptx
