#include "device/cuda/pool.h"

#include <algorithm>
#include <iterator>

#include "device/cuda/our_calls.h"

namespace lynxpp::device::cuda {
namespace {

constexpr std::size_t smallest_block = 4096;
constexpr std::size_t most_kept = 256u << 20;

}  // namespace

Result<Pool::Block> Pool::device_memory(std::size_t size, CUstream stream) {
  if (std::optional<Block> reused = take(device_, size)) return *reused;
  Block made{0, std::max(size, smallest_block)};
  CUdeviceptr address = 0;
  const CUresult result = driver_.cuMemAllocAsync(&address, made.size, stream);
  if (result != CUDA_SUCCESS) return driver_.error("cuMemAllocAsync", result);
  made.address = address;
  return made;
}

void Pool::give_back_device_memory(const Block& block) {
  if (keep(device_, block)) return;
  const InContext ours(driver_, context_);
  driver_.cuMemFreeAsync(block.address, CU_STREAM_PER_THREAD);
}

Result<Pool::Block> Pool::pinned_memory(std::size_t size) {
  if (std::optional<Block> reused = take(pinned_, size)) return *reused;
  Block made{0, std::max(size, smallest_block)};
  void* memory = nullptr;
  const CUresult result = driver_.cuMemHostAlloc(&memory, made.size, CU_MEMHOSTALLOC_PORTABLE);
  if (result != CUDA_SUCCESS) return driver_.error("cuMemHostAlloc", result);
  made.address = reinterpret_cast<std::uint64_t>(memory);
  return made;
}

void Pool::give_back_pinned_memory(const Block& block) {
  if (keep(pinned_, block)) return;
  const InContext ours(driver_, context_);
  driver_.cuMemFreeHost(reinterpret_cast<void*>(block.address));
}

CUevent Pool::recorded_event(CUstream stream) {
  CUevent event = kept_event();
  if (event == nullptr && driver_.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return nullptr;
  if (driver_.cuEventRecord(event, stream) == CUDA_SUCCESS) return event;
  give_back(event);
  return nullptr;
}

CUevent Pool::kept_event() {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) return nullptr;
  const CUevent event = events_.back();
  events_.pop_back();
  return event;
}

void Pool::give_back(CUevent event) {
  if (event == nullptr) return;
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
}

std::optional<Pool::Block> Pool::take(Kept& kept, std::size_t size) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept.blocks.rbegin(), kept.blocks.rend(), [&](const Block& block) {
    return block.size >= size && block.size <= std::max(4 * size, smallest_block);
  });
  if (found == kept.blocks.rend()) return std::nullopt;
  const Block block = *found;
  kept.blocks.erase(std::next(found).base());
  kept.bytes -= block.size;
  return block;
}

bool Pool::keep(Kept& kept, const Block& block) {
  const std::lock_guard lock(mutex_);
  if (kept.bytes + block.size > most_kept) return false;
  kept.blocks.push_back(block);
  kept.bytes += block.size;
  return true;
}

}  // namespace lynxpp::device::cuda
