#include "device/cpu/simt/execute/counters/counters.h"

#include <algorithm>
#include <array>
#include <bit>

#include "device/cpu/simt/execute/order/cluster_window.h"
#include "device/cpu/simt/lanes/lane_loop.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::uint64_t sector_bytes = 32;
constexpr std::uint64_t word_bytes = 4;
constexpr std::uint32_t bank_count = 32;
constexpr std::uint32_t wavefront_bytes = bank_count * word_bytes;
constexpr std::uint32_t widest_access = 32;  // v8.b32

/// The distinct units, of a power-of-two number of bytes, that the lanes touch. A misaligned access touches
/// one more.
class TouchedUnits {
 public:
  TouchedUnits(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes, std::uint64_t unit) {
    const int shift = std::countr_zero(unit);
    bool is_ascending = true;  // the common case; often all lanes touch one unit
    for_each_lane(mask, [&](std::uint32_t lane) {
      const std::uint64_t last = (addresses[lane] + bytes - 1) >> shift;
      for (std::uint64_t touched = addresses[lane] >> shift; touched <= last; ++touched) {
        if (size_ != 0 && touched == units_[size_ - 1]) continue;
        is_ascending = is_ascending && (size_ == 0 || touched > units_[size_ - 1]);
        units_[size_++] = touched;
      }
    });
    if (is_ascending) return;
    std::sort(units_.begin(), units_.begin() + size_);
    size_ = static_cast<std::uint32_t>(std::unique(units_.begin(), units_.begin() + size_) - units_.begin());
  }
  std::uint32_t size() const { return size_; }
  const std::uint64_t* begin() const { return units_.data(); }
  const std::uint64_t* end() const { return units_.data() + size_; }

 private:
  std::array<std::uint64_t, warp_size*(widest_access / word_bytes + 1)> units_;
  std::uint32_t size_ = 0;
};

bool within(std::uint64_t address, const void* begin, std::uint64_t bytes) {
  return address - reinterpret_cast<std::uintptr_t>(begin) < bytes;
}

void count_global(SiteCounts& site, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes) {
  if (mask == 0) return;
  ++site.global.requests;
  site.global.sectors += count_sectors(addresses, mask, bytes);
  site.global.bytes += std::uint64_t{bytes} * static_cast<std::uint32_t>(std::popcount(mask));
}

std::uint32_t most_words_at_a_bank(const std::uint64_t* addresses, std::uint32_t group, std::uint32_t bytes) {
  std::array<std::uint32_t, bank_count> words{};
  for (const std::uint64_t word : TouchedUnits(addresses, group, bytes, word_bytes))
    ++words[word % bank_count];
  return *std::max_element(words.begin(), words.end());
}

std::uint32_t most_lanes_at_a_bank(const std::uint64_t* addresses, std::uint32_t group) {
  std::array<std::uint32_t, bank_count> lanes{};
  for_each_lane(group, [&](std::uint32_t lane) { ++lanes[addresses[lane] / word_bytes % bank_count]; });
  return *std::max_element(lanes.begin(), lanes.end());
}

bool neighbours_agree(const std::uint64_t* addresses, std::uint32_t mask) {
  const auto agree = [&](std::uint32_t distance) {
    bool all = true;
    for_each_lane(mask, [&](std::uint32_t lane) {
      const std::uint32_t other = lane ^ distance;
      if ((mask >> other & 1) != 0 && addresses[other] != addresses[lane]) all = false;
    });
    return all;
  };
  return agree(1) || agree(2);
}

void count_shared(SiteCounts& site, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                  AccessKind kind) {
  if (mask == 0) return;
  const Wavefronts wavefronts = count_wavefronts(addresses, mask, bytes, kind);
  ++site.shared.accesses;
  site.shared.wavefronts += wavefronts.made;
  site.shared.least_wavefronts += wavefronts.least;
}

void count_words(std::unordered_map<std::uint64_t, std::uint64_t>& words, const std::uint64_t* addresses,
                 std::uint32_t mask, std::uint32_t bytes) {
  for_each_lane(mask, [&](std::uint32_t lane) {
    const std::uint64_t last = (addresses[lane] + bytes - 1) / word_bytes;
    for (std::uint64_t word = addresses[lane] / word_bytes; word <= last; ++word) ++words[word];
  });
}

}  // namespace

std::uint32_t count_sectors(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes) {
  return TouchedUnits(addresses, mask, bytes, sector_bytes).size();
}

Wavefronts count_wavefronts(const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                            AccessKind kind) {
  const std::uint32_t lanes = bytes <= word_bytes ? warp_size : std::max(1u, wavefront_bytes / bytes);
  Wavefronts wavefronts;
  const auto serve = [&](std::uint32_t group) {
    if (group == 0) return;
    wavefronts.made += kind == AccessKind::atomic ? most_lanes_at_a_bank(addresses, group)
                                                  : most_words_at_a_bank(addresses, group, bytes);
    ++wavefronts.least;
  };
  if (lanes == warp_size) {
    serve(mask);
    return wavefronts;
  }
  for (std::uint32_t first = 0; first < warp_size; first += 2 * lanes) {
    const std::uint32_t lower = mask & ((1u << lanes) - 1) << first;
    const std::uint32_t upper = mask & ((1u << lanes) - 1) << (first + lanes);
    if (kind == AccessKind::load && neighbours_agree(addresses, lower | upper)) {
      serve(lower | upper);
    } else {
      serve(lower);
      serve(upper);
    }
  }
  return wavefronts;
}

SpacesOfLanes spaces_of(const WarpContext& warp, const std::uint64_t* addresses, std::uint32_t mask,
                        AccessSpace space) {
  SpacesOfLanes lanes;
  if (space == AccessSpace::global) lanes.global = mask;
  if (space == AccessSpace::shared) {
    lanes.shared = mask;
    for (std::uint32_t lane = 0; lane < warp_size; ++lane)
      lanes.offsets[lane] = addresses[lane] & cluster_offset_mask;
  }
  if (space != AccessSpace::generic) return lanes;
  for_each_lane(mask, [&](std::uint32_t lane) {
    const std::uint64_t address = addresses[lane];
    if (within(address, warp.shared, warp.shared_bytes)) {
      lanes.shared |= 1u << lane;
      lanes.offsets[lane] = address - reinterpret_cast<std::uintptr_t>(warp.shared);
    } else if (!within(address, warp.cluster_shared, warp.cluster_bytes) &&  // not counted
               !within(address, warp.local, warp.local_stride * warp_size) &&
               !within(address, warp.constants, warp.constant_bytes) &&
               !within(address, warp.parameters, warp.parameter_bytes)) {
      lanes.global |= 1u << lane;
    }
  });
  return lanes;
}

void count_access(WarpContext* warp, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t site,
                  std::uint32_t bytes, std::uint32_t space, std::uint32_t kind) {
  SiteCounts& counts = warp->sites[site];
  const SpacesOfLanes lanes = spaces_of(*warp, addresses, mask, static_cast<AccessSpace>(space));
  const std::uint64_t* const offsets = lanes.offsets.data();
  count_global(counts, addresses, lanes.global, bytes);
  count_shared(counts, offsets, lanes.shared, bytes, static_cast<AccessKind>(kind));
  if (warp->words == nullptr) return;
  count_words(warp->words->global, addresses, lanes.global, bytes);
  count_words(warp->words->shared, offsets, lanes.shared, bytes);
}

}  // namespace lynxpp::device::cpu
