#include "interposer/session/launch_room.h"

#include <utility>

namespace lynxpp::interposer {

bool LaunchRoom::makes_room() {
  return !is_crowded() || results_.collect_until([&] { return !is_crowded(); });
}

template <typename Taken>
Result<Taken> LaunchRoom::allocate(Seen& seen, std::uint64_t bytes,
                                   const std::function<Result<Taken>()>& take) {
  const std::uint64_t settled = results_.settled();
  Result<Taken> memory = take();
  if (memory) return memory;
  const Status taken = take_memory_after_collecting(memory.error(), settled, [&] {
    memory = take();
    return memory ? success() : Status(memory.error());
  });
  if (taken) return memory;
  const KnownKernels::State state(kernels_);
  seen.no_room.add(bytes, first_message(taken.error()));
  return failure("not enough memory for its counters");
}

Result<std::unique_ptr<device::Buffer>> LaunchRoom::allocate(Seen& seen, device::Device& device,
                                                             std::uint64_t bytes,
                                                             const device::Launch& launch) {
  using Taken = std::unique_ptr<device::Buffer>;
  return allocate<Taken>(seen, bytes, [&] { return device.allocate_zeroed(bytes, launch); });
}

Result<std::unique_ptr<device::CounterMemory>> LaunchRoom::keep_counters(Seen& seen, device::Device& device,
                                                                         std::uint64_t bytes,
                                                                         const device::Launch& launch) {
  using Taken = std::unique_ptr<device::CounterMemory>;
  return allocate<Taken>(seen, bytes, [&] { return device.counter_memory(bytes, launch); });
}

Status LaunchRoom::take_memory(const std::function<Status()>& take) {
  const std::uint64_t settled = results_.settled();
  Status taken = take();
  return taken ? taken : take_memory_after_collecting(std::move(taken), settled, take);
}

Status LaunchRoom::take_memory_after_collecting(Status taken, std::uint64_t settled,
                                                const std::function<Status()>& take) {
  sharing_.close();
  results_.collect_until([&] {
    if (std::exchange(settled, results_.settled()) != settled) taken = take();
    return taken.ok();
  });
  return taken;
}

void LaunchRoom::add(PendingPtr pending, Outstanding& outstanding) {
  // The time of an original that could not be instrumented was not requested.
  if (pending->plan->variant != nullptr || pending->trial || configuration_.timing == Timing::originals)
    measured();
  outstanding.settled_later();
  results_.add(std::move(pending));
}

}  // namespace lynxpp::interposer
