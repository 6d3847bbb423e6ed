#include "device/cpu/simt/check/async_operations.h"

#include <algorithm>
#include <utility>

namespace lynxpp::device::cpu {

std::uint32_t AsyncOperations::add(const AsyncOperation& operation) {
  if (all_.size() >= most) return 0;
  all_.push_back(operation);
  return static_cast<std::uint32_t>(all_.size());
}

std::uint32_t AsyncGroups::issue(const AccessSite* site, std::uint32_t lane, std::uint32_t& number) {
  const std::uint32_t bit = 1u << lane;
  if (site != site_ || (lanes_ & bit) != 0) {
    ++time_;
    site_ = site;
    lanes_ = 0;
    number_ = 0;
  }
  lanes_ |= bit;
  number = number_;
  return time_;
}

void AsyncGroups::commit(std::uint32_t lanes) {
  site_ = nullptr;
  if (commits_.size() == most_commits) commits_.pop_front();
  commits_.push_back({lanes, time_});
}

std::uint32_t AsyncGroups::completed_by_wait(std::uint32_t lane, std::uint32_t pending) const {
  for (auto commit = commits_.rbegin(); commit != commits_.rend(); ++commit) {
    if ((commit->lanes >> lane & 1) != 0 && pending-- == 0) return commit->time;
  }
  return 0;
}

bool AsyncGroups::is_committed(std::uint32_t lane, std::uint32_t time) const {
  return completed_by_wait(lane, 0) >= time;
}

void AsyncGroups::perform(std::uint32_t lane, std::uint32_t time) {
  const auto is_due = [&](const LateOperation& each) { return each.lane == lane && each.time <= time; };
  for (const LateOperation& each : late_) {
    if (is_due(each) && each.perform) each.perform();
  }
  std::erase_if(late_, is_due);
}

void AsyncGroups::perform_due(std::uint32_t round) {
  for (LateOperation& each : late_) {
    if (each.due != 0 && each.due <= round && each.perform) std::exchange(each.perform, nullptr)();
  }
}

void AsyncGroups::perform_all() {
  for (LateOperation& each : late_) {
    if (each.perform) std::exchange(each.perform, nullptr)();
  }
}

}  // namespace lynxpp::device::cpu
