// The socket through which `lynxpp attach`, `detach`, `status` and `top` control this process.
#pragma once

namespace lynxpp::preload {

/// Starts the thread that answers requests, on the first call in a process, unless LYNXPP_CONTROL is 0 or the
/// process's system calls are filtered. Called when the process has loaded code into a CUDA driver or is
/// bound to the cpu device, so shells and compilers have no such thread. Launches do not depend on it. A
/// forked child does not answer for its parent.
void begin_control();

/// Removes the socket, in the process that created it. Called at the end of a process.
void end_control();

}  // namespace lynxpp::preload
