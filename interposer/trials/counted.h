// Results of variants that count, for one launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "device/device.h"
#include "ptx/perturb/memory_regions.h"
#include "ptx/perturb/perturbation.h"
#include "report/record.h"

namespace lynxpp::interposer {

/// Returns ptx::result_words from the buffer of a variant that counts. Operation::bytes has maps there; if
/// they are exact (ptx::MapSize), one more word has the bytes that the kernel both reads and writes.
std::vector<std::uint64_t> results_of(ptx::Operation operation, std::span<const std::byte> buffer,
                                      bool has_exact_maps);

/// Returns these words as pairs that a record names.
std::vector<report::TrialRecord::Count> counts_of(const std::vector<std::uint64_t>& results);

/// Returns the size of the maps of Operation::bytes for a launch: they have bits for the allocations that its
/// parameters point into, or for all without one.
ptx::MapSize map_size_for(device::Device& device, const device::Launch& launch,
                          std::span<const device::ParameterSlot> slots);

}  // namespace lynxpp::interposer
