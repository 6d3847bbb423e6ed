#include "ptx/analysis/registers/block_uses.h"

namespace lynxpp::ptx {

void BlockUses::Lists::fill(const std::vector<std::pair<RegisterId, std::uint32_t>>& pairs,
                            std::size_t registers) {
  first.assign(registers + 1, 0);
  for (const auto& [reg, block] : pairs) ++first[reg + 1];
  for (std::size_t reg = 0; reg < registers; ++reg) first[reg + 1] += first[reg];
  blocks.resize(pairs.size());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (const auto& [reg, block] : pairs) blocks[next[reg]++] = block;
}

BlockUses::BlockUses(const ControlFlowGraph& graph, const RegisterUsage& usage) {
  const std::size_t registers = usage.registers().size();
  std::vector<std::pair<RegisterId, std::uint32_t>> exposed, killed, written;
  // The last block recorded for each register.
  std::vector<std::uint32_t> last_exposed(registers, no_block), last_killed(registers, no_block),
      last_written(registers, no_block);
  const auto note = [](auto& pairs, std::vector<std::uint32_t>& last, RegisterId reg, std::uint32_t block) {
    if (std::exchange(last[reg], block) != block) pairs.emplace_back(reg, block);
  };
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
    for (std::uint32_t at = graph.blocks[block].begin; at < graph.blocks[block].end; ++at) {
      for (const RegisterId reg : usage.reads(at)) {
        if (last_killed[reg] != block) note(exposed, last_exposed, reg, block);
      }
      for (const RegisterWrite& write : usage.writes(at)) {
        note(written, last_written, write.reg, block);
        if (!write.partial) note(killed, last_killed, write.reg, block);
      }
    }
  }
  exposed_.fill(exposed, registers);
  killed_.fill(killed, registers);
  written_.fill(written, registers);
}

}  // namespace lynxpp::ptx
