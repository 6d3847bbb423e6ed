// Invariants that the program itself guarantees, checked while it is developed. Mistakes of users and foreign
// bytes are not invariants: they are errors with a location (support/diagnostic.h).
//
//   LYNXPP_CHECK(divisor > 0, "divide() by a number that is not positive");
//
// On where LYNXPP_CHECKS is (cmake's option; by default in builds with tests): a condition that does not hold
// prints its text and location, and aborts. Elsewhere the condition is compiled, but not evaluated: it must
// have no side effects.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace lynxpp {

#if LYNXPP_CHECKS
inline constexpr bool checks_are_on = true;
#else
inline constexpr bool checks_are_on = false;
#endif

[[noreturn]] inline void fail_check(const char* file, int line, const char* condition, const char* what) {
  std::fprintf(stderr, "lynxpp: internal error at %s:%d: %s (%s does not hold)\n", file, line, what,
               condition);
  std::abort();
}

}  // namespace lynxpp

#define LYNXPP_CHECK(condition, what)               \
  (!::lynxpp::checks_are_on || (condition) ? void() \
                                           : ::lynxpp::fail_check(__FILE__, __LINE__, #condition, what))
