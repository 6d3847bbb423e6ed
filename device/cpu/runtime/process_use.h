// Distinguishes a process that uses the device from its forked children. As on a GPU, the child of a process
// that has used the device cannot use it: memory, streams and worker threads belong to the parent.
#pragma once

namespace lynxpp::device::cpu {

/// Records that the process uses the device.
void note_use_of_device();

/// True in a forked child whose parent has used the device. Every call that needs the device fails there.
bool is_stranded();

/// Called in the child after a fork, before any other call of the device.
void begin_in_child();

}  // namespace lynxpp::device::cpu
