// Plans where banks and sectors are measured (bank_sites.h, sector_sites.h).
#pragma once

#include <string>
#include <vector>

#include "ptx/passes/memory/sites.h"
#include "ptx/passes/probe.h"
#include "ptx/passes/reached.h"

namespace lynxpp::ptx {

/// Returns the sites of all probes that measure banks or sectors. With `follows_indices`, also tracks
/// addresses through 32-bit indices.
MemorySites find_memory_sites(const ReachedFunctions& reached, const std::vector<Probe>& probes,
                              bool follows_indices);

/// Returns a line for each site with an entry, by probe and instruction.
std::string memory_sites_text(const MemorySites& memory, const ReachedFunctions& reached);

}  // namespace lynxpp::ptx
