// Limits of the cpu device: those of compute capability 9.0 (occupancy.h has those of a multiprocessor).
#pragma once

namespace lynxpp::device::cpu {

inline constexpr int max_block_dimension_z = 64;
inline constexpr int max_grid_dimension_x = 2147483647;
inline constexpr int max_grid_dimension_yz = 65535;
inline constexpr int default_shared_limit = 48 * 1024;
inline constexpr int texture_alignment = 512;
inline constexpr int texture_pitch_alignment = 32;
inline constexpr int allocation_pitch = 512;

}  // namespace lynxpp::device::cpu
