// Where the kernels that a host thread runs have found what they access, whatever launch they are of.
#pragma once

#include "device/cpu/simt/execute/global_memory.h"

namespace lynxpp::device::cpu {

/// For WarpContext::known, `known_ranges` of them: the calling thread's, without those of another memory and
/// those that were found before the last removal. To be asked for again behind each removal.
AddressRange* ranges_found_by_thread(const GlobalMemory& memory);

}  // namespace lynxpp::device::cpu
