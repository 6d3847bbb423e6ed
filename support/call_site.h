// Location in the program of a call to a CUDA function, in a form that users recognise.
#pragma once

#include <string_view>

#include "support/call_stack.h"

namespace lynxpp {

struct CallSite {
  /// "read_input(char const*)+0x4f" if the program's file or its symbol table names the function; otherwise
  /// "program+0x11a3", which `addr2line -e program` accepts; "0x7f…" if the code is in no file. Offsets point
  /// into the call.
  std::string_view caller;
  /// The caller and its callers, which distinguishes allocations that a function makes for others:
  /// "Array::Array(int)+0x2a < main+0x4f". Ends where the captured stack ends, at the latest at main.
  std::string_view chain;
};

/// Returns the program's call that reached the stack's innermost frame: the caller of the outermost frame
/// that is in libcuda or libcudart, or in a function with the name of a CUDA function (of a statically linked
/// runtime, or a template of its header).
///
/// The texts are created once for each stack and live until the process ends. Empty for an empty stack.
/// Thread safe.
CallSite call_site(const CallStack& stack);

/// Returns the name of the function that contains a return address, without return type, template arguments
/// and parameters: "app::reduce" for "int app::reduce<int>(int const*, int)". Empty if no symbol table names
/// it. Lives until the process ends; looked up once for each address. Thread safe.
std::string_view function_name(const void* return_address);

}  // namespace lynxpp
