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
  using Slot = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;  // free at, number, multiprocessor
  std::priority_queue<Slot, std::vector<Slot>, std::greater<>> slots;
  const std::uint64_t most = std::max<std::size_t>(blocks.size(), 1);
  for (std::uint32_t slot = 0; slot < resident && std::uint64_t{slot} * multiprocessors < most; ++slot) {
    for (std::uint32_t sm = 0; sm < multiprocessors; ++sm) slots.emplace(0, slot, sm);
  }
  for (const BlockSteps& block : blocks) {
    const auto [free_at, slot, sm] = slots.top();
    slots.pop();
    const std::uint64_t end = free_at + block.duration;
    result.steps = std::max(result.steps, end);
    result.of_each[sm] += block.active;
    slots.emplace(end, slot, sm);
  }
  for (const std::uint64_t active : result.of_each) {
    result.active_warps.push_back(
        result.steps == 0 ? 0 : static_cast<double>(active) / static_cast<double>(result.steps));
  }
  return result;
}

}  // namespace lynxpp::models::proplusplus
