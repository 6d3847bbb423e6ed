// The socket by which `lynxpp attach`, `detach`, `status` and `top` speak to this process.
#pragma once

namespace lynxpp::preload {

/// Starts the thread that answers, on the first call of a process, unless LYNXPP_CONTROL is 0 or the system
/// calls of the process are filtered. Called when the process has loaded code into a CUDA driver or is bound
/// to the cpu device: shells and compilers have no such thread. Launches know nothing of it. A forked child
/// does not answer for its parent.
void begin_control();

/// Removes the socket, in the process that made it. For the end of a process.
void end_control();

}  // namespace lynxpp::preload
