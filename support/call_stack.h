// The return addresses on a thread's stack, outwards from a call. Header only and without memory allocation,
// because the preload library uses it.
#pragma once

#include <unwind.h>

namespace lynxpp {

struct CallStack {
  static constexpr unsigned limit = 8;
  const void* frames[limit] = {};  ///< return addresses, innermost first
  unsigned depth = 0;              ///< number of valid frames
};

/// Returns the frames from `innermost`, a return address on this thread's stack, outwards; only `innermost`
/// if the stack cannot be unwound. Omits frames further inside, such as the caller of this function. Takes
/// about 100 ns per frame.
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
