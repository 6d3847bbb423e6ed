// What a specification's report emits and says, as records have it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "device/allocations.h"
#include "report/record.h"
#include "support/result.h"

namespace lynxpp::interposer {

report::ResultValue result_of(cod::Emitted emitted);

/// Those of the live allocations that some address in a table lies in.
std::vector<report::NamedAllocation> allocations_named_in(const std::vector<report::ResultValue>& results,
                                                          const device::LiveAllocations& live);

/// For a kernel's launches; `notes` gets a sentence where not everything is measured.
report::LaunchRecord::Sampling sampling_of(const std::vector<cod::HandlerSampling>& handlers,
                                           std::vector<std::string>& notes);

/// Accesses that did not happen, one note for each place: "5 accesses out of the bounds of 'seen' were
/// dropped (my.cod:4)". `counts` as ProbeLayout::dropped() gives them.
void add_drops(const cod::Specification& specification, const std::vector<std::uint64_t>& counts,
               std::vector<std::string>& notes);

/// What went wrong in a report, one note for each place: "my.cod:4:37: division by zero".
std::vector<std::string> mishaps_of(const Failure& failure);

}  // namespace lynxpp::interposer
