// Waits with a limit for a call that has none.
#pragma once

#include <chrono>
#include <functional>

namespace lynxpp::device {

/// Runs `work` on a thread of its own and returns its result; false if it has not ended after `patience`. The
/// thread then goes on, so `work` must not refer to anything that ends before the process.
bool ends_within(std::chrono::milliseconds patience, std::function<bool()> work);

}  // namespace lynxpp::device
