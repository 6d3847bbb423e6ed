#include "device/cpu/simt/execute/counters.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "device/cpu/simt/compile/program.h"
#include "device/cpu/simt/execute/cluster_window.h"
#include "device/cpu/simt/lanes/lane_loop.h"
#include "ptx/ir/memory_access.h"

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

void add(SiteCounts& sum, const SiteCounts& part) {
  sum.executing_warps += part.executing_warps;
  sum.lanes += part.lanes;
  sum.divergent += part.divergent;
  sum.global += part.global;
  sum.shared += part.shared;
}

/// Sums of one function's counters.
class FunctionCollector {
 public:
  FunctionCollector(const CompiledFunction& function, const std::vector<WorkerCounts>& workers)
      : function_(function),
        segments_(function.segments.size()),
        sites_(function.function->body->instructions.size()) {
    for (const WorkerCounts& worker : workers) {
      for (std::size_t i = 0; i < segments_.size(); ++i) {
        segments_[i].warps += worker.segments[function.segment_base + i].warps;
        segments_[i].lanes += worker.segments[function.segment_base + i].lanes;
      }
      for (std::size_t i = 0; i < sites_.size(); ++i) add(sites_[i], worker.sites[function.site_base + i]);
    }
  }

  bool reached() const {
    return std::any_of(segments_.begin(), segments_.end(),
                       [](const SegmentCounts& segment) { return segment.warps != 0; });
  }

  void append(LaunchCounters& counters) const {
    const std::size_t first = counters.blocks.size();
    for (std::uint32_t i = 0; i < function_.graph.blocks.size(); ++i) {
      BlockCounters block;
      block.function = function_.name;
      block.block = i;
      block.instructions = function_.graph.blocks[i].size();
      counters.blocks.push_back(block);
    }
    // An instruction is in two segments if its segment has a second form.
    std::vector<SegmentCounts> issued(sites_.size());
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      const Segment& segment = function_.segments[i];
      BlockCounters& block = counters.blocks[first + segment.block];
      if (segment.starts_block) {
        block.warp_executions += segments_[i].warps;
        block.thread_executions += segments_[i].lanes;
      }
      for (std::uint32_t at = segment.begin; at < segment.end; ++at) {
        issued[at].warps += segments_[i].warps;
        issued[at].lanes += segments_[i].lanes;
      }
    }
    for (std::uint32_t i = 0; i < function_.graph.blocks.size(); ++i) {
      BlockCounters& block = counters.blocks[first + i];
      for (std::uint32_t at = function_.graph.blocks[i].begin; at < function_.graph.blocks[i].end; ++at) {
        const SiteCounters site = site_counters(i, issued[at], at);
        block.warp_instructions += site.warp_issues;
        block.thread_instructions += site.thread_executions;
        counters.sites.push_back(site);
      }
    }
  }

 private:
  SiteCounters site_counters(std::uint32_t block, const SegmentCounts& counts, std::uint32_t at) const {
    const ptx::Instruction& instruction = function_.function->body->instructions[at];
    const SiteCounts& own = sites_[at];
    SiteCounters site;
    site.function = function_.name;
    site.instruction = at;
    site.block = block;
    site.line = instruction.line;
    site.opcode = instruction.opcode;
    site.traits = instruction.traits;
    site.warp_issues = counts.warps;
    site.active_lanes = counts.lanes;
    site.executing_warps = instruction.guarded() ? own.executing_warps : counts.warps;
    site.thread_executions = instruction.guarded() ? own.lanes : counts.lanes;
    site.divergent = own.divergent;
    site.global = own.global;
    site.shared = own.shared;
    for (const ptx::MemoryAccess& access : ptx::memory_accesses(instruction)) {
      const AccessKind kind = !access.reads    ? AccessKind::store
                              : !access.writes ? AccessKind::load
                                               : AccessKind::atomic;
      if (access.space != ptx::StateSpace::shared) site.global_kind = kind;
      if (access.space != ptx::StateSpace::global) site.shared_kind = kind;
    }
    return site;
  }

  const CompiledFunction& function_;
  std::vector<SegmentCounts> segments_;
  std::vector<SiteCounts> sites_;
};

MemoryCounters& counters_of(AccessKind kind, LaunchCounters& counters) {
  switch (kind) {
    case AccessKind::load: return counters.loads;
    case AccessKind::store: return counters.stores;
    case AccessKind::atomic: break;
  }
  return counters.atomics;
}

void add_totals(const SiteCounters& site, LaunchCounters& counters) {
  const ptx::OpcodeTraits& traits = site.traits;
  counters_of(site.global_kind, counters).global += site.global;
  counters_of(site.shared_kind, counters).shared += site.shared;
  if (traits.kind == ptx::OpcodeClass::branch) {
    counters.branches.warps += site.warp_issues;
    counters.branches.threads += site.active_lanes;
    counters.branches.divergent += site.divergent;
  }
  if (traits.kind == ptx::OpcodeClass::barrier) {
    counters.barriers.warps += site.executing_warps;
    counters.barriers.threads += site.thread_executions;
  }
}

}  // namespace

WorkerCounts::WorkerCounts(const Program& program, bool counts_words)
    : segments(program.segment_count), sites(program.site_count) {
  if (counts_words) words.emplace();
}

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

LaunchCounters collect_counters(const Program& program, const std::vector<WorkerCounts>& workers) {
  LaunchCounters counters;
  std::map<std::string_view, const CompiledFunction*> by_name;
  for (const CompiledFunction& function : program.functions) by_name.emplace(function.name, &function);
  for (const auto& [name, function] : by_name) {
    if (function->failure) continue;
    const FunctionCollector collector(*function, workers);
    if (collector.reached()) collector.append(counters);
  }
  for (const BlockCounters& block : counters.blocks) {
    counters.warp_instructions += block.warp_instructions;
    counters.thread_instructions += block.thread_instructions;
  }
  for (const SiteCounters& site : counters.sites) add_totals(site, counters);
  for (const WorkerCounts& worker : workers) {
    if (!worker.words) continue;
    if (!counters.words) counters.words.emplace();
    *counters.words += *worker.words;
  }
  return counters;
}

}  // namespace lynxpp::device::cpu
