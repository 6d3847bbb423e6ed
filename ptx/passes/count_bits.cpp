#include "ptx/passes/count_bits.h"

#include <set>

namespace lynxpp::ptx {

bool place_bit(FunctionPlan& plan, Counter& counter, PlacedBits& bits) {
  if (counter.is_repeated || counter.is_maximum() || counter.places.size() != 1) return false;
  const bool is_any = counter.counts_warps && counter.is_once;
  const bool is_elected = counter.counts_warps && !counter.is_whole && !is_any;
  if (counter.places[0].kind == CountPlace::Kind::divides && is_any) {
    if (plan.bit_pairs >= most_bits) return false;
    counter.storage = Counter::Storage::both;
    counter.bit = plan.bit_pairs++;
    return counter.is_bit = true;
  }
  const auto shared = is_elected ? bits.end() : bits.find(counter.places[0]);
  if (shared == bits.end() && plan.bits >= most_bits) return false;
  counter.bit = shared == bits.end() ? plan.bits++ : shared->second;
  if (!is_elected) bits.emplace(counter.places[0], counter.bit);
  counter.storage = is_any                                     ? Counter::Storage::any
                    : counter.counts_warps && counter.is_whole ? Counter::Storage::from_lane_0
                                                               : Counter::Storage::summed;
  return counter.is_bit = true;
}

void place_rare_bits(FunctionPlan& plan, const std::vector<std::uint32_t>& order, PlacedBits& bits) {
  if (plan.registers == 0 && plan.bits == 0 && plan.bit_pairs == 0) return;
  const auto is_in_memory = [](const Counter& counter) {
    return counter.storage == Counter::Storage::memory && !counter.is_repeated;
  };
  std::set<std::vector<CountPlace>> of_warps;
  for (const Counter& counter : plan.counters) {
    if (counter.counts_warps && is_in_memory(counter)) of_warps.insert(counter.places);
  }
  for (const std::uint32_t index : order) {
    Counter& counter = plan.counters[index];
    if (!counter.counts_warps && is_in_memory(counter) && !of_warps.contains(counter.places))
      place_bit(plan, counter, bits);
  }
}

}  // namespace lynxpp::ptx
