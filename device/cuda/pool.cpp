#include "device/cuda/pool.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "device/cuda/our_calls.h"

namespace lynxpp::device::cuda {
namespace {

constexpr std::size_t smallest_block = 4096;
constexpr std::size_t most_kept = 256u << 20;
/// Memory above most_kept is freed after this idle time. While the driver frees a large block (7 to 15 ms),
/// no thread can launch.
constexpr std::chrono::seconds most_idle(1);

/// Returns the maximum value if the driver does not report it.
std::uint64_t free_device_memory_of(const Driver& driver) {
  std::size_t free = 0;
  std::size_t total = 0;
  return driver.cuMemGetInfo(&free, &total) == CUDA_SUCCESS ? free
                                                            : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

Pool::Pool(const Driver& driver, CUcontext context)
    : driver_(driver),
      context_(context),
      device_room_("device memory", [&driver] { return free_device_memory_of(driver); }),
      pinned_room_("pinned host memory", free_host_memory),
      pinned_memory_(driver, context,
                     {.freed = [this](std::size_t bytes) { pinned_room_.release(bytes); },
                      .is_late = [this](const Block& block) { release_pinned_memory(block); }}) {}

void Pool::limit(const MemoryBudget& budget) {
  device_room_.limit(budget);
  pinned_room_.limit(budget);
}

Status Pool::reserve(BoundedMemory& room, Kept& kept, std::size_t size) {
  Status reserved = room.reserve(size);
  if (reserved) return reserved;
  std::vector<Block> unused;
  {
    const std::lock_guard lock(mutex_);
    for (const KeptBlock& each : std::exchange(kept, {}).blocks) unused.push_back(each.block);
  }
  if (unused.empty() && &kept == &device_) return reserved;
  free_blocks(kept, unused);
  // Memory that is not freed in time may be free for the next launch.
  if (&kept == &pinned_ && !pinned_memory_.finish()) return reserved;
  return room.reserve(size);
}

void Pool::free_blocks(Kept& kept, const std::vector<Block>& blocks) {
  if (&kept == &pinned_) return pinned_memory_.release(blocks);
  for (const Block& block : blocks) free_unused(block);
}

CUstream Pool::own_stream() {
  const std::lock_guard lock(mutex_);
  if (own_stream_ == nullptr && driver_.cuStreamCreate(&own_stream_, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
    own_stream_ = nullptr;
  return own_stream_;
}

Result<Pool::Block> Pool::device_memory(std::size_t size, CUstream stream) {
  if (std::optional<Block> reused = take(device_, size)) return *reused;
  Block made{0, std::max(size, smallest_block)};
  if (Status fits = reserve(device_room_, device_, made.size); !fits) return fits.error();
  CUdeviceptr address = 0;
  const CUresult result = driver_.cuMemAllocAsync(&address, made.size, stream);
  if (result != CUDA_SUCCESS) {
    device_room_.release(made.size);
    return driver_.error("cuMemAllocAsync", result);
  }
  made.address = address;
  return made;
}

void Pool::release_device_memory(const Block& block) {
  for (const Block& idle : keep(device_, block)) free_unused(idle);
}

void Pool::free_unused(const Block& block) {
  const InContext ours(driver_, context_);
  // On the program's stream, a capture would record the free as a graph node.
  if (const CUstream stream = own_stream()) free_device_memory(block, stream);
}

void Pool::free_device_memory(const Block& block, CUstream stream) {
  if (block.address == 0) return;
  const InContext ours(driver_, context_);
  driver_.cuMemFreeAsync(block.address, stream);
  device_room_.release(block.size);
}

Result<Pool::Block> Pool::pinned_memory(std::size_t size) {
  if (std::optional<Block> reused = take(pinned_, size)) return *reused;
  const std::size_t bytes = std::max(size, smallest_block);
  if (Status fits = reserve(pinned_room_, pinned_, bytes); !fits) return fits.error();
  return pinned_memory_.make(bytes);
}

void Pool::release_pinned_memory(const Block& block) {
  if (block.address == 0) return;
  if (const std::vector<Block> idle = keep(pinned_, block); !idle.empty()) pinned_memory_.release(idle);
}

CUevent Pool::recorded_event(CUstream stream) {
  CUevent event = kept_event();
  if (event == nullptr) {
    const CaptureRelaxed relaxed(driver_);
    if (driver_.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return nullptr;
  }
  if (driver_.cuEventRecord(event, stream) == CUDA_SUCCESS) return event;
  release(event);
  return nullptr;
}

CUevent Pool::kept_event() {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) return nullptr;
  const CUevent event = events_.back();
  events_.pop_back();
  return event;
}

void Pool::release(CUevent event) {
  if (event == nullptr) return;
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
}

std::optional<Pool::Block> Pool::take(Kept& kept, std::size_t size) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept.blocks.rbegin(), kept.blocks.rend(), [&](const KeptBlock& each) {
    return each.block.size >= size && each.block.size <= std::max(4 * size, smallest_block);
  });
  if (found == kept.blocks.rend()) return std::nullopt;
  const Block block = found->block;
  kept.blocks.erase(std::next(found).base());
  kept.bytes -= block.size;
  return block;
}

std::vector<Pool::Block> Pool::keep(Kept& kept, const Block& block) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  kept.blocks.push_back({block, now});
  kept.bytes += block.size;
  std::vector<Block> idle;
  auto first = kept.blocks.begin();
  for (; kept.bytes > most_kept && now - first->since > most_idle; ++first) {
    kept.bytes -= first->block.size;
    idle.push_back(first->block);
  }
  kept.blocks.erase(kept.blocks.begin(), first);
  return idle;
}

}  // namespace lynxpp::device::cuda
