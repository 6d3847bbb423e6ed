// Tells a process that uses the device from its forked children. As on a GPU, a child of a process that has
// used the device cannot use it: memory and streams are the parent's, and so are the threads that would do
// the work.
#pragma once

namespace lynxpp::device::cpu {

/// The process uses the device from now on.
void note_use_of_device();

/// True in a forked child whose parent used the device before. Every call that needs the device fails there.
bool is_stranded();

/// Called in the child of a fork, before it calls anything else of the device.
void begin_in_child();

}  // namespace lynxpp::device::cpu
