// Liveness by path exploration: from each block that reads a register before writing it, backwards to the
// writes. The cost is linear in the size of the result, which is linear in the code if live ranges are short,
// as in large kernels.
#include "ptx/analysis/registers/liveness.h"

#include <algorithm>

#include "ptx/analysis/registers/block_uses.h"

namespace lynxpp::ptx {
namespace {

/// The registers live at the current point of a walk.
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
  const BlockUses uses(graph, usage);
  std::vector<std::uint32_t> work;
  for (RegisterId reg = 0; reg < usage.registers().size(); ++reg) {
    const auto append = [reg](std::vector<RegisterId>& list) {
      if (!list.empty() && list.back() == reg) return false;
      list.push_back(reg);
      return true;
    };
    uses.walk(
        graph, reg, work, [&](std::uint32_t block) { return append(live_in_[block]); },
        [&](std::uint32_t block) { return append(live_out_[block]); });
  }
}

/// Calls `at_instruction` with each instruction and the values live there, including its results, and
/// `at_entry` with the values live at the entry of each block.
template <typename AtInstruction, typename AtEntry>
static void walk_live(const ControlFlowGraph& graph, const RegisterUsage& usage, const Liveness& liveness,
                      const AtInstruction& at_instruction, const AtEntry& at_entry) {
  LiveSet live(usage);
  for (std::uint32_t block = 0; block < graph.blocks.size(); ++block) {
    live.clear();
    for (const RegisterId reg : liveness.live_out(block)) live.add(reg);
    for (std::uint32_t at = graph.blocks[block].end; at-- > graph.blocks[block].begin;) {
      // An unused result still occupies a register.
      for (const RegisterWrite& write : usage.writes(at)) live.add(write.reg);
      at_instruction(at, live);
      for (const RegisterWrite& write : usage.writes(at)) {
        if (!write.partial) live.remove(write.reg);
      }
      for (const RegisterId reg : usage.reads(at)) live.add(reg);
    }
    at_entry(live);
  }
}

std::vector<std::uint32_t> live_registers(const ControlFlowGraph& graph, const RegisterUsage& usage,
                                          const Liveness& liveness) {
  std::vector<std::uint32_t> units(graph.block_of.size());
  walk_live(
      graph, usage, liveness, [&](std::uint32_t at, const LiveSet& live) { units[at] = live.units; },
      [](const LiveSet&) {});
  return units;
}

RegisterPressure estimate_register_pressure(const ControlFlowGraph& graph, const RegisterUsage& usage,
                                            const Liveness& liveness) {
  RegisterPressure result;
  const auto widen = [&](const LiveSet& live) {
    result.units = std::max(result.units, live.units);
    result.predicates = std::max(result.predicates, live.predicates);
  };
  walk_live(
      graph, usage, liveness,
      [&](std::uint32_t at, const LiveSet& live) {
        const bool first = live.units == result.units && at < result.instruction;
        if (live.units > result.units || first) result.instruction = at;
        widen(live);
      },
      widen);
  return result;
}

}  // namespace lynxpp::ptx
