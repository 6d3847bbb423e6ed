#include "device/cpu/simt/operations/operation_counts.h"

#include <algorithm>
#include <array>
#include <bit>

#include "device/cpu/simt/execute/counters/counters.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::uint64_t counted_sector_bytes = 32;
constexpr std::uint64_t counted_word_bytes = 4;
constexpr std::uint64_t counted_line_bytes = 128;  ///< of shared memory: one word of each bank

AccessSpace space_of(ptx::StateSpace space) {
  if (space == ptx::StateSpace::global) return AccessSpace::global;
  return space == ptx::StateSpace::shared ? AccessSpace::shared : AccessSpace::generic;
}

/// Adds the words that one lane's access touches.
void add_words(std::unordered_map<std::uint64_t, std::uint64_t>& words, std::uint64_t address,
               std::uint64_t bytes) {
  for (std::uint64_t word = address / counted_word_bytes; word <= (address + bytes - 1) / counted_word_bytes;
       ++word)
    ++words[word];
}

/// Counts one side of one execution. A lane participates if it has accessed at least one byte.
class SideCounts {
 public:
  SideCounts(WarpContext& warp, const CountedSide& side, std::uint32_t site)
      : warp_(warp), side_(side), counts_(warp.sites[site]) {}

  void run(const AccessRecord& record) {
    for (const AccessRecord::Entry& entry : record.entries()) {
      if (entry.address != side_.address || entry.bytes == 0) continue;
      mask_ |= 1u << entry.lane;
      addresses_[entry.lane] = entry.place;
      bytes_[entry.lane] = entry.bytes;
    }
    if (mask_ == 0) return;
    const SpacesOfLanes lanes = spaces_of(warp_, addresses_.data(), mask_, space_of(side_.space));
    if (lanes.global != 0) count_global(lanes.global);
    if (lanes.shared != 0) count_shared(lanes);
  }

 private:
  std::uint32_t widest(std::uint32_t mask) const {
    std::uint64_t most = 0;
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
      if ((mask >> lane & 1) != 0) most = std::max(most, bytes_[lane]);
    }
    return static_cast<std::uint32_t>(most);
  }

  void count_global(std::uint32_t mask) {
    if (!side_.is_sized) return;
    ++counts_.global.requests;
    if (side_.follows_from_lanes)
      counts_.global.sectors += count_sectors(addresses_.data(), mask, widest(mask));
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      counts_.global.bytes += bytes_[lane];
      if (!side_.follows_from_lanes)
        counts_.global.sectors +=
            (addresses_[lane] % counted_sector_bytes + bytes_[lane] + counted_sector_bytes - 1) /
            counted_sector_bytes;
      if (warp_.words != nullptr) add_words(warp_.words->global, addresses_[lane], bytes_[lane]);
    }
  }

  void count_shared(const SpacesOfLanes& lanes) {
    if (!side_.is_sized) return;
    if (side_.follows_from_lanes) {
      const Wavefronts wavefronts = count_wavefronts(lanes.offsets.data(), lanes.shared, widest(lanes.shared),
                                                     static_cast<AccessKind>(side_.kind));
      ++counts_.shared.accesses;
      counts_.shared.wavefronts += wavefronts.made;
      counts_.shared.least_wavefronts += wavefronts.least;
    }
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
      if ((lanes.shared >> lane & 1) == 0) continue;
      if (!side_.follows_from_lanes)
        counts_.operations.copy_wavefronts += lines_of(lanes.offsets[lane], bytes_[lane]);
      if (warp_.words != nullptr) add_words(warp_.words->shared, lanes.offsets[lane], bytes_[lane]);
    }
  }

  WarpContext& warp_;
  const CountedSide& side_;
  SiteCounts& counts_;
  std::uint32_t mask_ = 0;
  std::array<std::uint64_t, warp_size> addresses_{};
  std::array<std::uint64_t, warp_size> bytes_{};
};

}  // namespace

std::uint64_t lines_of(std::uint64_t address, std::uint64_t bytes) {
  return (address % counted_line_bytes + bytes + counted_line_bytes - 1) / counted_line_bytes;
}

void count_operation(WarpContext* warp, const CountedSides& counted, const AccessRecord& record) {
  for (const CountedSide& side : counted.sides) SideCounts(*warp, side, counted.site).run(record);
}

}  // namespace lynxpp::device::cpu
