// Memory accesses by warps of observed thread blocks: the input of models that work on addresses, independent
// of the source (observe/ creates it from a run's records).
//
// The order of accesses agrees with each warp's program order and with the barriers of its block: accesses
// after a barrier come after the other warps' accesses before it.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lynxpp::models {

enum class AccessKind : std::uint8_t { read, write, atomic };

/// An instruction that accesses global or shared memory.
struct AccessSite {
  static constexpr std::uint32_t none = 0xffffffff;

  std::string opcode;      ///< "ld.global.f32"
  std::string file;        ///< source file; empty if unknown
  std::uint32_t line = 0;  ///< source line; 0 if unknown
  std::uint32_t ptx_line = 0;
  AccessKind kind = AccessKind::read;
  /// For a store to shared memory, the load whose value it stores unchanged, so that the two form one fetch.
  /// For a copy (cp.async), the site itself.
  std::uint32_t fetched_by = none;
  /// The first of the sites that are one reference in the source: loads whose results are merged into one
  /// value, as in `inside ? tile[i] : in[j]`. Otherwise its own index.
  std::uint32_t reference = 0;
  std::uint64_t executions = 0;  ///< thread executions, in all thread blocks of the launch
};

/// "kernel.cu:12", or "PTX line 34" if the source is unknown.
std::string location_of(const AccessSite& site);

/// One execution of a site by a warp.
struct WarpAccess {
  std::uint32_t site = 0;
  std::uint32_t warp = 0;        ///< index in its block
  std::uint64_t block = 0;       ///< linear index in the grid, x first
  std::uint32_t lanes = 0;       ///< bit mask of participating lanes
  std::uint32_t bytes = 0;       ///< per lane
  std::uint32_t arithmetic = 0;  ///< arithmetic instructions since the warp's previous access
  bool is_shared = false;        ///< shared memory, otherwise global memory
  bool writes = false;           ///< direction of this side; for a copy, the side in shared memory writes
  std::uint64_t first = 0;       ///< lowest lane's index in Observation::addresses; others follow

  unsigned lane_count() const { return static_cast<unsigned>(std::popcount(lanes)); }
};

struct ObservedArray {
  std::string name;
  std::uint64_t address = 0;  ///< for shared memory, relative to its window
  std::uint64_t bytes = 0;
  bool is_shared = false;
};

/// One observed launch.
struct Observation {
  std::string kernel;  ///< as written in the source
  std::uint64_t launch = 0;
  std::string device;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::vector<AccessSite> sites;
  std::vector<WarpAccess> accesses;
  std::vector<std::uint64_t> addresses;  ///< for shared memory, relative to its window
  std::vector<ObservedArray> arrays;     ///< shared arrays, then the others in allocation order
  /// Ascending; all accesses of these blocks are included.
  std::vector<std::uint64_t> blocks;
  /// All accesses to global memory of the blocks below this index are included, chosen or not.
  std::uint64_t first_blocks = 0;
  std::uint64_t dropped = 0;  ///< warp accesses dropped for lack of capacity; their blocks are omitted above

  std::uint64_t grid_blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  std::uint32_t block_threads() const { return block[0] * block[1] * block[2]; }
  bool is_whole() const { return blocks.size() == grid_blocks(); }
  std::span<const std::uint64_t> addresses_of(const WarpAccess& access) const {
    return std::span(addresses).subspan(access.first, access.lane_count());
  }
};

}  // namespace lynxpp::models
