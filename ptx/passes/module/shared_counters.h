#pragma once

#include "ptx/ir/code_builder.h"
#include "ptx/passes/unit.h"
#include "support/result.h"

namespace lynxpp::ptx {

/// Counters of words in a block's shared memory (BlockCounters): all threads clear them together when the
/// block begins, and the lanes that exit last add them to the arrays in device memory. No thread waits for
/// another one at the end, so threads may exit anywhere.
Status add_shared_counters(InstrumentationUnit& unit);

/// Where the window of the kernel's counters begins in shared memory, of 32 bits.
VirtualRegister begin_of_window(const BlockCounters& counters, CodeBuilder& code);

/// Why a kernel cannot have such counters; empty when it can.
std::string obstacle_to_shared_counters(const InstrumentationUnit& unit);

}  // namespace lynxpp::ptx
