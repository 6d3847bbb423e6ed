// Occupancy of the cpu device's multiprocessors. Blocks that are resident together may wait for each other.
#pragma once

#include <cstddef>

#include "device/cpu/simt/execute/kernel_info.h"

namespace lynxpp::device::cpu {

inline constexpr int max_threads_per_block = 1024;
inline constexpr int threads_per_multiprocessor = 2048;
inline constexpr int blocks_per_multiprocessor = 32;
inline constexpr int shared_per_multiprocessor = 228 * 1024;
inline constexpr int reserved_shared_per_block = 1024;
inline constexpr int optin_shared_limit = 227 * 1024;

/// Returns the number of resident blocks per multiprocessor with `threads` threads and `shared_bytes` of
/// dynamic shared memory; 0 if not even one fits.
int resident_blocks(const KernelInfo& info, int threads, std::size_t shared_bytes);

}  // namespace lynxpp::device::cpu
