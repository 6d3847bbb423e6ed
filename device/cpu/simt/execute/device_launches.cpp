#include "device/cpu/simt/execute/device_launches.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace lynxpp::device::cpu {
namespace {

constexpr std::uint64_t invalid_value = 1;       // cudaErrorInvalidValue
constexpr std::uint64_t tail_launch_stream = 3;  // cudaStreamTailLaunch
constexpr std::uint64_t most_threads = 1024;

bool is_launchable(const LaunchShape& shape) {
  const auto is_empty = [](const Dim3& extents) {
    return extents.x == 0 || extents.y == 0 || extents.z == 0;
  };
  return !is_empty(shape.grid) && !is_empty(shape.block) &&
         std::uint64_t{shape.block.x} * shape.block.y * shape.block.z <= most_threads;
}

}  // namespace

DeviceLaunches::~DeviceLaunches() {
  for (const auto& [address, requested] : requested_)
    memory_.free_for_kernel(reinterpret_cast<void*>(address));
}

std::uint64_t DeviceLaunches::request(std::uint64_t token, const LaunchShape& shape) {
  std::optional<Kernel> kernel = find_(token);
  if (!kernel || !is_launchable(shape)) return 0;
  // A kernel without parameters has an address, too.
  void* const place = memory_.allocate_for_kernel(std::max(kernel->parameter_bytes, 1u));
  if (place == nullptr) return 0;
  const auto address = reinterpret_cast<std::uint64_t>(place);
  const std::lock_guard lock(mutex_);
  requested_[address] = {std::move(*kernel), shape};
  return address;
}

std::uint64_t DeviceLaunches::launch(std::uint64_t parameters, std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  const auto found = requested_.find(parameters);
  if (found == requested_.end()) return invalid_value;
  DeviceLaunch made{std::move(found->second.kernel.name), found->second.shape, {}};
  made.parameters.resize(found->second.kernel.parameter_bytes);
  std::memcpy(made.parameters.data(), reinterpret_cast<const void*>(parameters), made.parameters.size());
  requested_.erase(found);
  memory_.free_for_kernel(reinterpret_cast<void*>(parameters));
  (stream == tail_launch_stream ? tail_launched_ : launched_).push_back(std::move(made));
  return 0;
}

std::optional<DeviceLaunch> DeviceLaunches::next() {
  const std::lock_guard lock(mutex_);
  for (std::deque<DeviceLaunch>* const made : {&tail_launched_, &launched_}) {
    waiting_.insert(waiting_.begin(), std::move_iterator(made->begin()), std::move_iterator(made->end()));
    made->clear();
  }
  if (waiting_.empty()) return std::nullopt;
  DeviceLaunch first = std::move(waiting_.front());
  waiting_.pop_front();
  return first;
}

}  // namespace lynxpp::device::cpu
