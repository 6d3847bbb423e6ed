#include "device/cpu/simt/execute/counters/worker_counts.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "device/cpu/simt/compile/program.h"
#include "ptx/ir/memory_access.h"

namespace lynxpp::device::cpu {
namespace {

void add(SiteCounts& sum, const SiteCounts& part) {
  sum.executing_warps += part.executing_warps;
  sum.lanes += part.lanes;
  sum.divergent += part.divergent;
  sum.global += part.global;
  sum.shared += part.shared;
  sum.operations += part.operations;
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
    site.operations = own.operations;
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
