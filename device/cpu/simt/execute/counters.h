// What the executor counts by itself, instruction by instruction: the oracle of the metrics. Nothing of it
// runs unless a launch asks for counters, and then the kernel is compiled a second time, with the calls that
// count.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/executor.h"

namespace lynxpp::device::cpu {

struct Program;

/// What one worker saw of one segment.
struct SegmentCounts {
  std::uint64_t warps = 0;  ///< times a warp ran it
  std::uint64_t lanes = 0;  ///< active lanes, summed
};

/// What one worker saw of one instruction. Compiled code adds to the first two members, and only for guarded
/// instructions: the others execute as often as their segment runs.
struct SiteCounts {
  std::uint64_t executing_warps = 0;  ///< warps with at least one lane whose guard held
  std::uint64_t lanes = 0;            ///< lanes whose guard held
  std::uint64_t divergent = 0;        ///< branches only
  GlobalAccessCounts global;
  SharedAccessCounts shared;
};

struct WorkerCounts {
  WorkerCounts(const Program& program, bool counts_words);
  std::vector<SegmentCounts> segments;
  std::vector<SiteCounts> sites;
  std::optional<WordCounters> words;
};

enum class AccessSpace : std::uint32_t { global, shared, generic };
/// Added to an AccessKind for record_access(): the instruction has a result.
inline constexpr std::uint32_t reads_flag = 0x100;

/// The lanes of `mask` whose accesses go to global and to shared memory.
struct SpacesOfLanes {
  std::uint32_t global = 0, shared = 0;
  std::array<std::uint64_t, warp_size> offsets;  ///< in shared memory, of the lanes in `shared`
};
SpacesOfLanes spaces_of(const WarpContext& warp, const std::uint64_t* addresses, std::uint32_t mask,
                        AccessSpace space);

/// Called by compiled code before an access of `bytes` per lane by the lanes in `mask`. Addresses are those
/// of the space: shared ones are offsets. Generic accesses count for the space each lane's address lies in;
/// constants, parameters and local memory are not counted.
void count_access(WarpContext* warp, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t site,
                  std::uint32_t bytes, std::uint32_t space, std::uint32_t kind);

/// Distinct sectors of 32 bytes that the accesses touch.
std::uint32_t count_sectors(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes);

/// Shared memory has 32 banks of 4 bytes; a bank serves one word in a wavefront, to any number of lanes.
/// Accesses of 8 bytes are made for half warps, of 16 bytes for quarter warps, one after the other. Loads of
/// two neighbouring groups are made as one when in both together every lane reads what its neighbour lane^1
/// reads, or every lane what lane^2 reads (lanes that do not load agree with all). Atomic operations of lanes
/// that meet at a bank take turns, at the same word too. These rules are an H200's (docs/measurements); that
/// of 8-byte atomics is not measured.
struct Wavefronts {
  std::uint32_t made = 0;
  std::uint32_t least = 0;  ///< what the same lanes would take without conflicts
};
Wavefronts count_wavefronts(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                            AccessKind kind);

/// The workers' counts, added up.
LaunchCounters collect_counters(const Program& program, const std::vector<WorkerCounts>& workers);

}  // namespace lynxpp::device::cpu
