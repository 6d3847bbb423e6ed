#include "ptx/passes/counting/storage/bits.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

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

void order_bits(FunctionPlan& plan) {
  using Storage = Counter::Storage;
  constexpr std::uint32_t of_lane_0 = 1, of_all = 2, of_any = 4;
  // A bit has one use or two: each use's bits have no others between them.
  constexpr std::uint32_t ranks[] = {7, 0, 2, 1, 4, 5, 3, 6};
  std::vector<std::uint32_t> uses(plan.bits);
  std::vector<bool> is_alike(plan.bits);
  const auto has_bit = [](const Counter& counter) {
    return counter.is_bit && counter.storage != Storage::both;
  };
  for (const Counter& counter : plan.counters) {
    if (!has_bit(counter)) continue;
    uses[counter.bit] |= counter.storage == Storage::any           ? of_any
                         : counter.storage == Storage::from_lane_0 ? of_lane_0
                                                                   : of_all;
    is_alike[counter.bit] = counter.is_alike;
  }
  std::vector<std::uint32_t> order(plan.bits);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(
      order, {}, [&](std::uint32_t bit) { return std::pair(bool{is_alike[bit]}, ranks[uses[bit]]); });
  std::vector<std::uint32_t> number(plan.bits);
  for (std::uint32_t i = 0; i < order.size(); ++i) number[order[i]] = i;
  for (Counter& counter : plan.counters) {
    if (has_bit(counter)) counter.bit = number[counter.bit];
  }
}

}  // namespace lynxpp::ptx
