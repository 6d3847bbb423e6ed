// Stacks for recursive code in threads of the program, which may have small ones.
#pragma once

#include <cstddef>
#include <functional>

namespace lynxpp {

inline constexpr std::size_t own_stack_bytes = std::size_t{8} << 20;

/// Runs `body` in the calling thread: on its stack if `needed` bytes are left there, otherwise on a temporary
/// stack of own_stack_bytes. Exceptions propagate. Returns false without running `body` if there is not
/// enough memory. Precondition: needed < own_stack_bytes.
bool run_with_stack(std::size_t needed, const std::function<void()>& body);

}  // namespace lynxpp
