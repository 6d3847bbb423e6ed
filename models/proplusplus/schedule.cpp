#include "models/proplusplus/schedule.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace lynxpp::models::proplusplus {

double Schedule::balance(std::uint32_t total_warps) const {
  double sum = 0;
  for (const double warps : active_warps) sum += std::min(1.0, warps / total_warps);
  return active_warps.empty() ? 0 : sum / static_cast<double>(active_warps.size());
}

Schedule schedule(std::span<const BlockSteps> blocks, std::uint32_t multiprocessors, std::uint32_t resident) {
  Schedule result;
  result.of_each.resize(multiprocessors);
  // Number the slots of each multiprocessor, so that at equal times each gets one block before any gets a
  // second.
  using Place = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;  // free at, number, multiprocessor
  std::priority_queue<Place, std::vector<Place>, std::greater<>> places;
  const std::uint64_t most = std::max<std::size_t>(blocks.size(), 1);
  for (std::uint32_t place = 0; place < resident && std::uint64_t{place} * multiprocessors < most; ++place) {
    for (std::uint32_t sm = 0; sm < multiprocessors; ++sm) places.emplace(0, place, sm);
  }
  for (const BlockSteps& block : blocks) {
    const auto [free_at, place, sm] = places.top();
    places.pop();
    const std::uint64_t end = free_at + block.duration;
    result.steps = std::max(result.steps, end);
    result.of_each[sm] += block.active;
    places.emplace(end, place, sm);
  }
  for (const std::uint64_t active : result.of_each) {
    result.active_warps.push_back(
        result.steps == 0 ? 0 : static_cast<double>(active) / static_cast<double>(result.steps));
  }
  return result;
}

}  // namespace lynxpp::models::proplusplus
