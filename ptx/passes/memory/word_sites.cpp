#include "ptx/passes/memory/word_sites.h"

#include <algorithm>

namespace lynxpp::ptx {
namespace {

constexpr Variance in_block = varies_in_warp | varies_in_block;

bool follows_from_configuration(const Symbol& symbol) {
  switch (symbol.kind) {
    case SymbolKind::tid:
    case SymbolKind::ntid:
    case SymbolKind::ctaid:
    case SymbolKind::nctaid:
    case SymbolKind::iteration:
    case SymbolKind::variable: return true;
    case SymbolKind::parameter:
    case SymbolKind::value: break;
  }
  return false;
}

}  // namespace

WordSiteAnalysis::WordSiteAnalysis(FunctionAnalyses& analyses, bool entered_together)
    : analyses_(analyses), entered_together_(entered_together) {
  find_control_dependences();
}

/// Blocks between a branch's successor and its reconvergence point are control-dependent on the branch.
void WordSiteAnalysis::find_control_dependences() {
  const ControlFlowGraph& graph = analyses_.graph();
  const std::vector<std::uint32_t>& post_dominators = analyses_.post_dominators();
  deciding_.resize(graph.blocks.size());
  for (std::uint32_t branch = 0; branch < graph.blocks.size(); ++branch) {
    const BasicBlock& block = graph.blocks[branch];
    if (block.successors.size() + (block.leaves_function ? 1 : 0) < 2) continue;
    for (const std::uint32_t successor : block.successors) {
      std::size_t steps = 0;
      for (std::uint32_t each = successor; each != post_dominators[branch] && each != no_block;
           each = post_dominators[each]) {
        deciding_[each].insert(branch);
        if (++steps > graph.blocks.size()) break;
      }
    }
  }
  for (bool grown = true; grown;) {
    grown = false;
    for (std::set<std::uint32_t>& own : deciding_) {
      std::set<std::uint32_t> all = own;
      for (const std::uint32_t each : own) all.insert(deciding_[each].begin(), deciding_[each].end());
      grown |= all.size() != own.size();
      own = std::move(all);
    }
  }
}

bool WordSiteAnalysis::is_static(std::uint32_t instruction) const {
  const std::uint32_t block = analyses_.graph().block_of[instruction];
  const LoopNest& loops = analyses_.loops();
  const AffineAnalysis& affine = analyses_.affine();
  if (analyses_.function().body->instructions[instruction].guarded() || loops.is_irreducible(block))
    return false;
  const auto is_counted_exit = [&](std::uint32_t branch) {
    for (std::uint32_t loop = loops.loop_of(block); loop != no_loop; loop = loops.loops()[loop].parent) {
      const std::vector<std::uint32_t>& exiting = loops.loops()[loop].exiting;
      if (affine.trip_count(loop) && std::ranges::find(exiting, branch) != exiting.end()) return true;
    }
    return false;
  };
  if (!std::ranges::all_of(deciding_[block], is_counted_exit)) return false;
  const std::optional<AffineForm> address = affine.of_address(instruction);
  if (!address) return false;
  std::size_t bases = 0;
  for (const Term& term : address->terms) {
    for (std::uint8_t i = 0; i < term.product.degree; ++i) {
      const Symbol& symbol = affine.symbols()[term.product.symbols[i]];
      if (follows_from_configuration(symbol)) continue;
      const bool is_base =
          symbol.kind == SymbolKind::parameter && term.product.degree == 1 && term.coefficient == 1;
      if (!is_base || ++bases > 1) return false;
    }
  }
  return true;
}

bool WordSiteAnalysis::is_together(std::uint32_t instruction) const {
  const std::uint32_t block = analyses_.graph().block_of[instruction];
  if (!entered_together_ || analyses_.loops().is_irreducible(block)) return false;
  const Uniformity& uniformity = analyses_.uniformity();
  const auto diverges_in_block = [&](std::uint32_t branch) {
    return (uniformity.of_branch(branch) & in_block) != 0;
  };
  if (std::ranges::any_of(deciding_[block], diverges_in_block)) return false;
  const Instruction& read = analyses_.function().body->instructions[instruction];
  if (!read.guarded()) return true;
  const RegisterId guard = analyses_.registers().find(read.guard.predicate, instruction);
  return (uniformity.of_register_read(instruction, guard) & in_block) == 0;
}

/// True if the address is loop-invariant: no term depends on the iteration or is computed inside the loop.
bool WordSiteAnalysis::stays_in(const AffineForm& address, std::uint32_t loop) const {
  const LoopNest& loops = analyses_.loops();
  const AffineAnalysis& affine = analyses_.affine();
  for (const Term& term : address.terms) {
    for (std::uint8_t i = 0; i < term.product.degree; ++i) {
      const Symbol& symbol = affine.symbols()[term.product.symbols[i]];
      if (symbol.kind == SymbolKind::iteration && loops.contains(loop, loops.loops()[symbol.index].header))
        return false;
      if (symbol.kind == SymbolKind::value &&
          loops.contains(loop, analyses_.ssa().values()[symbol.index].block))
        return false;
    }
  }
  return true;
}

/// Considers only accesses executed in every iteration, with a known state space.
std::uint32_t WordSiteAnalysis::loop_of_address(std::uint32_t instruction, const MemoryAccess& access) const {
  const std::uint32_t block = analyses_.graph().block_of[instruction];
  const LoopNest& loops = analyses_.loops();
  const std::optional<AffineForm> address = analyses_.affine().of_address(instruction);
  const Instruction& read = analyses_.function().body->instructions[instruction];
  const bool is_plain = access.space == StateSpace::global || access.space == StateSpace::shared;
  if (!address || !is_plain || access.selects_lanes() || !access.follows_from_lanes() || access.bytes == 0 ||
      read.guarded() || loops.is_irreducible(block) || memory_accesses(read).count != 1)
    return no_loop;
  std::uint32_t outermost = no_loop;
  for (std::uint32_t loop = loops.loop_of(block); loop != no_loop; loop = loops.loops()[loop].parent) {
    const bool in_every_iteration = std::ranges::all_of(
        loops.loops()[loop].latches,
        [&](std::uint32_t latch) { return analyses_.dominators().dominates(block, latch); });
    if (!in_every_iteration || !stays_in(*address, loop)) break;
    outermost = loop;
  }
  return outermost;
}

std::optional<WordSite> WordSiteAnalysis::find(std::uint32_t instruction, const MemoryAccess& access) const {
  WordSite site;
  const bool has_address = access.follows_from_lanes() && !access.selects_lanes();
  const Variance variance =
      has_address ? analyses_.uniformity().of_operand(instruction, *access.address) : varies;
  if ((variance & in_block) == 0 && is_together(instruction)) site.threads = WordSite::Threads::of_the_block;
  site.loop = loop_of_address(instruction, access);
  if (site.threads != WordSite::Threads::each || site.loop != no_loop) return site;
  const bool is_irreducible = analyses_.loops().is_irreducible(analyses_.graph().block_of[instruction]);
  if ((variance & varies_in_warp) != 0 || is_irreducible) return std::nullopt;
  site.threads = WordSite::Threads::of_a_warp;
  return site;
}

std::vector<bool> functions_entered_together(const Module& module, const ReachedFunctions& reached) {
  std::vector<bool> together(reached.functions.size(), !reached.calls_indirectly);
  if (!together.empty()) together[0] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < reached.functions.size(); ++i) {
      const Function& caller = *reached.functions[i].function;
      const WordSiteAnalysis analysis(*reached.functions[i].analyses, together[i]);
      for (std::uint32_t at = 0; at < caller.body->instructions.size(); ++at) {
        const Instruction& call = caller.body->instructions[at];
        if (call.traits.kind != OpcodeClass::call) continue;
        const FunctionUnit* const callee = reached.find(direct_callee(module, call));
        if (callee == nullptr || analysis.is_together(at)) continue;
        const std::uint32_t index = reached.position_of(*callee);
        changed |= together[index];
        together[index] = false;
      }
    }
  }
  return together;
}

}  // namespace lynxpp::ptx
