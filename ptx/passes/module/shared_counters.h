#pragma once

#include <string>

#include "ptx/emitter/emitter.h"
#include "ptx/passes/memory/word_plan.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

/// Word counters in a block's shared memory (BlockCounters): all threads of the block clear them together at
/// entry, and the last lanes to exit add them to the arrays in device memory. No thread waits for another at
/// the end, so threads may exit anywhere.
void add_shared_counters(const FunctionUnit& kernel, const BlockCounters& counters, EditList& edits);

/// Returns why a kernel cannot have such counters; empty if it can.
std::string obstacle_to_shared_counters(const ReachedFunctions& reached);

}  // namespace lynxpp::ptx
