// Liveness by path exploration: from each block that reads a register before writing it, backwards to the writes. The cost is
// that of the answer, which is linear where live ranges are short, as they are in large kernels.
#include "ptx/analysis/liveness.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

/// Per register the blocks that read it before writing it, and the blocks that write it wholly.
struct BlockUses {
  std::vector<std::vector<std::uint32_t>> exposed, killed;
};

BlockUses collect(const ControlFlowGraph& graph, const RegisterUsage& usage) {
  const std::size_t registers = usage.registers().size();
  BlockUses uses{std::vector<std::vector<std::uint32_t>>(registers),
                 std::vector<std::vector<std::uint32_t>>(registers)};
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
    const auto is_in = [block](const std::vector<std::uint32_t>& list) {
      return !list.empty() && list.back() == block;
    };
    for (std::uint32_t at = graph.blocks[block].begin; at < graph.blocks[block].end; ++at) {
      for (const RegisterId reg : usage.reads(at)) {
        if (!is_in(uses.killed[reg]) && !is_in(uses.exposed[reg])) uses.exposed[reg].push_back(block);
      }
      for (const RegisterWrite& write : usage.writes(at)) {
        if (!write.partial && !is_in(uses.killed[write.reg])) uses.killed[write.reg].push_back(block);
      }
    }
  }
  return uses;
}

/// The registers live at a walk's point.
class LiveSet {
 public:
  explicit LiveSet(const RegisterUsage& usage) : usage_(usage), is_live_(usage.registers().size(), false) {}

  void add(RegisterId reg) {
    if (is_live_[reg]) return;
    is_live_[reg] = true;
    members_.push_back(reg);
    count(reg, 1);
  }
  void remove(RegisterId reg) {
    if (!is_live_[reg]) return;
    is_live_[reg] = false;
    count(reg, -1);
  }
  void clear() {
    for (const RegisterId reg : members_) is_live_[reg] = false;
    members_.clear();
    units = predicates = 0;
  }
  std::uint32_t units = 0;
  std::uint32_t predicates = 0;

 private:
  void count(RegisterId reg, int sign) {
    const Register& info = usage_.registers()[reg];
    units += static_cast<std::uint32_t>(sign) * info.units;
    if (info.is_predicate) predicates += static_cast<std::uint32_t>(sign);
  }

  const RegisterUsage& usage_;
  std::vector<bool> is_live_;
  std::vector<RegisterId> members_;
};

}  // namespace

Liveness::Liveness(const ControlFlowGraph& graph, const RegisterUsage& usage)
    : live_in_(graph.blocks.size()), live_out_(graph.blocks.size()) {
  const BlockUses uses = collect(graph, usage);
  const auto ends_with = [](const std::vector<RegisterId>& list, RegisterId reg) {
    return !list.empty() && list.back() == reg;
  };
  std::vector<std::uint32_t> work;
  for (RegisterId reg = 0; reg < usage.registers().size(); ++reg) {
    work = uses.exposed[reg];
    while (!work.empty()) {
      const std::uint32_t block = work.back();
      work.pop_back();
      if (ends_with(live_in_[block], reg)) continue;
      live_in_[block].push_back(reg);
      for (const std::uint32_t predecessor : graph.blocks[block].predecessors) {
        if (ends_with(live_out_[predecessor], reg)) continue;
        live_out_[predecessor].push_back(reg);
        if (!std::ranges::binary_search(uses.killed[reg], predecessor)) work.push_back(predecessor);
      }
    }
  }
}

RegisterPressure estimate_register_pressure(const ControlFlowGraph& graph, const RegisterUsage& usage,
                                            const Liveness& liveness) {
  RegisterPressure result;
  LiveSet live(usage);
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
    live.clear();
    for (const RegisterId reg : liveness.live_out(block)) live.add(reg);
    for (std::uint32_t at = graph.blocks[block].end; at-- > graph.blocks[block].begin;) {
      // A result nobody reads still needs a place.
      for (const RegisterWrite& write : usage.writes(at)) live.add(write.reg);
      const bool first = live.units == result.units && at < result.instruction;
      if (live.units > result.units || first) result.instruction = at;
      result.units = std::max(result.units, live.units);
      result.predicates = std::max(result.predicates, live.predicates);
      for (const RegisterWrite& write : usage.writes(at)) {
        if (!write.partial) live.remove(write.reg);
      }
      for (const RegisterId reg : usage.reads(at)) live.add(reg);
    }
    result.units = std::max(result.units, live.units);
    result.predicates = std::max(result.predicates, live.predicates);
  }
  return result;
}

}  // namespace lynxpp::ptx
