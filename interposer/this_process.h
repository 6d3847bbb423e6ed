// What the records of this process say of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "report/record.h"

namespace lynxpp::interposer {

/// With another ProcessRecord::process at every call. The rank of an MPI program is what Open MPI, MPICH,
/// MVAPICH, PMIx and Slurm name so.
report::ProcessRecord describe_process();

/// Microseconds since 1970.
std::uint64_t host_clock_us();

/// The operating system's number of the calling thread, asked for once.
std::uint64_t this_thread();

/// Twelve hexadecimal digits that name the bytes.
std::string name_of(std::span<const std::byte> bytes);

}  // namespace lynxpp::interposer
