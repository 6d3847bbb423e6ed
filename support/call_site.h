// Where in the program a call of a CUDA function stands, for its user to recognise.
#pragma once

#include <string_view>

#include "support/call_stack.h"

namespace lynxpp {

/// "read_input(char const*)+0x4f" where the program's file, or its symbol table, names the function; else
/// "program+0x11a3", which `addr2line -e program` takes; "0x7f…" when the code is in no file. Offsets point
/// into the call. It is the call behind the outermost frame of the stack that lies in libcuda or libcudart, or
/// in a function that is called as CUDA's are: those of a runtime that is linked statically, and the templates
/// of its header.
///
/// The text is made once for each stack and lives until the process ends. Empty for an empty stack. Thread
/// safe.
std::string_view call_site(const CallStack& stack);

}  // namespace lynxpp
