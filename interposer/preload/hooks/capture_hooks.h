// Captures of streams in this process.
#pragma once

#include <atomic>

namespace lynxpp::preload {

/// An upper bound of the number of active captures. If it is 0, launches skip the query whether their stream
/// is being captured, which would be the largest cost of a launch that no filter selects.
extern constinit std::atomic<int> captures;

/// Makes every later launch query its stream if `name` is an unknown function that begins captures.
void note_unknown(const char* name);

}  // namespace lynxpp::preload
