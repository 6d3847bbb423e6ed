// Determines whether a variant may make the lanes of a warp converge at the kernel's exit: the first lane
// there waits in a vote for the rest.
//
// Why no lane waits forever. The rules below admit a kernel only if
//   1. every launched lane of the warp reaches the one exit, unless it never ends in the original either, and
//   2. every instruction that waits for other lanes (a barrier, `.sync`) is in the kernel itself, where all
//      lanes of a warp pass it together or none does, and handlers synchronize lanes only at such sites.
// A lane that waits at the exit has executed all of the program's instructions. So another lane can only wait
// for it (a) in an instruction of rule 2, in which it takes part no more: excluded, because lanes pass these
// together; or (b) for it to have exited, as a barrier of the block or the cluster does. Such a barrier waits
// for every lane of the warp to arrive or exit, so in the original it also waits for those lanes that our
// lane waits for; they do not depend on the barrier by (a). All other lanes run on: PTX for sm_70 and newer
// guarantees each started thread progress whatever other threads do (C++ [intro.progress], CUDA's "Execution
// model"); below, lanes reconverge at the exit anyway, which post-dominates all branches.
//
// Without rule 2 the wait is unsafe: some lanes would vote with all lanes at the exit while others are in a
// shuffle among themselves, and warps then did hang on an H200 (docs/design/counting.md).
#pragma once

#include "ptx/passes/counting/flow/program.h"

namespace lynxpp::ptx {

/// True if both rules hold. Requires complete CountInputs::memory.
bool converges_at_exit(const CountInputs& inputs, const CountedFunction& kernel);

}  // namespace lynxpp::ptx
