#include "ptx/passes/counting/storage/slots.h"

#include <algorithm>
#include <map>

namespace lynxpp::ptx {
namespace {

/// Those in registers first, then the bits, four to a word and in the order they have there: lanes beside
/// each other add them.
void place_flushed(FunctionPlan& plan, const std::vector<std::uint32_t>& order, bool is_alike,
                   std::uint32_t& next) {
  using Storage = Counter::Storage;
  const std::uint32_t first = next;
  for (const std::uint32_t index : order) {
    Counter& counter = plan.counters[index];
    const bool is_here = counter.storage != Storage::memory && counter.is_alike == is_alike;
    if (is_here && !counter.is_bit) counter.slot = next++;
  }
  for (const Storage storage : {Storage::summed, Storage::from_lane_0, Storage::any, Storage::both}) {
    std::map<std::uint32_t, std::vector<Counter*>> bits;
    for (const std::uint32_t index : order) {
      Counter& counter = plan.counters[index];
      if (counter.is_bit && counter.storage == storage && counter.is_alike == is_alike)
        bits[counter.bit].push_back(&counter);
    }
    if (bits.empty()) continue;
    const std::uint32_t base = first + (next - first + 3) / 4 * 4;
    const std::uint32_t lowest = bits.begin()->first / 4 * 4;
    for (const auto& [bit, counters] : bits) {
      for (Counter* counter : counters) counter->slot = base + bit - lowest;
      next = base + bit - lowest + 1;
    }
  }
}

}  // namespace

void place_slots(FunctionPlan& plan, const std::vector<std::uint32_t>& order, std::uint32_t& next) {
  place_flushed(plan, order, false, next);
  place_flushed(plan, order, true, next);
  for (const std::uint32_t index : order) {
    Counter& counter = plan.counters[index];
    if (counter.storage == Counter::Storage::memory) counter.slot = next++;
  }
  if (!plan.paths.counts_by_lanes()) return;
  plan.paths.slot = next;
  next += static_cast<std::uint32_t>(plan.paths.marks.size());
}

std::size_t flushed_counters(const FunctionPlan& plan, const Function& function) {
  const auto exits = std::ranges::count(function.body->instructions, OpcodeClass::exit,
                                        [](const Instruction& each) { return each.traits.kind; });
  const auto flushed = std::ranges::count_if(plan.counters, [](const Counter& counter) {
    return (!counter.places.empty() || counter.is_tally) && counter.frame_word == no_counter &&
           counter.storage != Counter::Storage::memory;
  });
  return static_cast<std::size_t>(flushed * std::max<std::ptrdiff_t>(exits, 1));
}

}  // namespace lynxpp::ptx
