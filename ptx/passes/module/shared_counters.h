#pragma once

#include <memory>

#include "ptx/passes/pass.h"

namespace lynxpp::ptx {

/// Counters of words in a block's shared memory (BlockCounters): all threads clear them together when the
/// block begins, and the lanes that leave it last add them to the arrays in device memory. Nothing waits for
/// anybody at the end, so that threads may leave wherever they do.
std::unique_ptr<Pass> make_shared_counters_pass();

/// Why a kernel cannot have such counters; empty when it can.
std::string obstacle_to_shared_counters(const InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
