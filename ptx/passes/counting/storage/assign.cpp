#include "ptx/passes/counting/storage/assign.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ptx/passes/cost_model.h"
#include "ptx/passes/counting/draft.h"
#include "ptx/passes/facts.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint32_t most_bits = 96;
/// The number of likely counters outside loops that justifies a flush.
constexpr std::size_t enough_bits = 4;
constexpr std::uint32_t line_slots = 16;  // 8 bytes each
constexpr std::uint32_t most_replicas = 4 * replicas_of_warps;
constexpr std::uint64_t most_bytes = 256u << 10;  // each launch zeroes and copies them

using Lanes = Accumulator::Lanes;
using Storage = Accumulator::Storage;
using Combine = Counter::Combine;

/// Returns how the counter combines the lanes' values.
Combine combine_of(const CounterDraft& draft) {
  if (!draft.counts_warps) return Combine::sum;
  if (draft.is_converged) return Combine::lane_0;
  if (!draft.is_once) return Combine::sum;
  return draft.amounts_to(Increment::Amount::lane_maximum) ? Combine::max : Combine::any;
}

/// Lanes that contribute: for a per-warp sum, one elected lane per warp.
Lanes lanes_of(const CounterDraft& draft, Combine combine) {
  return draft.counts_warps && combine == Combine::sum ? Lanes::elected : Lanes::every;
}

/// Orders counters for register allocation: repeating ones first, then by estimated frequency.
constexpr auto comes_first = [](const auto& a, const auto& b) {
  return a.repeats != b.repeats ? a.repeats : a.weight > b.weight;
};

std::uint32_t round_up(std::uint32_t number, std::uint32_t step) { return (number + step - 1) / step * step; }

class FunctionStorage {
 public:
  FunctionStorage(PlanDraft& plan, std::uint32_t position)
      : plan_(plan),
        draft_(plan.functions[position]),
        counters_(draft_.counters),
        result_(draft_.result),
        position_(position) {
    result_.unit = draft_.function.index;
    limit_ = draft_.function.loses_registers ? 0
             : plan.plan->is_wide            ? cost::wide_registers_of_counters
                                             : cost::registers_of_counters;
  }

  void run() {
    std::ranges::stable_sort(counters_, comes_first);
    place_lane_maxima();
    choose();
    keep_starts_of_lane_maxima();
    place_tallies();
    result_.trip_counts = draft_.facts.trip_counts;
    place_trip_counts();
    result_.converges_at_exit = std::ranges::any_of(result_.counters, [](const Counter& counter) {
      return counter.combine == Combine::max || counter.combine == Combine::any;
    });
    order_counters();
    number_bits();
  }

 private:
  // ---- lane maxima in divergent loops

  /// Replaces per-lane increments in a loop by the lane maximum after it.
  void place_lane_maxima() {
    for (const DivergentLoop& loop : draft_.facts.divergent_loops)
      result_.lane_loops.push_back({loop.begin, loop.end});
    for (CounterDraft& counter : counters_) {
      if (!counter.amounts_to(Increment::Amount::lane_maximum)) continue;
      Increment inside = counter.increments[0];
      const std::uint32_t index = std::exchange(inside.index, 0);
      inside.amount = Increment::Amount::one;
      LaneMaximum maximum{index, no_index, no_index, reading_of(inside, index)};
      if (maximum.trip_count == no_index) maximum.accumulator = number_of(Lanes::every, {inside});
      const auto number = static_cast<std::uint32_t>(result_.lane_maxima.size());
      const ProgramPoint end{ProgramPoint::Kind::block_start, result_.lane_loops[index].end, 0};
      counter.increments = {{end, {}, Increment::Amount::lane_maximum, number}};
      result_.lane_maxima.push_back(maximum);
    }
  }

  /// Returns the trip count that yields the lane's number of increments at the loop's end; no_index if none
  /// does.
  std::uint32_t reading_of(const Increment& inside, std::uint32_t index) const {
    const DivergentLoop& loop = draft_.facts.divergent_loops[index];
    const bool is_of_block = inside.condition.kind == Condition::Kind::always &&
                             (inside.point.kind == ProgramPoint::Kind::block_start ||
                              inside.point.kind == ProgramPoint::Kind::block_end);
    const auto found = std::ranges::find_if(draft_.facts.trip_counts, [&](const TripCount& trips) {
      return is_of_block && !trips.constant && trips.loop == loop.loop && trips.block == inside.point.block &&
             trips.point == ProgramPoint{ProgramPoint::Kind::block_start, loop.end, 0};
    });
    return found == draft_.facts.trip_counts.end()
               ? no_index
               : static_cast<std::uint32_t>(found - draft_.facts.trip_counts.begin());
  }

  // ---- registers, bits, memory

  void choose() {
    const auto is_likely = [](const CounterDraft& each) { return each.weight >= cost::likely; };
    const auto likely_ones = static_cast<std::size_t>(std::ranges::count_if(counters_, is_likely));
    flushes_ =
        limit_ != 0 && (std::ranges::any_of(counters_, &CounterDraft::repeats) || likely_ones >= enough_bits);
    for (const CounterDraft& counter : counters_) add(counter);
  }

  void add(const CounterDraft& draft) {
    Counter counter{no_index, combine_of(draft), draft.variable, 0};
    const bool has_bit = is_bit(draft, counter.combine);
    // Only bits record whether any lane has made the increment; a register is incremented by the warp's
    // leader.
    if (!has_bit && counter.combine == Combine::any) counter.combine = Combine::sum;
    if (has_bit) {
      counter.accumulator = add_bit(draft, counter.combine);
    } else if (is_number(draft, counter.combine)) {
      counter.accumulator = number_of(lanes_of(draft, counter.combine), draft.increments);
    } else {
      // Each lane counts one, or the warp's leader does.
      counter.combine = Combine::sum;
      counter.accumulator = add_accumulator({draft.increments, lanes_of(draft, counter.combine)});
    }
    Accumulator& accumulator = result_.accumulators[counter.accumulator];
    accumulator.is_warp_uniform |=
        accumulator.lanes == Lanes::every &&
        (counter.combine == Combine::lane_0 ||
         std::ranges::all_of(draft.increments, [&](const Increment& each) { return is_warp_uniform(each); }));
    result_.counters.push_back(counter);
  }

  /// True if all launched lanes of a warp make the increment together.
  bool is_warp_uniform(const Increment& increment) const {
    const std::uint32_t block = increment.point.block;
    return !draft_.converged.empty() && draft_.converged[block] &&
           increment.amount == Increment::Amount::one &&
           increment.condition.kind == Condition::Kind::always &&
           (increment.point.kind != ProgramPoint::Kind::after || !draft_.regions.diverges(block));
  }

  /// True for one-time increments if registers are flushed anyway, except for rare elections.
  bool is_bit(const CounterDraft& draft, Combine combine) const {
    if (!flushes_ || draft.repeats || draft.increments.size() != 1 ||
        draft.increments[0].amount != Increment::Amount::one)
      return false;
    if (lanes_of(draft, combine) == Lanes::elected && draft.weight < cost::likely) return false;
    return is_pair(draft, combine) ? result_.bit_pairs < most_bits : result_.bits < most_bits;
  }

  /// True if lanes record the guard's outcome individually, so that the flush detects a divergent branch.
  static bool is_pair(const CounterDraft& draft, Combine combine) {
    return combine == Combine::any && draft.increments[0].condition.kind == Condition::Kind::diverges;
  }

  /// Allocates a bit per counter. Bits that are flushed the same way are adjacent (flush_order).
  std::uint32_t add_bit(const CounterDraft& draft, Combine combine) {
    if (is_pair(draft, combine))
      return add_accumulator({draft.increments, Lanes::every, Storage::bit_pair, result_.bit_pairs++});
    return add_accumulator({draft.increments, lanes_of(draft, combine), Storage::bit, result_.bits++});
  }

  /// True if the counter gets a register: counters that repeat while registers are available, likely counters
  /// if registers are flushed anyway, and always a maximum over the lanes.
  bool is_number(const CounterDraft& draft, Combine combine) {
    if (combine == Combine::max) return true;
    if (draft.amounts_to(Increment::Amount::surplus)) return false;
    if (!flushes_ || (!draft.repeats && draft.weight < cost::likely)) return false;
    return result_.registers < limit_ || numbers_.contains({lanes_of(draft, combine), draft.increments});
  }

  /// Returns the register accumulator. Counters with the same increments share it.
  std::uint32_t number_of(Lanes lanes, const std::vector<Increment>& increments) {
    const auto [entry, is_new] = numbers_.try_emplace({lanes, increments}, no_index);
    if (is_new) entry->second = add_accumulator({increments, lanes, Storage::reg, result_.registers++});
    return entry->second;
  }

  std::uint32_t add_accumulator(Accumulator accumulator) {
    result_.accumulators.push_back(std::move(accumulator));
    return static_cast<std::uint32_t>(result_.accumulators.size() - 1);
  }

  /// If a thread counter shares the accumulator of a lane maximum, keeps the accumulator's value at the
  /// loop's begin instead of zeroing it.
  void keep_starts_of_lane_maxima() {
    for (LaneMaximum& maximum : result_.lane_maxima) {
      if (maximum.accumulator == no_index) continue;
      const auto uses = [&](const Counter& counter) { return counter.accumulator == maximum.accumulator; };
      if (std::ranges::any_of(result_.counters, uses)) maximum.start_reg = result_.registers++;
    }
  }

  // ---- tallies

  /// Tallies in repeating blocks get registers first. The others share registers across sites, because a
  /// routine may add to several tallies; a shared register is flushed directly after the routine.
  void place_tallies() {
    struct Wanted {
      Tally tally;
      double weight;
      bool repeats;
    };
    std::vector<Wanted> wanted;
    const FunctionUnit& function = *draft_.function.unit;
    for (const Tally& tally : draft_.demand.tallies) {
      const std::uint32_t block = function.graph().block_of[tally.instruction - function.first_instruction];
      wanted.push_back({tally, draft_.sites.frequency(block), draft_.sites.repeats(block)});
    }
    std::ranges::stable_sort(wanted, comes_first);
    const std::size_t first = result_.accumulators.size();
    for (const Wanted& each : wanted) {
      const std::uint32_t accumulator = add_accumulator(place_tally(each.tally, each.repeats));
      result_.counters.push_back(
          {accumulator, Combine::sum, plan_.variable_of({Quantity::Kind::tally, 0, each.tally}), 0});
    }
    const std::uint32_t first_shared = result_.registers;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      Accumulator& placed = result_.accumulators[first + i];
      if (placed.storage != Storage::memory) continue;
      placed.index = first_shared + 2 * wanted[i].tally.number + (wanted[i].tally.is_high ? 1 : 0);
      result_.registers = std::max(result_.registers, placed.index + 1);
    }
  }

  Accumulator place_tally(const Tally& tally, bool repeats) {
    const std::uint32_t index = tally.instruction - draft_.function.unit->first_instruction;
    // At an exit, the registers have been flushed before the routine runs.
    const bool is_at_exit = draft_.function.instructions()[index].traits.kind == OpcodeClass::exit;
    if (limit_ == 0 || is_at_exit) return {};
    const bool is_once = tally.is_mark || (!repeats && plan_.inputs.probes[tally.probe].effect ==
                                                           ProbeEffect::measures_sectors);
    if (is_once && !plan_.plan->is_wide && result_.bits < most_bits)
      return {{}, Lanes::every, Storage::bit, result_.bits++};
    if (result_.registers < limit_) return {{}, Lanes::every, Storage::reg, result_.registers++};
    return {};
  }

  // ---- trip counts

  void place_trip_counts() {
    for (const Accumulator& accumulator : result_.accumulators) {
      for (const Increment& increment : accumulator.increments) {
        if (increment.amount == Increment::Amount::trip_count)
          result_.trip_counts[increment.index].is_used = true;
      }
    }
    for (const LaneMaximum& maximum : result_.lane_maxima) {
      if (maximum.trip_count != no_index) result_.trip_counts[maximum.trip_count].is_used = true;
    }
    for (TripCount& trips : result_.trip_counts) {
      if (!trips.is_used) continue;
      if (trips.keeps_start) trips.reading.start_reg = result_.registers++;
      if (trips.above != no_block) trips.reading.entered_reg = result_.registers++;
    }
  }

  // ---- flush order

  /// Orders registers, bits in the order in which the flush combines them (flush.h), bit pairs, memory.
  std::pair<int, std::uint32_t> flush_order(const Counter& counter) const {
    const Accumulator& accumulator = result_.accumulators[counter.accumulator];
    const int after_bits = 1 + static_cast<int>(BitUse::count);
    switch (accumulator.storage) {
      case Storage::reg: return {0, accumulator.index};
      case Storage::bit: return {1 + static_cast<int>(bit_use(counter, accumulator)), accumulator.index};
      case Storage::bit_pair: return {after_bits, accumulator.index};
      case Storage::memory: break;
    }
    return {after_bits + 1, 0};
  }

  void order_counters() {
    std::ranges::stable_sort(result_.counters, {}, [&](const Counter& each) { return flush_order(each); });
    std::map<VariableId, std::uint32_t> positions;
    for (std::uint32_t i = 0; i < result_.counters.size(); ++i) positions[result_.counters[i].variable] = i;
    for (const Tally& tally : draft_.demand.tallies) {
      const VariableId variable = plan_.variable_of({Quantity::Kind::tally, 0, tally});
      plan_.plan->tallies[tally] = {position_, positions.at(variable)};
    }
  }

  /// Numbers bits in the order of their counters.
  void number_bits() {
    std::uint32_t bits = 0, pairs = 0;
    for (const Counter& counter : result_.counters) {
      Accumulator& accumulator = result_.accumulators[counter.accumulator];
      if (accumulator.is_bit()) accumulator.index = bits++;
      if (accumulator.storage == Storage::bit_pair) accumulator.index = pairs++;
    }
    result_.bits = bits;
    result_.bit_pairs = pairs;
  }

  PlanDraft& plan_;
  FunctionDraft& draft_;
  std::vector<CounterDraft>& counters_;
  FunctionCounters& result_;
  const std::uint32_t position_;  ///< position of the function in the plan
  std::uint32_t limit_ = 0;       ///< maximum number of registers
  bool flushes_ = false;
  std::map<std::pair<Lanes, std::vector<Increment>>, std::uint32_t> numbers_;  ///< register accumulators
};

}  // namespace

BitUse bit_use(const Counter& counter, const Accumulator& accumulator) {
  switch (counter.combine) {
    case Counter::Combine::lane_0: return BitUse::lane_0;
    case Counter::Combine::any: return BitUse::any;
    case Counter::Combine::sum:
    case Counter::Combine::max: break;
  }
  return accumulator.is_warp_uniform ? BitUse::uniform_sum : BitUse::sum;
}

void assign_storage(PlanDraft& plan) {
  CountPlan& result = *plan.plan;
  for (std::uint32_t i = 0; i < plan.functions.size(); ++i) {
    FunctionDraft& function = plan.functions[i];
    result.positions[function.function.index] = i;
    FunctionStorage(plan, i).run();
    for (Counter& counter : function.result.counters) counter.slot = result.slots_in_use++;
    result.functions.push_back(std::move(function.result));
  }
  if (result.slots_in_use == 0) return;
  result.stride = round_up(result.slots_in_use, line_slots);
  result.replicas = most_replicas;
  while (result.replicas > 1 && result.slots() * 8 > most_bytes) result.replicas /= 2;
}

}  // namespace lynxpp::ptx
