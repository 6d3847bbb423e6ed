// The return addresses on a thread's stack, outwards from a call. Header only and without memory allocation,
// for the preload library's sake too.
#pragma once

#include <unwind.h>

namespace lynxpp {

struct CallStack {
  static constexpr unsigned limit = 8;
  const void* frames[limit] = {};  ///< return addresses, the innermost first
  unsigned depth = 0;              ///< how many of them are there
};

/// The frames from `innermost`, a return address on this thread's stack, outwards: `innermost` alone where
/// the stack cannot be unwound. What is further in, such as the caller of this function, is left out. Some
/// 100 ns for each frame.
///
///     CallStack stack = capture_call_stack(__builtin_return_address(0));
inline CallStack capture_call_stack(const void* innermost) {
  struct Walk {
    const void* innermost;
    CallStack stack;
    unsigned passed = 0;
  } walk{innermost, {}};
  constexpr unsigned most_passed = 16;
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* argument) {
        auto& walked = *static_cast<Walk*>(argument);
        CallStack& stack = walked.stack;
        const auto* const address = reinterpret_cast<const void*>(_Unwind_GetIP(context));
        if (stack.depth == 0 && address != walked.innermost)
          return ++walked.passed < most_passed ? _URC_NO_REASON : _URC_END_OF_STACK;
        if (address != nullptr) stack.frames[stack.depth++] = address;
        return stack.depth < CallStack::limit ? _URC_NO_REASON : _URC_END_OF_STACK;
      },
      &walk);
  if (walk.stack.depth == 0) {
    walk.stack.frames[0] = innermost;
    walk.stack.depth = 1;
  }
  return walk.stack;
}

}  // namespace lynxpp
