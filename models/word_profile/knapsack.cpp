#include "models/word_profile/knapsack.h"

#include <algorithm>
#include <numeric>

namespace lynxpp::models {

std::vector<std::size_t> fill_knapsack(std::span<const KnapsackItem> items, std::uint64_t capacity) {
  std::vector<std::size_t> candidates;
  std::uint64_t unit = 0, total = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].value == 0 || items[i].weight > capacity) continue;
    candidates.push_back(i);
    unit = std::gcd(unit, items[i].weight);
    total += items[i].weight;
  }
  if (total <= capacity) return candidates;
  const std::size_t places = capacity / unit;
  // best[w]: maximum value of the candidates from i on, with weight up to w units.
  std::vector<std::uint64_t> best(places + 1);
  std::vector<std::vector<bool>> takes(candidates.size(), std::vector<bool>(places + 1));
  for (std::size_t i = candidates.size(); i-- > 0;) {
    const KnapsackItem& item = items[candidates[i]];
    const std::size_t weight = item.weight / unit;
    for (std::size_t w = places + 1; w-- > weight;) {
      const std::uint64_t with = best[w - weight] + item.value;
      takes[i][w] = with >= best[w];
      best[w] = std::max(best[w], with);
    }
  }
  std::size_t left = static_cast<std::size_t>(std::ranges::find(best, best[places]) - best.begin());
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!takes[i][left]) continue;
    taken.push_back(candidates[i]);
    left -= items[candidates[i]].weight / unit;
  }
  return taken;
}

}  // namespace lynxpp::models
