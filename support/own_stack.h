// Stacks for code that recurses in threads of the program, which may have small ones.
#pragma once

#include <cstddef>
#include <functional>

namespace lynxpp {

inline constexpr std::size_t own_stack_bytes = std::size_t{8} << 20;

/// Runs `body` in the calling thread: on its stack if as many bytes are left there, else on one of
/// own_stack_bytes, which lives as long. Exceptions pass through. False, and `body` has not run: there is no
/// memory.
/// Precondition: needed < own_stack_bytes.
bool run_with_stack(std::size_t needed, const std::function<void()>& body);

}  // namespace lynxpp
