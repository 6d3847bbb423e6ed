#include "ptx/passes/counting/storage/assign.h"

#include <algorithm>
#include <map>
#include <tuple>
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

using Amount = Increment::Amount;
using Storage = Counter::Storage;

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
    limit_ = !plan.keeps_registers(draft_.function) ? 0
             : plan.plan->is_wide                   ? cost::wide_registers_of_counters
                                                    : cost::registers_of_counters;
  }

  void run() {
    std::ranges::stable_sort(counters_, comes_first);
    place_lane_maxima();
    choose();
    keep_starts_of_lane_maxima();
    place_tallies();
    order_counters();
  }

 private:
  // ---- lane maxima in divergent loops

  /// Replaces per-lane increments in a loop by the lane maximum after it.
  void place_lane_maxima() {
    for (CounterDraft& counter : counters_) {
      if (!counter.amounts_to(Amount::lane_maximum)) continue;
      Increment inside = counter.increments[0];
      const std::uint32_t index = std::exchange(inside.index, 0);
      inside.amount = Amount::one;
      const DivergentLoop& loop = draft_.facts.divergent_loops[index];
      LaneMaximum maximum{loop.begin, loop.end, {CounterKind::threads, {inside}, no_variable, Storage::reg}};
      maximum.lanes.index = register_of(maximum.lanes);
      const auto number = static_cast<std::uint32_t>(result_.lane_maxima.size());
      const ProgramPoint end{ProgramPoint::Kind::block_start, loop.end, 0};
      counter.increments = {{end, {}, Amount::lane_maximum, number}};
      result_.lane_maxima.push_back(std::move(maximum));
    }
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
    Counter counter{draft.kind, draft.increments, draft.variable};
    if (fits_bit(draft) && result_.bits < most_bits) {
      counter.storage = Storage::bit;
      ++result_.bits;
    } else if (has_register(counter, draft)) {
      counter.storage = Storage::reg;
      counter.index = register_of(counter);
    } else if (counter.kind == CounterKind::converged) {
      counter.kind = CounterKind::elected;
    }
    result_.counters.push_back(std::move(counter));
  }

  /// True for one-time increments if registers are flushed anyway, except for rare elections.
  bool fits_bit(const CounterDraft& draft) const {
    return flushes_ && plan_.plan->sums_lanes && !draft.repeats && draft.increments.size() == 1 &&
           draft.amounts_to(Amount::one) &&
           (draft.kind != CounterKind::elected || draft.weight >= cost::likely);
  }

  /// True if the counter gets a register: counters that repeat while registers are available, and likely
  /// counters if registers are flushed anyway.
  bool has_register(const Counter& counter, const CounterDraft& draft) const {
    if (draft.amounts_to(Amount::surplus)) return false;
    if (!flushes_ || (!draft.repeats && draft.weight < cost::likely)) return false;
    return result_.registers < limit_ || registers_.contains(key_of(counter));
  }

  /// Counters with equal keys can share a register.
  using RegisterKey = std::pair<bool, std::vector<Increment>>;
  static RegisterKey key_of(const Counter& counter) {
    return {counter.kind == CounterKind::elected, counter.increments};
  }

  std::uint32_t register_of(const Counter& counter) {
    const auto [entry, is_new] = registers_.try_emplace(key_of(counter), result_.registers);
    if (is_new) ++result_.registers;
    return entry->second;
  }

  /// If a thread counter shares the register of a lane maximum, keeps its value at the loop's begin instead
  /// of zeroing it.
  void keep_starts_of_lane_maxima() {
    for (LaneMaximum& maximum : result_.lane_maxima) {
      const auto shares = [&](const Counter& counter) {
        return counter.storage == Storage::reg && counter.index == maximum.lanes.index;
      };
      if (std::ranges::any_of(result_.counters, shares)) maximum.start_reg = result_.registers++;
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
    const std::size_t first = result_.counters.size();
    for (const Wanted& each : wanted) result_.counters.push_back(place_tally(each.tally, each.repeats));
    const std::uint32_t first_shared = result_.registers;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      Counter& placed = result_.counters[first + i];
      if (placed.storage != Storage::memory) continue;
      placed.index = first_shared + 2 * wanted[i].tally.number + (wanted[i].tally.is_high ? 1 : 0);
      result_.registers = std::max(result_.registers, placed.index + 1);
    }
  }

  Counter place_tally(const Tally& tally, bool repeats) {
    Counter counter{CounterKind::threads, {}, plan_.variable_of({Quantity::Kind::tally, 0, tally})};
    const std::uint32_t index = tally.instruction - draft_.function.unit->first_instruction;
    // At an exit, the registers have been flushed before the routine runs.
    const bool is_at_exit = draft_.function.instructions()[index].traits.kind == OpcodeClass::exit;
    if (limit_ == 0 || is_at_exit) return counter;
    const bool is_once = tally.is_mark || (!repeats && plan_.inputs.probes[tally.probe].effect ==
                                                           ProbeEffect::measures_sectors);
    if (is_once && plan_.plan->sums_lanes && result_.bits < most_bits) {
      counter.storage = Storage::bit;
      ++result_.bits;
    } else if (result_.registers < limit_) {
      counter.storage = Storage::reg;
      counter.index = result_.registers++;
    }
    return counter;
  }

  // ---- flush order

  /// Orders registers, bits and memory, because the flush adds adjacent slots, and bits by kind, because it
  /// combines adjacent bits together. Numbers the bits in this order.
  void order_counters() {
    std::ranges::stable_sort(result_.counters, {}, [](const Counter& each) {
      return std::tuple(each.storage, each.is_bit() && each.kind == CounterKind::converged,
                        each.storage == Storage::reg ? each.index : 0);
    });
    result_.bits = 0;
    std::map<VariableId, std::uint32_t> positions;
    for (std::uint32_t i = 0; i < result_.counters.size(); ++i) {
      Counter& counter = result_.counters[i];
      positions[counter.variable] = i;
      if (counter.is_bit()) counter.index = result_.bits++;
    }
    for (const Tally& tally : draft_.demand.tallies) {
      const VariableId variable = plan_.variable_of({Quantity::Kind::tally, 0, tally});
      plan_.plan->tallies[tally] = {position_, positions.at(variable)};
    }
  }

  PlanDraft& plan_;
  FunctionDraft& draft_;
  std::vector<CounterDraft>& counters_;
  FunctionCounters& result_;
  const std::uint32_t position_;  ///< position of the function in the plan
  std::uint32_t limit_ = 0;       ///< maximum number of registers
  bool flushes_ = false;
  std::map<RegisterKey, std::uint32_t> registers_;
};

}  // namespace

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
