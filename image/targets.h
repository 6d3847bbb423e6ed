// Selects the entries of a fatbinary that run on a device, and the one that the driver prefers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "image/entry.h"

namespace lynxpp::image {

/// Returns the entries of each container, in order; they point into `entries`.
std::vector<std::span<const Entry>> by_container(std::span<const Entry> entries);

/// Returns the PTX that the driver would JIT for a device of capability `sm` (0: any); null if no entry fits.
/// At equal capability, prefers the specialized entry (sm_90a) for a known device and the portable one for
/// any device.
const Entry* best_ptx(std::span<const Entry> container, std::uint32_t sm);

/// Returns the machine code that the driver would load on a device of capability `sm`: of the same major
/// version, with the highest minor version up to the device's. Null if no entry fits.
const Entry* best_cubin(std::span<const Entry> container, std::uint32_t sm);

/// True if both are architecture-specific, both family-specific, or both portable.
bool same_specialization(const Entry& first, const Entry& second);

/// Returns the flags of an entry for sm_90a ('a') or sm_100f ('f'); 0 for any other suffix.
std::uint64_t specialization_flags(char suffix);

/// "90a", "103f", "80".
std::string target_name(const Entry& entry);

}  // namespace lynxpp::image
