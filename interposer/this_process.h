// Describes this process for its records.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "report/record.h"

namespace lynxpp::interposer {

/// Returns a different ProcessRecord::process on every call. The rank of an MPI program is the one that Open
/// MPI, MPICH, MVAPICH, PMIx or Slurm defines.
report::ProcessRecord describe_process();

/// Microseconds since 1970.
std::uint64_t host_clock_us();

/// Returns the operating system's number of the calling thread, which is queried once.
std::uint64_t this_thread();

/// Returns twelve hexadecimal digits that identify the bytes.
std::string name_of(std::span<const std::byte> bytes);

}  // namespace lynxpp::interposer
