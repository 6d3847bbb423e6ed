// Blocks that read, write and keep alive each register. Private to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "ptx/analysis/flow/control_flow_graph.h"
#include "ptx/analysis/registers/registers.h"

namespace lynxpp::ptx {

/// For each register, ascending, the blocks that read it before fully writing it (exposed), that fully write
/// it (killed), and that write it at all.
class BlockUses {
 public:
  BlockUses(const ControlFlowGraph& graph, const RegisterUsage& usage);

  std::span<const std::uint32_t> exposed(RegisterId reg) const { return exposed_.of(reg); }
  std::span<const std::uint32_t> killed(RegisterId reg) const { return killed_.of(reg); }
  std::span<const std::uint32_t> written(RegisterId reg) const { return written_.of(reg); }

  /// Calls live_in(block) for each block that `reg` is live into and live_out(block) for each block it is
  /// live out of. Each returns true if the block is new. The cost is linear in the size of the result.
  template <typename LiveIn, typename LiveOut>
  void walk(const ControlFlowGraph& graph, RegisterId reg, std::vector<std::uint32_t>& work, LiveIn live_in,
            LiveOut live_out) const {
    work.assign(exposed(reg).begin(), exposed(reg).end());
    while (!work.empty()) {
      const std::uint32_t block = work.back();
      work.pop_back();
      if (!live_in(block)) continue;
      for (const std::uint32_t predecessor : graph.blocks[block].predecessors) {
        if (live_out(predecessor) && !std::ranges::binary_search(killed(reg), predecessor))
          work.push_back(predecessor);
      }
    }
  }

 private:
  /// Lists of blocks by register, in contiguous storage.
  struct Lists {
    std::span<const std::uint32_t> of(RegisterId reg) const {
      return {blocks.data() + first[reg], first[reg + 1] - first[reg]};
    }
    /// Fills the lists from (register, block) pairs in order of blocks.
    void fill(const std::vector<std::pair<RegisterId, std::uint32_t>>& pairs, std::size_t registers);
    std::vector<std::uint32_t> blocks, first;
  };

  Lists exposed_, killed_, written_;
};

}  // namespace lynxpp::ptx
