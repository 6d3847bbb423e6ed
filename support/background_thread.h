// Threads of lynxpp in the program's process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "support/result.h"

namespace lynxpp {

/// Starts a detached thread that runs `work` and blocks all signals: the program's signals are for its own
/// threads. Fails if the system refuses another thread.
Status start_background_thread(std::function<void()> work);

/// Runs `work` on such a thread and returns its result, or false if it has not ended after `patience`; with
/// `progress`, after a time of that length in which the value did not change. The thread then goes on, so
/// `work` must not refer to anything that ends before it. Returns nullopt if no thread could be started;
/// `work` did not run then. `work` must not throw.
std::optional<bool> ends_within(std::chrono::milliseconds patience, std::function<bool()> work,
                                const std::function<std::uint64_t()>& progress = {});

}  // namespace lynxpp
