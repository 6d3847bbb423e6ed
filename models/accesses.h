// What warps of observed thread blocks accessed in memory: the input of models that want addresses. Where it
// comes from is nothing to them (observe/ makes it of a run's records).
//
// Accesses stand in an order that agrees with each warp's own and with the barriers of its block: what a warp
// does behind a barrier stands behind what others did before it.
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
  std::string file;        ///< of the source; empty: not known
  std::uint32_t line = 0;  ///< of the source; 0: not known
  std::uint32_t ptx_line = 0;
  AccessKind kind = AccessKind::read;
  /// A store to shared memory: the load whose value it stores unchanged, so that the two are one fetch. Of a
  /// copy (cp.async) the site itself.
  std::uint32_t fetched_by = none;
  /// The first site of those that are one reference of the source: loads of which one or the other gives the
  /// value that is used, as in `inside ? tile[i] : in[j]`. Else its own number.
  std::uint32_t reference = 0;
  std::uint64_t executions = 0;  ///< by threads, in all thread blocks of the launch
};

/// "kernel.cu:12", or "PTX line 34" where the source is not known.
std::string place_of(const AccessSite& site);

/// One execution of a site by a warp.
struct WarpAccess {
  std::uint32_t site = 0;
  std::uint32_t warp = 0;        ///< in its block
  std::uint64_t block = 0;       ///< number in the grid, x first
  std::uint32_t lanes = 0;       ///< one bit for each that takes part
  std::uint32_t bytes = 0;       ///< of each lane
  std::uint32_t arithmetic = 0;  ///< arithmetic instructions since the warp's access before
  bool is_shared = false;        ///< to shared memory, else to global
  bool writes = false;           ///< this side of it: of a copy, the one to shared memory
  std::uint64_t first = 0;       ///< Observation::addresses of its lowest lane; the next lanes' follow

  unsigned lane_count() const { return static_cast<unsigned>(std::popcount(lanes)); }
};

struct ObservedArray {
  std::string name;
  std::uint64_t address = 0;  ///< of shared memory: in its own window
  std::uint64_t bytes = 0;
  bool is_shared = false;
};

/// A launch.
struct Observation {
  std::string kernel;  ///< as written in the source
  std::uint64_t launch = 0;
  std::string device;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::vector<AccessSite> sites;
  std::vector<WarpAccess> accesses;
  std::vector<std::uint64_t> addresses;  ///< of shared memory: in its own window
  std::vector<ObservedArray> arrays;     ///< shared ones, then the others as they were allocated
  /// Ascending; all their accesses are here.
  std::vector<std::uint64_t> blocks;
  /// All accesses to global memory of blocks 0 to before this are here, chosen or not.
  std::uint64_t first_blocks = 0;
  std::uint64_t dropped = 0;  ///< accesses of warps that found no room; their blocks are left out above

  std::uint64_t grid_blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  std::uint32_t block_threads() const { return block[0] * block[1] * block[2]; }
  bool is_whole() const { return blocks.size() == grid_blocks(); }
  std::span<const std::uint64_t> addresses_of(const WarpAccess& access) const {
    return std::span(addresses).subspan(access.first, access.lane_count());
  }
};

}  // namespace lynxpp::models
