// Which entries of a fatbinary run on a device, and which of them the driver prefers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "image/fatbinary.h"

namespace lynxpp::image {

/// The entries of each container, in order; they point into `entries`.
std::vector<std::span<const Entry>> by_container(std::span<const Entry> entries);

/// The PTX that the driver would JIT for a device of capability `sm` (0: any); null when there is none. At
/// equal capability the special one (sm_90a) where the device is known, the portable one where any will do.
const Entry* best_ptx(std::span<const Entry> container, std::uint32_t sm);

/// The machine code that the driver would load on a device of capability `sm`: of the same major version and
/// the highest minor version that is not above the device's. Null when there is none.
const Entry* best_cubin(std::span<const Entry> container, std::uint32_t sm);

/// Whether both are for one architecture only, for one family only, or portable.
bool same_specialization(const Entry& first, const Entry& second);

/// Returns the flags of an entry for sm_90a ('a') or sm_100f ('f'); 0 for any other suffix.
std::uint64_t specialization_flags(char suffix);

/// "90a", "103f", "80".
std::string target_name(const Entry& entry);

}  // namespace lynxpp::image
