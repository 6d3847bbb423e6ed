// Code of a thread block as a whole: the number of a thread in it, and code that only the last lanes of the
// block to exit execute.
#pragma once

#include <optional>

#include "ptx/ir/code_builder.h"

namespace lynxpp::ptx {

/// Emits the number of threads of the block.
VirtualRegister threads_of_block(CodeBuilder& code);

/// Emits the number of this thread in its block: x first, then y, then z.
VirtualRegister thread_in_block(CodeBuilder& code);

/// Lanes that execute together.
struct LanesTogether {
  VirtualRegister rank;   ///< of this lane among them
  VirtualRegister count;  ///< number of lanes
};

/// Emits a branch to `stays` for all lanes but those that exit last in their block. No thread waits for
/// another, so threads may exit anywhere. The lanes that continue see everything that the block's other
/// threads wrote. `guard`: of the exit. `exited`: a 32-bit word of shared memory, 0 at the kernel's entry,
/// which all exits share.
LanesTogether append_last_exit(CodeBuilder& code, const std::optional<CodePredicate>& guard,
                               const CodeAddress& exited, Label stays);

}  // namespace lynxpp::ptx
