// Strings in the debug sections of PTX, such as the names of inlined functions.
#pragma once

#include <string>
#include <string_view>

#include "ptx/ir/module.h"

namespace lynxpp::ptx {

/// Returns the string at a label of section .debug_str, where `.loc … function_name LABEL` finds the mangled
/// name of an inlined function. Empty if the module does not define it as bytes. Searches the section: for
/// diagnostics only.
///
///     debug_string(module, "$L__info_string0")  // "_Z4tilePi"
std::string debug_string(const Module& module, std::string_view label);

}  // namespace lynxpp::ptx
