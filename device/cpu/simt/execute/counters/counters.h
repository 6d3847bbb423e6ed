// Counters that the executor keeps per instruction: the oracle for the metrics. They cost nothing unless a
// launch requests counters; the kernel is then compiled again with calls that count.
#pragma once

#include <array>
#include <cstdint>

#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/counters/launch_counters.h"

namespace lynxpp::device::cpu {

/// Counts of one instruction by one worker. Compiled code updates the first two members, and only for guarded
/// instructions: all others execute exactly when their segment runs.
struct SiteCounts {
  std::uint64_t executing_warps = 0;  ///< warps with at least one lane whose guard held
  std::uint64_t lanes = 0;            ///< lanes whose guard held
  std::uint64_t divergent = 0;        ///< branches only
  GlobalAccessCounts global;
  SharedAccessCounts shared;
  OperationCounts operations;
};

enum class AccessSpace : std::uint32_t { global, shared, generic };
/// Flag in the `kind` of record_access(): the instruction has a result.
inline constexpr std::uint32_t reads_flag = 0x100;

/// The lanes whose accesses go to global memory and to shared memory.
struct SpacesOfLanes {
  std::uint32_t global = 0, shared = 0;
  std::array<std::uint64_t, warp_size> offsets;  ///< offsets in shared memory of the lanes in `shared`
};
SpacesOfLanes spaces_of(const WarpContext& warp, const std::uint64_t* addresses, std::uint32_t mask,
                        AccessSpace space);

/// Called by compiled code before an access of `bytes` per lane by the lanes in `mask`. Addresses are those
/// of the space; shared addresses are offsets. A generic access counts for the space that each lane's address
/// is in. Accesses to constants, parameters and local memory are not counted.
void count_access(WarpContext* warp, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t site,
                  std::uint32_t bytes, std::uint32_t space, std::uint32_t kind);

/// Returns the number of distinct 32-byte sectors that the accesses touch.
std::uint32_t count_sectors(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes);

/// Wavefronts of an access to shared memory, which has 32 banks of 4 bytes; in one wavefront a bank serves
/// one word to any number of lanes. Accesses of 8 bytes are split into half warps, accesses of 16 bytes into
/// quarter warps. Loads of two adjacent groups are merged if in both every lane reads the same words as
/// lane^1, or every lane the same as lane^2 (inactive lanes match any lane). Atomic operations that conflict
/// at a bank are serialized, even on the same word. These rules were measured on an H200 (docs/measurements),
/// except for 8-byte atomics.
struct Wavefronts {
  std::uint32_t made = 0;
  std::uint32_t least = 0;  ///< wavefronts of the same lanes without conflicts
};
Wavefronts count_wavefronts(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                            AccessKind kind);

}  // namespace lynxpp::device::cpu
