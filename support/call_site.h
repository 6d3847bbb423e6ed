// Where in the program a call of a CUDA function stands, for its user to recognise.
#pragma once

#include <string_view>

#include "support/call_stack.h"

namespace lynxpp {

struct CallSite {
  /// "read_input(char const*)+0x4f" where the program's file, or its symbol table, names the function; else
  /// "program+0x11a3", which `addr2line -e program` takes; "0x7f…" when the code is in no file. Offsets point
  /// into the call.
  std::string_view caller;
  /// The caller and what called it, which tells apart what a function of the program allocates for others:
  /// "Array::Array(int)+0x2a < main+0x4f". As far as the stack was captured, and no further than main.
  std::string_view chain;
};

/// The program's call that led to the stack's innermost frame: the one behind the outermost frame of the
/// stack that lies in libcuda or libcudart, or in a function that is called as CUDA's are: those of a runtime
/// that is linked statically, and the templates of its header.
///
/// The texts are made once for each stack and live until the process ends. Empty for an empty stack. Thread
/// safe.
CallSite call_site(const CallStack& stack);

/// The name of the function that a return address lies in, without its return type, template arguments and
/// parameters: "app::reduce" of "int app::reduce<int>(int const*, int)". Empty when no symbol table names it.
/// Lives until the process ends; looked up once for each address. Thread safe.
std::string_view function_name(const void* return_address);

}  // namespace lynxpp
