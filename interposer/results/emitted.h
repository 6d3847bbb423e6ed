// Converts the values and messages of a specification's report to records.
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

/// True if launches can share a record: for several launches, every result in it is the sum of theirs or a
/// ratio of sums, and reports fold it as such.
bool are_sums(const cod::Specification& specification);

/// Returns the live allocations that contain an address of some table.
std::vector<report::NamedAllocation> allocations_named_in(const std::vector<report::ResultValue>& results,
                                                          const device::LiveAllocations& live);

/// Describes the sampling of a kernel's launches; `notes` gets a sentence if the measurement is incomplete.
report::LaunchRecord::Sampling sampling_of(const std::vector<cod::HandlerSampling>& handlers,
                                           std::vector<std::string>& notes);

/// Adds a note for each source location with dropped accesses: "5 accesses out of the bounds of 'seen' were
/// dropped (my.cod:4)". `counts` comes from ProbeLayout::dropped().
void add_drops(const cod::Specification& specification, const std::vector<std::uint64_t>& counts,
               std::vector<std::string>& notes);

/// Returns a note for each error location in a report: "my.cod:4:37: division by zero".
std::vector<std::string> mishaps_of(const Failure& failure);

}  // namespace lynxpp::interposer
