#include "ptx/passes/counting/refine/iterations.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "ptx/passes/counting/flow/regions.h"
#include "ptx/passes/counting/refine/periods.h"

namespace lynxpp::ptx {
namespace {

/// Of all counters of a flow these are to be chosen first.
constexpr double reading_cost = 0.5;
constexpr std::size_t most_saved = 6;  // of a function: registers that keep something for a loop
constexpr std::size_t most_steps = 200'000;

class IterationFinder {
 public:
  explicit IterationFinder(const CountedFunction& function)
      : function_(function),
        graph_(function.unit->graph),
        places_(function),
        regions_(function, places_),
        uniformity_(function.analyses->uniformity()),
        loops_(function.analyses->loops()),
        dominators_(function.analyses->dominators()),
        meetings_(function.analyses->post_dominators()),
        registers_(function.analyses->registers()),
        ssa_(function.analyses->ssa()),
        affine_(function.analyses->affine()) {}

  std::vector<Iterations> run() {
    std::vector<Iterations> found;
    std::size_t saved = 0;
    const std::vector<InductionVariable>& variables = affine_.induction_variables();
    for (auto begin = variables.begin(); begin != variables.end();) {
      const auto end =
          std::find_if(begin, variables.end(), [&](const auto& each) { return each.loop != begin->loop; });
      std::optional<Iterations> best;
      for (; begin != end; ++begin) {
        std::optional<Iterations> iterations = iterations_of(*begin);
        if (iterations && saved + registers_of(*iterations) <= most_saved &&
            (!best || cost_of(*iterations) < cost_of(*best)))
          best = std::move(iterations);
      }
      if (!best) continue;
      saved += registers_of(*best);
      found.push_back(*best);
    }
    return found;
  }

 private:
  static std::size_t registers_of(const Iterations& iterations) {
    return (iterations.keeps_start ? 1u : 0u) + (iterations.above != no_block ? 1u : 0u);
  }

  static bool is_scaled(const Iterations& iterations) {
    return iterations.shift != 0 || iterations.inverse != 1;
  }

  static std::tuple<std::size_t, bool, bool> cost_of(const Iterations& iterations) {
    return {registers_of(iterations), is_scaled(iterations), iterations.is_long};
  }

  std::optional<Iterations> iterations_of(const InductionVariable& variable) {
    const bool is_stepping =
        variable.step.is_constant() && variable.step.exact && variable.step.constant != 0;
    const std::optional<ValueId> changed = is_stepping ? changed_value(variable) : std::nullopt;
    if (!changed) return std::nullopt;
    Iterations result;
    result.loop = variable.loop;
    result.block = ssa_.values()[*changed].block;
    const std::uint32_t end = end_of(variable.loop);
    if (end == no_block || graph_.blocks[end].size() == 0) return std::nullopt;
    result.place = {CountPlace::Kind::block_start, end, 0, 0};
    result.reg = registers_.registers()[variable.reg].name;
    result.is_long = registers_.registers()[variable.reg].units == 2;
    if (!find_step(variable.step.constant, result)) return std::nullopt;
    result.keeps_start = !variable.initial.is_constant() || !variable.initial.exact;
    if (!result.keeps_start) {
      const auto initial = static_cast<std::uint64_t>(variable.initial.constant);
      result.initial = static_cast<std::uint32_t>(result.is_long ? initial >> result.shift : initial);
    }
    result.is_together = regions_.passed_together(variable.loop);
    if (const std::optional<CountPlace> way_out = way_out_of(variable.loop)) {
      result.place = *way_out;
      const BasicBlock& block = graph_.blocks[way_out->block];
      const bool is_behind = way_out->kind == CountPlace::Kind::fall_through;
      const bool is_read =
          is_visible(variable.reg, is_behind ? block.end - 1 : block.begin) &&
          is_kept(variable.reg, ssa_.values()[*changed].instruction, loops_.loops()[variable.loop].header,
                  is_behind ? block.fall_through : way_out->block);
      if (!is_read || (result.keeps_start && !find_entries(variable, result))) return std::nullopt;
      return result;
    }
    result.is_together = false;
    return read_at_end(variable, *changed, end, std::move(result));
  }

  /// Of threads that have all entered the loop, or not.
  std::optional<Iterations> read_at_end(const InductionVariable& variable, ValueId changed, std::uint32_t end,
                                        Iterations result) {
    const Loop& loop = loops_.loops()[variable.loop];
    const bool is_entered = dominators_.dominates(loop.header, end);
    if (!is_visible(variable.reg, graph_.blocks[end].begin)) return std::nullopt;
    if (!result.keeps_start && (is_entered || !result.runs_once) && is_known_at_end(variable, changed, end))
      return result;
    if (!is_kept(variable.reg, ssa_.values()[changed].instruction, loop.header, end) ||
        !find_entries(variable, result))
      return std::nullopt;
    if (is_entered) return result;
    // A step other than one is that of an unrolled loop, in which one more addition costs less than telling
    // the threads apart.
    if (is_scaled(result)) return std::nullopt;
    result.above = dominators_.immediate(end);
    if (result.above == no_block || loops_.loop_of(result.above) != loop.parent ||
        loops_.is_irreducible(result.above))
      return std::nullopt;
    return result;
  }

  /// Whether differences tell how many steps they are.
  bool find_step(std::int64_t step, Iterations& result) {
    constexpr std::uint32_t word_bits = 32;
    result.decreases = step < 0;
    const std::uint64_t size =
        step < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
    result.shift = power_of_two_in(step);
    const auto odd = static_cast<std::uint32_t>(size >> result.shift);
    // Each round doubles the bits that are right.
    for (int round = 0; round < 5; ++round) result.inverse *= 2 - odd * result.inverse;
    if (result.is_long) return result.shift <= word_bits;
    if (result.shift == 0) return true;
    if (result.shift >= word_bits) return false;
    const std::optional<std::uint32_t> tests = log_of_most_tests(function_, result.loop);
    const std::uint32_t known_bits = word_bits - result.shift;
    if (!tests || *tests > known_bits) return false;
    if (*tests < known_bits) return true;
    const std::vector<std::uint32_t>& exits = loops_.loops()[result.loop].exiting;
    result.runs_once = std::ranges::all_of(
        exits, [&](std::uint32_t block) { return dominators_.dominates(result.block, block); });
    return result.runs_once || std::ranges::all_of(exits, [&](std::uint32_t block) {
             return block != result.block && dominators_.dominates(block, result.block);
           });
  }

  /// Where lanes leave a loop together, when they do so by one way, outside of the loop.
  std::optional<CountPlace> way_out_of(std::uint32_t index) const {
    const Loop& loop = loops_.loops()[index];
    if ((uniformity_.of_loop_exit(index) & varies_in_warp) != 0 || loop.exiting.size() != 1)
      return std::nullopt;
    const std::uint32_t block = loop.exiting[0];
    if (loops_.loop_of(block) != index || graph_.blocks[block].leaves_function ||
        graph_.blocks[block].successors.size() != 2)
      return std::nullopt;
    for (const std::uint32_t next : graph_.blocks[block].successors) {
      if (loops_.contains(index, next)) continue;
      const std::vector<CountPlace> places = places_.edge(block, next).places;
      if (places.size() != 1 || (places[0].kind != CountPlace::Kind::fall_through &&
                                 places[0].kind != CountPlace::Kind::block_start))
        return std::nullopt;
      if (places[0].kind == CountPlace::Kind::block_start && graph_.blocks[next].size() == 0)
        return std::nullopt;
      return places[0];
    }
    return std::nullopt;
  }

  /// What the variable is when the loop goes on, if one instruction of the loop, and none in it, makes it.
  std::optional<ValueId> changed_value(const InductionVariable& variable) const {
    const auto& predecessors = graph_.blocks[loops_.loops()[variable.loop].header].predecessors;
    const auto inputs = ssa_.phi_inputs(variable.phi);
    std::optional<ValueId> changed;
    for (std::size_t index = 0; index < predecessors.size(); ++index) {
      if (!loops_.contains(variable.loop, predecessors[index])) continue;
      if (inputs[index] == no_value || (changed && *changed != inputs[index])) return std::nullopt;
      changed = inputs[index];
    }
    if (!changed) return std::nullopt;
    const Value& value = ssa_.values()[*changed];
    const std::uint32_t units = registers_.registers()[variable.reg].units;
    if (value.kind != ValueKind::write || value.previous != no_value || (units != 1 && units != 2) ||
        loops_.loop_of(value.block) != variable.loop || loops_.is_irreducible(value.block))
      return std::nullopt;
    return changed;
  }

  /// Where all threads come to that enter the loop, once for each time they do.
  std::uint32_t end_of(std::uint32_t loop) const {
    std::uint32_t end = loops_.loops()[loop].header;
    if (end == 0 || loops_.is_irreducible(end)) return no_block;
    while (end != no_block && loops_.contains(loop, end)) end = meetings_[end];
    if (end == no_block || loops_.loop_of(end) != loops_.loops()[loop].parent || loops_.is_irreducible(end))
      return no_block;
    return end;
  }

  /// The register's name means the register there.
  bool is_visible(RegisterId reg, std::uint32_t instruction) const {
    return registers_.find(registers_.registers()[reg].name, instruction) == reg;
  }

  /// At the end the variable is what the loop left, or what it was before the loop for those that did not
  /// enter it.
  bool is_known_at_end(const InductionVariable& variable, ValueId changed, std::uint32_t end) const {
    for (const ValueId phi : ssa_.phis(end)) {
      if (ssa_.values()[phi].reg != variable.reg) continue;
      return std::ranges::all_of(ssa_.phi_inputs(phi), [&](ValueId input) {
        if (input == changed || input == variable.phi) return true;
        if (input == no_value) return false;
        const std::optional<AffineForm> form = affine_.of_value(input);
        return form && *form == variable.initial;
      });
    }
    return false;
  }

  /// Nothing but one instruction changes the register on the way from the loop's header to the end.
  bool is_kept(RegisterId reg, std::uint32_t changing, std::uint32_t header, std::uint32_t end) {
    std::vector<bool> seen(graph_.blocks.size());
    std::vector<std::uint32_t> pending{header};
    while (!pending.empty()) {
      const std::uint32_t block = pending.back();
      pending.pop_back();
      if (block == end || seen[block]) continue;
      const BasicBlock& range = graph_.blocks[block];
      steps_ += 1 + range.size();
      if (steps_ > most_steps) return false;
      seen[block] = true;
      for (std::uint32_t at = range.begin; at < range.end; ++at) {
        const bool writes = std::ranges::any_of(registers_.writes(at),
                                                [&](const RegisterWrite& write) { return write.reg == reg; });
        if (writes && at != changing) return false;
      }
      pending.insert(pending.end(), range.successors.begin(), range.successors.end());
    }
    return true;
  }

  /// Where its first value can be read.
  bool find_entries(const InductionVariable& variable, Iterations& result) const {
    const std::uint32_t header = loops_.loops()[variable.loop].header;
    for (const std::uint32_t before : graph_.blocks[header].predecessors) {
      if (loops_.contains(variable.loop, before) || !places_.is_reachable(before)) continue;
      const std::uint32_t last = graph_.blocks[before].end - 1;
      if (graph_.blocks[before].size() == 0 || !is_visible(variable.reg, last)) return false;
      const std::vector<CountPlace> places = places_.edge(before, header).places;
      if (places.size() != 1 || places[0].kind == CountPlace::Kind::switch_target) return false;
      result.entries.push_back(places[0]);
    }
    return true;
  }

  const CountedFunction& function_;
  const ControlFlowGraph& graph_;
  const EdgePlaces places_;
  WarpRegions regions_;
  const Uniformity& uniformity_;
  const LoopNest& loops_;
  const DominatorTree& dominators_;
  const std::vector<std::uint32_t>& meetings_;
  const RegisterUsage& registers_;
  const SsaForm& ssa_;
  const AffineAnalysis& affine_;
  std::size_t steps_ = 0;
};

}  // namespace

std::vector<Iterations> find_iterations(const CountedFunction& function) {
  return IterationFinder(function).run();
}

void count_by_iterations(const CountedFunction& function, const std::vector<ChosenIterations>& chosen,
                         bool counts_warps, FlowGraphEdges& flow) {
  const auto blocks = static_cast<std::uint32_t>(function.unit->graph.blocks.size());
  flow.nodes = blocks + static_cast<std::uint32_t>(chosen.size());
  flow.fronts.resize(blocks);
  for (std::uint32_t block = 0; block < blocks; ++block) flow.fronts[block] = block;
  for (std::uint32_t i = 0; i < chosen.size(); ++i)
    flow.fronts[function.iterations[chosen[i].index].block] = blocks + i;
  for (CountedEdge& edge : flow.edges) {
    if (edge.flow.source == blocks) edge.flow.source = flow.nodes;
    edge.flow.target = edge.flow.target == blocks ? flow.nodes : flow.fronts[edge.flow.target];
  }
  const EdgePlaces places(function);
  for (std::uint32_t i = 0; i < chosen.size(); ++i) {
    const Iterations& iterations = function.iterations[chosen[i].index];
    const CountPlace& place = iterations.place;
    const std::uint32_t behind = function.unit->graph.blocks[place.block].fall_through;
    CountedEdge edge{{blocks + i, iterations.block},
                     place.kind == CountPlace::Kind::fall_through ? places.edge(place.block, behind)
                                                                  : places.block_start(place.block),
                     false};
    edge.counter.places = {{CountPlace::Kind::iterations, place.block, 0, chosen[i].index}};
    edge.counter.is_repeated = true;
    edge.counter.counts_warps = counts_warps;
    edge.counter.is_whole = chosen[i].is_whole;
    edge.flow.weight = edge.counter.weight * reading_cost * (chosen[i].is_whole ? 0.25 : 1);
    flow.edges.push_back(std::move(edge));
  }
}

std::uint32_t FlowPlan::edge_between(std::uint32_t source, std::uint32_t target) const {
  // The outside, and fronts of a flow that has others, are no blocks.
  if (source >= fronts.size() || target >= fronts.size()) return no_counter;
  const std::vector<FlowEdge>& edges = placement.edges();
  const auto comes_from = [&](std::uint32_t edge) { return edges[edge].source == source; };
  if (fronts[target] == target) {
    const auto found = std::ranges::find_if(edges_into[target], comes_from);
    return found == edges_into[target].end() ? no_counter : *found;
  }
  for (std::uint32_t edge = 0; edge < edges.size(); ++edge) {
    if (comes_from(edge) && edges[edge].target == fronts[target]) return edge;
  }
  return no_counter;
}

void place_iterations(FunctionPlan& plan) {
  std::vector<bool> is_used(plan.iterations.size());
  for (const Counter& counter : plan.counters) {
    if (counter.places.empty()) continue;
    for (const CountPlace& place : counter.places) {
      if (place.kind == CountPlace::Kind::iterations) is_used[place.target] = true;
    }
    if (!counter.lane_count) continue;
    for (const LaneCount::Term& term : counter.lane_count->terms) {
      if (term.is_iterations) is_used[term.counter] = true;
    }
  }
  for (const LoopPlan& loop : plan.loops) {
    if (loop.leaving && loop.leaving->is_used && loop.leaving->iterations != no_counter)
      is_used[loop.leaving->iterations] = true;
  }
  for (std::uint32_t index = 0; index < plan.iterations.size(); ++index) {
    Iterations& iterations = plan.iterations[index];
    iterations.is_used = is_used[index];
    if (!is_used[index]) continue;
    if (iterations.keeps_start) iterations.start_reg = plan.registers++;
    if (iterations.above != no_block) iterations.entered_reg = plan.registers++;
  }
}

}  // namespace lynxpp::ptx
