#include "ptx/passes/counting/refine/trip_counts.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "ptx/analysis/flow/walk.h"
#include "ptx/passes/cost_model.h"
#include "ptx/passes/counting/flow/regions.h"
#include "ptx/passes/facts.h"

namespace lynxpp::ptx {
namespace {

constexpr std::size_t most_steps = 200'000;
/// Puts edges in loops with a constant trip count into the spanning tree first, so that the number of entries
/// of such a loop never depends on its number of iterations.
constexpr double inside_constant_loop = 1e9;

std::size_t registers_of(const TripCount& trips) {
  return (trips.keeps_start ? 1u : 0u) + (trips.above != no_block ? 1u : 0u);
}

bool is_scaled(const TripCount& trips) { return trips.reading.shift != 0 || trips.reading.inverse != 1; }

std::tuple<std::size_t, bool, bool> cost_of(const TripCount& trips) {
  return {registers_of(trips), is_scaled(trips), trips.reading.is_long};
}

class TripCountFinder {
 public:
  TripCountFinder(const CountedFunction& function, const EdgeSites& sites, const TripCountKinds& kinds)
      : function_(function),
        kinds_(kinds),
        graph_(function.graph()),
        sites_(sites),
        regions_(function, sites),
        loops_(function.analyses->loops()),
        dominators_(function.analyses->dominators()),
        registers_(function.analyses->registers()),
        ssa_(function.analyses->ssa()),
        affine_(function.analyses->affine()) {}

  std::vector<TripCount> run() {
    std::vector<TripCount> found;
    for (std::uint32_t loop = 0; kinds_.constants && loop < loops_.loops().size(); ++loop) {
      if (std::optional<TripCount> trips = constant_of(loop)) found.push_back(std::move(*trips));
    }
    if (kinds_.readings) find_readings(found);
    return found;
  }

 private:
  std::optional<TripCount> constant_of(std::uint32_t loop) {
    const std::optional<std::uint64_t> constant = affine_.trip_count(loop);
    const std::vector<std::uint32_t> blocks = loops_.blocks_of(loop);
    const bool is_left_elsewhere = std::ranges::any_of(blocks, [&](std::uint32_t block) {
      return function_.call_may_exit[block] || loops_.is_irreducible(block);
    });
    if (!constant || is_left_elsewhere || loops_.loops()[loop].header == 0) return std::nullopt;
    TripCount trips;
    trips.loop = loop;
    trips.block = loops_.loops()[loop].header;
    trips.constant = constant;
    trips.is_together = regions_.passed_together(loop);
    return trips;
  }

  void find_readings(std::vector<TripCount>& all) {
    std::size_t saved = 0;
    const std::vector<InductionVariable>& variables = affine_.induction_variables();
    for (auto begin = variables.begin(); begin != variables.end();) {
      const std::uint32_t loop = begin->loop;
      const auto end =
          std::find_if(begin, variables.end(), [&](const auto& each) { return each.loop != loop; });
      std::optional<TripCount> found;
      for (; begin != end; ++begin) {
        std::optional<TripCount> trips = reading_of(*begin);
        if (trips && saved + registers_of(*trips) <= cost::registers_of_trip_counts &&
            (!found || cost_of(*trips) < cost_of(*found)))
          found = std::move(trips);
      }
      if (!found) continue;
      saved += registers_of(*found);
      all.push_back(std::move(*found));
    }
  }

  std::optional<TripCount> reading_of(const InductionVariable& variable) {
    const bool is_stepping =
        variable.step.is_constant() && variable.step.exact && variable.step.constant != 0;
    const std::optional<ValueId> changed = is_stepping ? changed_value(variable) : std::nullopt;
    if (!changed) return std::nullopt;
    TripCount result;
    result.loop = variable.loop;
    result.block = ssa_.values()[*changed].block;
    const std::uint32_t end = regions_.end_of_loop(variable.loop);
    if (end == no_block || graph_.blocks[end].size() == 0) return std::nullopt;
    result.point = {ProgramPoint::Kind::block_start, end, 0};
    TripCountReading& reading = result.reading;
    reading.reg = registers_.registers()[variable.reg].name;
    reading.is_long = registers_.registers()[variable.reg].units == 2;
    if (!find_step(variable.step.constant, reading)) return std::nullopt;
    result.keeps_start = !variable.initial.is_constant() || !variable.initial.exact;
    if (!result.keeps_start) {
      const auto initial = static_cast<std::uint64_t>(variable.initial.constant);
      reading.initial = static_cast<std::uint32_t>(initial >> reading.shift);
    }
    result.is_together = regions_.passed_together(variable.loop);
    if (const std::optional<ProgramPoint> exit = common_exit(variable.loop))
      return read_at_exit(variable, *changed, *exit, std::move(result));
    result.is_together = false;
    return read_at_end(variable, *changed, end, std::move(result));
  }

  std::optional<TripCount> read_at_exit(const InductionVariable& variable, ValueId changed,
                                        const ProgramPoint& exit, TripCount result) {
    result.point = exit;
    const BasicBlock& block = graph_.blocks[exit.block];
    const bool is_after = exit.kind == ProgramPoint::Kind::after;
    const bool is_read =
        is_visible(variable.reg, is_after ? block.end - 1 : block.begin) &&
        is_kept(variable.reg, ssa_.values()[changed].instruction, loops_.loops()[variable.loop].header,
                is_after ? block.fall_through : exit.block);
    if (!is_read || (result.keeps_start && !find_entries(variable, result))) return std::nullopt;
    return result;
  }

  /// Reads the register at the loop's end, which threads may also reach without entering the loop.
  std::optional<TripCount> read_at_end(const InductionVariable& variable, ValueId changed, std::uint32_t end,
                                       TripCount result) {
    const Loop& loop = loops_.loops()[variable.loop];
    if (!is_visible(variable.reg, graph_.blocks[end].begin)) return std::nullopt;
    if (!result.keeps_start && is_known_at_end(variable, changed, end)) return result;
    if (!is_kept(variable.reg, ssa_.values()[changed].instruction, loop.header, end) ||
        !find_entries(variable, result))
      return std::nullopt;
    if (dominators_.dominates(loop.header, end)) return result;
    // A step other than one indicates an unrolled loop, in which one more addition costs less than
    // distinguishing the threads.
    if (is_scaled(result)) return std::nullopt;
    result.above = dominators_.immediate(end);
    if (result.above == no_block || loops_.loop_of(result.above) != loop.parent ||
        loops_.is_irreducible(result.above))
      return std::nullopt;
    return result;
  }

  /// True if a difference determines the number of steps.
  static bool find_step(std::int64_t step, TripCountReading& reading) {
    reading.decreases = step < 0;
    const std::uint64_t size =
        step < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
    reading.shift = static_cast<std::uint32_t>(std::countr_zero(size));
    const auto odd = static_cast<std::uint32_t>(size >> reading.shift);
    // Newton's iteration: each round doubles the number of correct bits.
    for (int round = 0; round < 5; ++round) reading.inverse *= 2 - odd * reading.inverse;
    return reading.shift <= (reading.is_long ? word_bits : 0);
  }

  /// Returns the program point after the loop's only exit edge, if lanes exit together.
  std::optional<ProgramPoint> common_exit(std::uint32_t index) const {
    const Loop& loop = loops_.loops()[index];
    if (regions_.diverges_at_exit(index) || loop.exiting.size() != 1) return std::nullopt;
    const std::uint32_t block = loop.exiting[0];
    if (loops_.loop_of(block) != index || graph_.blocks[block].leaves_function ||
        graph_.blocks[block].successors.size() != 2)
      return std::nullopt;
    for (const std::uint32_t next : graph_.blocks[block].successors) {
      if (loops_.contains(index, next)) continue;
      const Increment exit = sites_.edge(block, next).increments[0];
      const bool is_start = exit.point.kind == ProgramPoint::Kind::block_start;
      if (exit.point.kind != ProgramPoint::Kind::after && !is_start) return std::nullopt;
      if (is_start && graph_.blocks[next].size() == 0) return std::nullopt;
      return exit.point;
    }
    return std::nullopt;
  }

  /// Returns the variable's value on the back edge, if a single instruction of the loop, not in an inner
  /// loop, defines it.
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

  /// True if the register's name refers to this register at the instruction.
  bool is_visible(RegisterId reg, std::uint32_t instruction) const {
    return registers_.find(registers_.registers()[reg].name, instruction) == reg;
  }

  /// True if the variable at the end is the loop's final value, or its value before the loop for threads that
  /// did not enter.
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

  /// True if no other instruction changes the register on any path from the loop's header to the end.
  bool is_kept(RegisterId reg, std::uint32_t changing, std::uint32_t header, std::uint32_t end) {
    return walk_blocks(graph_, {header}, end, [&](std::uint32_t block) {
      const BasicBlock& range = graph_.blocks[block];
      steps_ += 1 + range.size();
      if (steps_ > most_steps) return false;
      for (std::uint32_t at = range.begin; at < range.end; ++at) {
        const bool writes = std::ranges::any_of(registers_.writes(at),
                                                [&](const RegisterWrite& write) { return write.reg == reg; });
        if (writes && at != changing) return false;
      }
      return true;
    });
  }

  /// Finds the loop's entries, where the initial value can be read.
  bool find_entries(const InductionVariable& variable, TripCount& result) const {
    const std::uint32_t header = loops_.loops()[variable.loop].header;
    for (const std::uint32_t before : graph_.blocks[header].predecessors) {
      if (loops_.contains(variable.loop, before) || !sites_.is_reachable(before)) continue;
      const std::uint32_t last = graph_.blocks[before].end - 1;
      if (graph_.blocks[before].size() == 0 || !is_visible(variable.reg, last)) return false;
      const Increment entry = sites_.edge(before, header).increments[0];
      if (entry.condition.kind == Condition::Kind::switch_target) return false;
      result.entries.push_back(entry);
    }
    return true;
  }

  const CountedFunction& function_;
  const TripCountKinds kinds_;
  const ControlFlowGraph& graph_;
  const EdgeSites& sites_;
  WarpRegions regions_;
  const LoopNest& loops_;
  const DominatorTree& dominators_;
  const RegisterUsage& registers_;
  const SsaForm& ssa_;
  const AffineAnalysis& affine_;
  std::size_t steps_ = 0;
};

/// A trip count that a flow uses.
struct ChosenTripCount {
  std::uint32_t index = 0;  ///< in the vector of the function's trip counts
  CounterKind kind = CounterKind::threads;
};

std::vector<ChosenTripCount> choose_trip_counts(const std::vector<TripCount>& all,
                                                const TripCountUse& use_of) {
  std::vector<ChosenTripCount> chosen;
  std::set<std::uint32_t> loops;
  for (std::uint32_t index = 0; index < all.size(); ++index) {
    if (loops.contains(all[index].loop)) continue;
    const std::optional<CounterKind> kind = use_of(all[index]);
    if (!kind) continue;
    chosen.push_back({index, *kind});
    loops.insert(all[index].loop);
  }
  return chosen;
}

/// Returns the edge from the block's front node to the block.
CountedEdge trip_edge(const CountedFunction& function, const EdgeSites& sites, const TripCount& trips,
                      const ChosenTripCount& chosen, std::uint32_t front) {
  CountedEdge edge{{front, trips.block}, {}, false};
  if (trips.constant) {
    edge.flow.is_known = true;
    edge.trips = *trips.constant;
    edge.loop = trips.loop;
    return edge;
  }
  const bool is_after = trips.point.kind == ProgramPoint::Kind::after;
  edge.counter = is_after
                     ? sites.edge(trips.point.block, function.graph().blocks[trips.point.block].fall_through)
                     : sites.block_start(trips.point.block);
  edge.counter.increments = {{trips.point, {}, Increment::Amount::trip_count, chosen.index}};
  edge.counter.repeats = true;
  edge.counter.kind = chosen.kind;
  edge.flow.weight = edge.counter.weight * cost::of_a_reading *
                     (chosen.kind == CounterKind::converged ? cost::without_election : 1);
  return edge;
}

/// Per loop: the number of enclosing loops, including itself, with a chosen constant trip count.
std::vector<std::uint32_t> constant_loops_around(const LoopNest& loops, const std::vector<TripCount>& all,
                                                 const std::vector<ChosenTripCount>& chosen) {
  std::vector<std::uint32_t> count(loops.loops().size());
  for (const ChosenTripCount& each : chosen) count[all[each.index].loop] += all[each.index].constant ? 1 : 0;
  for (std::uint32_t loop = 0; loop < count.size(); ++loop) {
    const std::uint32_t parent = loops.loops()[loop].parent;
    if (parent != no_loop) count[loop] += count[parent];
  }
  return count;
}

}  // namespace

std::vector<TripCount> find_trip_counts(const CountedFunction& function, const EdgeSites& sites,
                                        const TripCountKinds& kinds) {
  return TripCountFinder(function, sites, kinds).run();
}

void count_by_trips(const CountedFunction& function, const EdgeSites& sites,
                    const std::vector<TripCount>& all, const TripCountUse& use_of, FlowGraph& flow) {
  const std::vector<ChosenTripCount> chosen = choose_trip_counts(all, use_of);
  const auto blocks = static_cast<std::uint32_t>(function.graph().blocks.size());
  const LoopNest& loops = function.analyses->loops();
  flow.nodes = blocks + static_cast<std::uint32_t>(chosen.size());
  flow.fronts.resize(blocks);
  for (std::uint32_t block = 0; block < blocks; ++block) flow.fronts[block] = block;
  for (std::uint32_t i = 0; i < chosen.size(); ++i) flow.fronts[all[chosen[i].index].block] = blocks + i;
  const std::vector<std::uint32_t> constants = constant_loops_around(loops, all, chosen);
  for (CountedEdge& edge : flow.edges) {
    const std::uint32_t source = edge.flow.source;
    const std::uint32_t target = edge.flow.target;
    if (source == blocks) edge.flow.source = flow.nodes;
    edge.flow.target = target == blocks ? flow.nodes : flow.fronts[target];
    if (source == blocks || target == blocks) continue;
    std::uint32_t loop = loops.loop_of(source);
    while (loop != no_loop && !loops.contains(loop, target)) loop = loops.loops()[loop].parent;
    if (loop != no_loop) edge.flow.weight += constants[loop] * inside_constant_loop;
  }
  for (std::uint32_t i = 0; i < chosen.size(); ++i)
    flow.edges.push_back(trip_edge(function, sites, all[chosen[i].index], chosen[i], blocks + i));
}

std::map<std::uint32_t, std::vector<std::uint32_t>> entries_of_loops(const CountedFunction& function,
                                                                     const FlowGraph& flow) {
  const LoopNest& loops = function.analyses->loops();
  const auto blocks = static_cast<std::uint32_t>(flow.fronts.size());
  std::map<std::uint32_t, std::uint32_t> loop_after;  // by front node of the header
  std::map<std::uint32_t, std::vector<std::uint32_t>> entries;
  for (const CountedEdge& edge : flow.edges) {
    if (edge.trips != 0) loop_after[edge.flow.source] = edge.loop;
  }
  for (std::uint32_t index = 0; index < flow.edges.size(); ++index) {
    const FlowEdge& edge = flow.edges[index].flow;
    const auto loop = loop_after.find(edge.target);
    if (loop == loop_after.end()) continue;
    if (edge.source >= blocks || !loops.contains(loop->second, edge.source))
      entries[loop->second].push_back(index);
  }
  return entries;
}

}  // namespace lynxpp::ptx
