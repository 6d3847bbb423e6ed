#include "ptx/passes/counting/plan.h"

#include <algorithm>

#include "ptx/analysis/call_graph.h"
#include "ptx/passes/counting/flow/exits.h"
#include "ptx/passes/counting/flow/flow.h"
#include "ptx/passes/counting/refine/alike.h"
#include "ptx/passes/counting/refine/expected.h"
#include "ptx/passes/counting/refine/iterations.h"
#include "ptx/passes/counting/refine/lanes.h"
#include "ptx/passes/counting/refine/leaving.h"
#include "ptx/passes/counting/refine/merge.h"
#include "ptx/passes/counting/refine/paths.h"
#include "ptx/passes/counting/refine/prune.h"
#include "ptx/passes/counting/storage/bits.h"
#include "ptx/passes/counting/storage/return.h"
#include "ptx/passes/counting/storage/slots.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t narrow_registers = 24;  // per function, so that the kernel keeps its occupancy
constexpr std::uint32_t wide_registers = 12;
constexpr std::uint32_t line_slots = 16;  // of 8 bytes
constexpr std::uint32_t most_replicas = 4 * replicas_of_warps;
constexpr std::uint64_t most_bytes = 256u << 10;  // each launch zeroes and copies them
/// So many counters outside of loops are worth registers that are given away at the exit.
constexpr std::uint32_t enough_bits = 4;
constexpr double likely = 0.5;
constexpr int warp_reduction = 80;  // compute capability that has redux.sync
/// Of a function for counting in loops by lanes; beyond it elections count.
constexpr std::uint32_t loop_registers = narrow_registers / 2;

/// One function while it is planned.
struct Draft {
  FunctionPlan plan;
  std::unique_ptr<FunctionAnalyses> analyses;
  CountedFunction counted;
  bool may_exit = false;         ///< some thread may leave the kernel in it
  bool loses_registers = false;  ///< … in a function that it calls
  std::vector<bool> once;        ///< per block, see Counter::is_once
  CountDemand demand;            ///< ids in the function; without tallies
  std::vector<Tally> tallies;    ///< in the demand's order, ids in the unit
};

class Planner {
 public:
  Planner(const InstrumentationUnit& unit, const CountDemand& demand, bool is_wide)
      : unit_(unit), demand_(demand) {
    plan_.is_wide = is_wide;
    plan_.basic_blocks = unit.basic_blocks;
  }

  Result<std::shared_ptr<const CountPlan>> run() {
    make_drafts();
    // Callees first: how often they are entered is asked of their callers.
    for (std::size_t i = drafts_.size(); i-- > 0;) {
      if (Status planned = plan_function(drafts_[i]); !planned) return planned.error();
    }
    for (Draft& draft : drafts_) {
      if (counts_paths(draft)) count_by_paths(draft.plan, draft.counted, demand_.sums != 0);
      if (draft.counted.is_kernel) find_alike_counters(draft.plan, draft.counted, unit_);
    }
    std::vector<MergedFunction> functions;
    for (Draft& draft : drafts_) functions.push_back({&draft.plan, &draft.counted});
    merge_counters(functions, demand_);
    const auto kernel = std::ranges::find(drafts_, 0u, [](const Draft& draft) { return draft.plan.unit; });
    // A tally's low word would wrap around in the frame unnoticed.
    returns_counters_ =
        !plan_.is_wide && demand_.tallies.empty() && kernel != drafts_.end() && !kernel->loses_registers;
    for (Draft& draft : drafts_) choose_storage(draft);
    for (Draft& draft : drafts_) {
      if (returns_counters_ && draft.plan.unit != 0) return_counters(plan_, draft.plan, kernel->plan);
    }
    finish();
    return std::shared_ptr<const CountPlan>(std::make_shared<CountPlan>(std::move(plan_)));
  }

 private:
  /// Registers by election and places.
  using Registers = std::map<std::pair<bool, std::vector<CountPlace>>, std::uint32_t>;

  // ---- functions and calls

  void make_drafts() {
    const std::vector<std::uint32_t> order = callers_first();
    for (const std::uint32_t index : order) {
      Draft draft;
      const FunctionUnit& function = unit_.functions[index];
      draft.plan.unit = index;
      draft.plan.first_block = function.first_block;
      draft.plan.first_instruction = function.first_instruction;
      draft.plan.block_of = function.graph.block_of;
      draft.analyses = std::make_unique<FunctionAnalyses>(*function.function, unit_.launch);
      drafts_.push_back(std::move(draft));
    }
    for (Draft& draft : drafts_) {
      const FunctionUnit& function = unit_.functions[draft.plan.unit];
      draft.counted.unit = &function;
      draft.counted.analyses = draft.analyses.get();
      draft.counted.is_kernel = draft.plan.unit == 0;
      draft.counted.call_may_exit.assign(function.graph.blocks.size(), false);
      cut_demand(draft);
    }
    share_out_tallies();
    find_exits();
    find_callers();
  }

  std::vector<std::uint32_t> callers_first() {
    recursive_.assign(unit_.functions.size(), false);
    if (unit_.functions.size() == 1) return {0};
    const CallGraph calls(unit_.module);
    std::vector<std::uint32_t> order;
    for (std::size_t i = calls.callees_first().size(); i-- > 0;) {
      const CallNode& node = calls.nodes()[calls.callees_first()[i]];
      const FunctionUnit* const function = unit_.find(node.function->name);
      if (function == nullptr || function->function != node.function) continue;
      const auto index = static_cast<std::uint32_t>(function - unit_.functions.data());
      recursive_[index] = node.is_recursive;
      if (function->instrumented) order.push_back(index);
    }
    return order;
  }

  void cut_demand(Draft& draft) {
    const FunctionUnit& function = unit_.functions[draft.plan.unit];
    const auto blocks = static_cast<std::uint32_t>(function.graph.blocks.size());
    const auto instructions = static_cast<std::uint32_t>(function.function->body->instructions.size());
    const auto cut = [](const std::set<std::uint32_t>& all, std::uint32_t first, std::uint32_t count,
                        std::set<std::uint32_t>& out) {
      for (auto at = all.lower_bound(first); at != all.end() && *at < first + count; ++at)
        out.insert(*at - first);
    };
    cut(demand_.thread_blocks, function.first_block, blocks, draft.demand.thread_blocks);
    cut(demand_.warp_blocks, function.first_block, blocks, draft.demand.warp_blocks);
    cut(demand_.thread_guards, function.first_instruction, instructions, draft.demand.thread_guards);
    cut(demand_.warp_guards, function.first_instruction, instructions, draft.demand.warp_guards);
    cut(demand_.warp_divisions, function.first_instruction, instructions, draft.demand.warp_divisions);
  }

  void share_out_tallies() {
    std::map<std::uint32_t, Draft*> by_first_instruction;
    for (Draft& draft : drafts_) {
      if (!draft.plan.block_of.empty()) by_first_instruction[draft.plan.first_instruction] = &draft;
    }
    for (const Tally& tally : demand_.tallies) {
      const auto behind = by_first_instruction.upper_bound(tally.instruction);
      if (behind != by_first_instruction.begin()) std::prev(behind)->second->tallies.push_back(tally);
    }
  }

  /// From which calls threads may not come back because they have left the kernel. `trap` ends the whole
  /// launch.
  void find_exits() {
    std::vector<bool> may_exit(unit_.functions.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::uint32_t index = 0; index < unit_.functions.size(); ++index) {
        if (may_exit[index]) continue;
        const auto& instructions = unit_.functions[index].function->body->instructions;
        may_exit[index] = std::ranges::any_of(instructions, [&](const Instruction& instruction) {
          if (instruction.opcode == "exit") return true;
          const std::uint32_t callee = callee_of(instruction);
          return callee != no_counter && may_exit[callee];
        });
        changed |= may_exit[index];
      }
    }
    for (Draft& draft : drafts_) {
      const FunctionUnit& function = unit_.functions[draft.plan.unit];
      for (std::uint32_t block = 0; block < function.graph.blocks.size(); ++block) {
        const Instruction* call = call_at_end(function, block);
        const std::uint32_t callee = call == nullptr ? no_counter : callee_of(*call);
        if (callee == no_counter || !may_exit[callee]) continue;
        draft.counted.call_may_exit[block] = true;
        draft.loses_registers = true;
      }
    }
  }

  static const Instruction* call_at_end(const FunctionUnit& function, std::uint32_t block) {
    const BasicBlock& range = function.graph.blocks[block];
    if (range.size() == 0) return nullptr;
    const Instruction& last = function.function->body->instructions[range.end - 1];
    return last.traits.kind == OpcodeClass::call ? &last : nullptr;
  }

  /// Index of the unit's function that the instruction calls by name; no_counter: none.
  std::uint32_t callee_of(const Instruction& instruction) const {
    if (instruction.traits.kind != OpcodeClass::call) return no_counter;
    const FunctionUnit* const callee = unit_.find(direct_callee(unit_.module, instruction));
    return callee == nullptr ? no_counter : static_cast<std::uint32_t>(callee - unit_.functions.data());
  }

  /// Where every way into a function can be counted by its callers, its entry needs no counter.
  void find_callers() {
    std::vector<bool> is_counted = recursive_;
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> callers(unit_.functions.size());
    std::vector<std::size_t> draft_of(unit_.functions.size(), drafts_.size());
    for (std::size_t i = 0; i < drafts_.size(); ++i) draft_of[drafts_[i].plan.unit] = i;
    for (std::uint32_t index = 0; index < unit_.functions.size(); ++index) {
      const FunctionUnit& function = unit_.functions[index];
      for (std::uint32_t block = 0; block < function.graph.blocks.size(); ++block) {
        const Instruction* call = call_at_end(function, block);
        const std::uint32_t callee = call == nullptr ? no_counter : callee_of(*call);
        if (callee == no_counter) continue;
        if (call->guarded() || draft_of[index] == drafts_.size()) is_counted[callee] = true;
        callers[callee].emplace_back(draft_of[index], block);
      }
    }
    for (Draft& draft : drafts_) {
      const std::uint32_t index = draft.plan.unit;
      draft.counted.entry_is_known = index == 0 || !is_counted[index];
      if (index != 0 && !is_counted[index]) draft.plan.callers = callers[index];
    }
  }

  // ---- flows and guards

  Status plan_function(Draft& draft) {
    FunctionPlan& plan = draft.plan;
    const FunctionUnit& function = unit_.functions[plan.unit];
    if (!plan_.is_wide && !draft.loses_registers) draft.counted.iterations = find_iterations(draft.counted);
    plan.iterations = draft.counted.iterations;
    std::set<std::uint32_t> exits;  // blocks whose fall-through tells of their guard
    for (const std::uint32_t instruction : draft.demand.thread_guards) {
      const std::uint32_t block = plan.block_of[instruction];
      const bool is_last = function.graph.blocks[block].end == instruction + 1;
      if (!is_last || !guard_follows_from_flow(function, block)) continue;
      exits.insert(block);
      draft.demand.thread_blocks.insert(block);
    }
    if (!draft.demand.thread_blocks.empty()) {
      if (!plan_flow(draft, thread_flow(draft.counted), plan.threads)) return unplaceable(function);
    }
    if (!draft.demand.warp_blocks.empty() && !plan_warps(draft)) return unplaceable(function);
    find_leaving(plan, draft.counted);
    plan_thread_guards(draft, exits);
    plan_warp_guards(draft);
    plan_warp_divisions(draft);
    if (plan.threads) prune_flow(plan, *plan.threads, draft.demand.thread_blocks, exits);
    ask_callers(draft);
    return success();
  }

  static Status unplaceable(const FunctionUnit& function) {
    return failure("no way was found to count the executions of " + function.function->name);
  }

  bool plan_warps(Draft& draft) {
    FunctionPlan& plan = draft.plan;
    const auto others = static_cast<std::ptrdiff_t>(plan.counters.size());
    draft.counted.counts_loops = counts_together(draft);
    draft.counted.leaves_together =
        draft.counted.counts_loops && draft.counted.is_kernel && leaves_together(unit_, draft.counted);
    for (;;) {
      WarpEdges flow = warp_flow(draft.counted);
      draft.once = std::move(flow.once);
      if (!plan_flow(draft, std::move(flow.flow), plan.warps)) return false;
      prune_flow(plan, *plan.warps, draft.demand.warp_blocks, {});
      plan.loops = std::move(flow.loops);
      const bool fits = registers_of_loops(plan) <= loop_registers;
      if (fits && (!counts_paths(draft) || !draft.counted.path_begins.empty())) return true;
      if (fits) {
        draft.counted.path_begins = path_begins(plan, draft.counted, demand_.sums != 0);
        if (draft.counted.path_begins.empty()) return true;
      } else {
        draft.counted.counts_loops = false;
      }
      plan.counters.erase(plan.counters.begin() + others, plan.counters.end());
    }
  }

  /// Whether numbers of lanes may be looked at together, and registers are kept to the function's end.
  bool counts_together(const Draft& draft) const {
    return !plan_.is_wide && !draft.loses_registers && unit_.target.sm >= warp_reduction;
  }

  bool counts_paths(const Draft& draft) const { return draft.counted.is_kernel && counts_together(draft); }

  /// One for the lanes of each loop, and one for each number they count.
  static std::uint32_t registers_of_loops(const FunctionPlan& plan) {
    std::set<std::uint32_t> loops;
    std::size_t numbers = 0;
    for (const Counter& counter : plan.counters) {
      if (!counter.is_maximum() || counter.places.empty()) continue;
      loops.insert(counter.maximum_in);
      ++numbers;
    }
    return static_cast<std::uint32_t>(loops.size() + numbers);
  }

  static bool plan_flow(Draft& draft, FlowGraphEdges flow, std::optional<FlowPlan>& out) {
    std::vector<CountedEdge> edges = flow.edges;
    std::optional<FlowPlan> placed = place_flow(draft, std::move(flow));
    if (!placed) return false;
    for (const std::uint32_t edge : placed->placement.counted()) {
      placed->counters[edge] = static_cast<std::uint32_t>(draft.plan.counters.size());
      draft.plan.counters.push_back(std::move(edges[edge].counter));
    }
    out = std::move(placed);
    return true;
  }

  /// Without counters.
  static std::optional<FlowPlan> place_flow(const Draft& draft, FlowGraphEdges flow) {
    const std::vector<CountedEdge>& edges = flow.edges;
    std::vector<FlowEdge> flows;
    flows.reserve(edges.size());
    for (const CountedEdge& edge : edges) flows.push_back(edge.flow);
    const auto blocks = static_cast<std::uint32_t>(draft.counted.unit->graph.blocks.size());
    std::optional<EdgePlacement> placement = EdgePlacement::make(flow.nodes, std::move(flows));
    if (!placement) return std::nullopt;
    FlowPlan plan{std::move(*placement), {}, 0, false, {}, std::move(flow.fronts)};
    plan.counters.assign(edges.size(), no_counter);
    plan.edges_into.resize(blocks);
    for (std::uint32_t edge = 0; edge < edges.size(); ++edge) {
      if (edges[edge].flow.target < blocks) plan.edges_into[edges[edge].flow.target].push_back(edge);
      if (!edges[edge].is_entry || !edges[edge].flow.is_known) continue;
      plan.entry = edge;
      plan.entry_is_known = true;
    }
    return plan;
  }

  /// What lanes count for their warps in loops, as far as it follows from what is counted for threads or
  /// counts itself.
  static void find_lane_terms_of(Draft& draft) {
    FunctionPlan& plan = draft.plan;
    const std::optional<FlowPlan> unwanted =
        plan.threads || plan.loops.empty() ? std::nullopt : place_flow(draft, thread_flow(draft.counted));
    if (plan.threads || unwanted)
      find_lane_terms(plan, plan.threads ? *plan.threads : *unwanted, draft.counted);
    find_lane_counts_by_leaving(plan, draft.counted);
  }

  static Counter guard_counter(const Draft& draft, std::uint32_t instruction) {
    const std::uint32_t block = draft.plan.block_of[instruction];
    Counter counter = counter_at_start(draft.counted, block);
    counter.places = {{CountPlace::Kind::guard_holds, block, instruction, 0}};
    return counter;
  }

  /// The value of an instruction's guard, for those with the same value in the same block to share a counter.
  std::pair<std::uint32_t, ValueId> guard_value(Draft& draft, std::uint32_t instruction) {
    const std::uint32_t block = draft.plan.block_of[instruction];
    const Instruction& guarded = draft.counted.unit->function->body->instructions[instruction];
    const RegisterId reg = draft.analyses->registers().find(guarded.guard.predicate, instruction);
    return {block, reg == no_register ? no_value : draft.analyses->ssa().read_of(instruction, reg)};
  }

  void plan_thread_guards(Draft& draft, const std::set<std::uint32_t>& exits) {
    FunctionPlan& plan = draft.plan;
    const auto& instructions = draft.counted.unit->function->body->instructions;
    std::map<std::pair<std::uint32_t, ValueId>, std::pair<std::uint32_t, bool>> known;  // counter, negated
    for (const std::uint32_t instruction : draft.demand.thread_guards) {
      const std::uint32_t block = plan.block_of[instruction];
      GuardPlan guard{instruction, no_counter, false, 0};
      const BasicBlock& range = draft.counted.unit->graph.blocks[block];
      if (exits.contains(block) && range.end == instruction + 1) {
        guard.fall_through_edge = plan.threads->edge_between(block, range.fall_through);
        // A block that is never reached has no edges.
        if (draft.analyses->dominators().is_reachable(block)) plan.thread_guards.push_back(guard);
        continue;
      }
      const auto value = guard_value(draft, instruction);
      const bool negated = instructions[instruction].guard.negated;
      const auto found = value.second == no_value ? known.end() : known.find(value);
      if (found != known.end() && (found->second.second == negated || plan.threads)) {
        guard.counter = found->second.first;
        guard.is_opposite = found->second.second != negated;
        if (guard.is_opposite) draft.demand.thread_blocks.insert(block);
      } else {
        guard.counter = static_cast<std::uint32_t>(plan.counters.size());
        plan.counters.push_back(guard_counter(draft, instruction));
        if (value.second != no_value) known.try_emplace(value, guard.counter, negated);
      }
      plan.thread_guards.push_back(guard);
    }
  }

  void plan_warp_guards(Draft& draft) {
    FunctionPlan& plan = draft.plan;
    for (const std::uint32_t instruction : draft.demand.warp_guards) {
      Counter counter = guard_counter(draft, instruction);
      counter.counts_warps = true;
      counter.is_once = !draft.once.empty() && draft.once[plan.block_of[instruction]];
      plan.warp_guards.push_back({instruction, static_cast<std::uint32_t>(plan.counters.size()), false, 0});
      plan.counters.push_back(std::move(counter));
    }
  }

  /// A branch that all lanes take the same way parts none.
  void plan_warp_divisions(Draft& draft) {
    FunctionPlan& plan = draft.plan;
    for (const std::uint32_t instruction : draft.demand.warp_divisions) {
      const std::uint32_t block = plan.block_of[instruction];
      if (!draft.analyses->dominators().is_reachable(block) ||
          (draft.analyses->uniformity().of_branch(block) & varies_in_warp) == 0)
        continue;
      Counter counter = guard_counter(draft, instruction);
      counter.places[0].kind = CountPlace::Kind::divides;
      counter.counts_warps = true;
      counter.is_once = !draft.once.empty() && draft.once[block];
      count_division_by_leaving(plan, draft.counted, block, counter);
      plan.warp_divisions.push_back(
          {instruction, static_cast<std::uint32_t>(plan.counters.size()), false, 0});
      plan.counters.push_back(std::move(counter));
    }
  }

  void ask_callers(Draft& draft) {
    for (const auto& [caller, block] : draft.plan.callers) {
      if (draft.plan.threads) drafts_[caller].demand.thread_blocks.insert(block);
      if (draft.plan.warps) drafts_[caller].demand.warp_blocks.insert(block);
    }
  }

  // ---- storage

  void choose_storage(Draft& draft) {
    FunctionPlan& plan = draft.plan;
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < plan.counters.size(); ++i) {
      if (!plan.counters[i].places.empty()) order.push_back(i);
    }
    std::ranges::stable_sort(order, [&](std::uint32_t left, std::uint32_t right) {
      const Counter& a = plan.counters[left];
      const Counter& b = plan.counters[right];
      return a.is_repeated != b.is_repeated ? a.is_repeated : a.weight > b.weight;
    });
    const std::uint32_t limit = draft.loses_registers ? 0 : plan_.is_wide ? wide_registers : narrow_registers;
    const std::uint32_t kept = limit - std::min(limit, registers_of_loops(plan));
    // The registers are flushed for the sake of one counter in a loop, or of several others; more may come
    // along.
    const auto many = std::ranges::count_if(
        order, [&](std::uint32_t index) { return plan.counters[index].weight >= likely; });
    const bool expects = many != 0 && many < enough_bits && may_leave_together(draft) &&
                         is_worth_expecting(plan, draft.counted);
    const bool keeps_bits =
        limit != 0 && (draft.counted.is_kernel ? many >= enough_bits || expects : returns_counters_);
    PlacedBits bits;
    Registers registers;
    for (const std::uint32_t index : order) {
      Counter& counter = plan.counters[index];
      if (counter.is_alike && limit != 0 && place_bit(plan, counter, bits)) continue;
      if (!counter.is_repeated && ((plan.registers == 0 && !keeps_bits) || counter.weight < likely)) continue;
      const bool is_elected = counter.counts_warps && !counter.is_whole;
      const auto key = std::pair(is_elected, counter.places);
      if (place_bit(plan, counter, bits)) continue;
      const auto found = counter.is_maximum() ? registers.end() : registers.find(key);
      if (found == registers.end() && plan.registers >= kept) continue;
      counter.storage = counter.counts_warps && counter.is_whole  ? Counter::Storage::from_lane_0
                        : counter.is_maximum() && counter.is_once ? Counter::Storage::most
                                                                  : Counter::Storage::summed;
      counter.reg = found == registers.end() ? plan.registers++ : found->second;
      if (!counter.is_maximum()) registers.emplace(key, counter.reg);
    }
    place_rare_bits(plan, order, bits);
    order_bits(plan);
    find_even_counters(plan);
    plan.leaves_together = std::ranges::any_of(plan.counters, [](const Counter& counter) {
      return counter.storage == Counter::Storage::any || counter.storage == Counter::Storage::both ||
             counter.storage == Counter::Storage::most;
    });
    find_lane_terms_of(draft);
    place_loops(plan, registers);
    place_leaving(plan);
    place_iterations(plan);
    const std::map<Tally, std::uint32_t> tallies = place_tallies(draft, limit, order);
    const Function& function = *unit_.functions[plan.unit].function;
    if (settle_alike_counters(plan)) plan_.alike = counted_dimensions(unit_.module.text(function.body_text));
    if (can_leave_together(draft)) expect_bits(plan, draft.counted, order);
    place_slots(plan, order, plan_.counters);
    for (const auto& [tally, index] : tallies) plan_.tallies.emplace(tally, plan.counters[index]);
  }

  bool can_leave_together(const Draft& draft) const {
    return draft.plan.bits + draft.plan.bit_pairs != 0 && may_leave_together(draft);
  }

  bool may_leave_together(const Draft& draft) const {
    if (!draft.counted.is_kernel || plan_.is_wide || draft.loses_registers) return false;
    return draft.counted.leaves_together ||
           (unit_.target.sm >= warp_reduction && leaves_together(unit_, draft.counted));
  }

  /// The registers of loops whose lanes count. What threads count at the same places is shared.
  static void place_loops(FunctionPlan& plan, const Registers& registers) {
    std::map<CountPlace, std::uint32_t> masks;
    for (Counter& counter : plan.counters) {
      std::set<std::uint32_t> loops;
      for (const CountPlace& place : counter.places) {
        if (place.kind == CountPlace::Kind::leaves_apart) loops.insert(place.target);
      }
      if (counter.is_maximum() && !counter.places.empty()) loops.insert(counter.maximum_in);
      if (loops.empty()) continue;
      if (counter.is_maximum() && !counter.lane_count) {
        const auto shared = registers.find({false, counter.places});
        if (shared != registers.end()) {
          counter.lane_reg = shared->second;
          counter.lane_start = plan.registers++;
        } else {
          counter.lane_reg = plan.registers++;
        }
      }
      if (counter.storage == Counter::Storage::most) continue;
      for (const std::uint32_t index : loops) {
        LoopPlan& loop = plan.loops[index];
        const auto [mask, is_new] = masks.try_emplace(loop.begin, plan.registers);
        if (is_new) ++plan.registers;
        loop.mask_reg = mask->second;
      }
    }
  }

  /// The function's tallies: those of repeated blocks get registers first. Position in the plan's counters,
  /// which are appended to `order`.
  std::map<Tally, std::uint32_t> place_tallies(Draft& draft, std::uint32_t limit,
                                               std::vector<std::uint32_t>& order) {
    FunctionPlan& plan = draft.plan;
    const FunctionUnit& function = unit_.functions[plan.unit];
    const auto& instructions = function.function->body->instructions;
    const EdgePlaces places(draft.counted);
    std::map<Tally, std::uint32_t> placed;
    std::vector<std::pair<Tally, Counter>> wanted;
    for (const Tally& tally : draft.tallies) {
      const std::uint32_t index = tally.instruction - plan.first_instruction;
      Counter counter = places.block_start(plan.block_of[index]);
      counter.places.clear();
      counter.counts_warps = false;
      counter.is_tally = true;
      // At an exit the registers have been given away before the routine runs.
      counter.storage = instructions[index].traits.kind == OpcodeClass::exit ? Counter::Storage::memory
                                                                             : Counter::Storage::summed;
      wanted.emplace_back(tally, counter);
    }
    std::ranges::stable_sort(wanted, [](const auto& left, const auto& right) {
      return left.second.is_repeated != right.second.is_repeated ? left.second.is_repeated
                                                                 : left.second.weight > right.second.weight;
    });
    for (auto& [tally, counter] : wanted) {
      const bool is_kept = counter.storage == Counter::Storage::summed && limit != 0;
      const bool is_raised_once = !counter.is_repeated && unit_.probes[tally.probe].measures_sectors;
      const bool is_once = !plan_.is_wide && (tally.is_mark || is_raised_once);
      if (is_kept && is_once && plan.bits < most_bits) {
        counter.is_bit = true;
        counter.bit = plan.bits++;
      } else if (is_kept && plan.registers < limit) {
        counter.reg = plan.registers++;
      } else {
        counter.storage = Counter::Storage::memory;
      }
    }
    // The others share registers with those of other places; a routine may add to several tallies.
    const std::uint32_t first_shared = plan.registers;
    for (auto& [tally, counter] : wanted) {
      if (counter.storage == Counter::Storage::memory) {
        counter.reg = first_shared + 2 * tally.number + (tally.is_high ? 1 : 0);
        plan.registers = std::max(plan.registers, counter.reg + 1);
      }
      placed.emplace(tally, static_cast<std::uint32_t>(plan.counters.size()));
      order.push_back(static_cast<std::uint32_t>(plan.counters.size()));
      plan.counters.push_back(counter);
    }
    return placed;
  }

  void finish() {
    std::size_t flushed = 0;
    for (const Draft& draft : drafts_) {
      if (!draft.counted.is_kernel) flushed += flushed_counters(draft.plan, *draft.counted.unit->function);
    }
    plan_.has_short_flushes = flushed > unit_.most_flushed_fast;
    for (Draft& draft : drafts_) plan_.functions.push_back(std::move(draft.plan));
    if (plan_.counters == 0) return;
    plan_.stride = (plan_.counters + line_slots - 1) / line_slots * line_slots;
    plan_.replicas = most_replicas;
    while (plan_.replicas > 1 && plan_.slots() * 8 > most_bytes) plan_.replicas /= 2;
  }

  const InstrumentationUnit& unit_;
  const CountDemand& demand_;
  std::vector<Draft> drafts_;
  std::vector<bool> recursive_;
  bool returns_counters_ = false;  ///< device functions', see return.h
  CountPlan plan_;
};

}  // namespace

Result<std::shared_ptr<const CountPlan>> make_count_plan(const InstrumentationUnit& unit,
                                                         const CountDemand& demand, bool is_wide) {
  return Planner(unit, demand, is_wide).run();
}

}  // namespace lynxpp::ptx
