// Compares what a kernel and a remedy for it write, in the program's own memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/device.h"
#include "interposer/trials/replay.h"
#include "support/result.h"

namespace lynxpp::interposer {

/// Launches the original and a remedy, each from the state `saved`, waits for them, and compares the memory
/// `written` byte by byte. `is_cleared`: the kernel does not read it, so that it is cleared before each
/// launch; otherwise an earlier launch's results would count as those of one that writes nothing. Returns a
/// word for the record: "identical", "different", or "varying" if the original's launches differ. Fails if
/// something cannot be copied or launched. The caller restores the memory afterwards. Precondition: nothing
/// else uses the device until it returns.
Result<std::string> compare_results(device::Device& device, const device::Launch& launch,
                                    const std::vector<MemoryRange>& written, const SavedMemory& saved,
                                    bool is_cleared, const std::function<Status()>& original,
                                    const std::function<Status()>& remedy);

}  // namespace lynxpp::interposer
