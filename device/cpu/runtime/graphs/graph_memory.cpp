#include "device/cpu/runtime/graphs/graph_memory.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/simt/check/written_memory.h"

namespace lynxpp::device::cpu {
namespace {

/// All graph memory. Never destroyed, because static objects may own graphs.
struct All {
  std::mutex mutex;
  std::map<std::uintptr_t, std::weak_ptr<const GraphMemory>> by_address;
  std::array<GraphMemoryUse, most_devices> uses;
};

All& all() {
  static auto* const only = new All;
  return *only;
}

/// Call it without holding the lock, because it may destroy the last reference.
void count_used(int device) {
  std::vector<std::shared_ptr<const GraphMemory>> living;
  {
    const std::lock_guard lock(all().mutex);
    for (const auto& [address, each] : all().by_address) living.push_back(each.lock());
  }
  std::uint64_t used = 0;
  for (const std::shared_ptr<const GraphMemory>& each : living) {
    const bool counts =
        each != nullptr && each->device == device && allocations().is_allocated(each->storage.get());
    used += counts ? each->bytes : 0;
  }
  const std::lock_guard lock(all().mutex);
  GraphMemoryUse& use = all().uses[static_cast<std::size_t>(device)];
  use.used = used;
  use.most_used = std::max(use.most_used, used);
}

}  // namespace

GraphMemory::~GraphMemory() {
  if (storage == nullptr) return;
  const std::lock_guard lock(all().mutex);
  all().by_address.erase(address());
  all().uses[static_cast<std::size_t>(device)].reserved -= bytes;
}

std::shared_ptr<const GraphMemory> make_graph_memory(std::size_t bytes, cudaMemPool_t pool) {
  auto made = std::make_shared<GraphMemory>();
  // Leave a gap, as between allocations, so that an access past the end hits no other allocation.
  constexpr std::size_t gap = 256;
  std::shared_ptr<void> storage = zeroed_memory(bytes + gap);
  if (storage == nullptr) return nullptr;
  made->bytes = bytes;
  made->pool = pool;
  made->device = current_device();
  const std::lock_guard lock(all().mutex);
  made->storage = std::move(storage);
  all().by_address[made->address()] = made;
  GraphMemoryUse& use = all().uses[static_cast<std::size_t>(made->device)];
  use.reserved += bytes;
  use.most_reserved = std::max(use.most_reserved, use.reserved);
  return made;
}

std::shared_ptr<const GraphMemory> find_graph_memory(const void* pointer) {
  const std::lock_guard lock(all().mutex);
  const auto found = all().by_address.find(reinterpret_cast<std::uintptr_t>(pointer));
  return found != all().by_address.end() ? found->second.lock() : nullptr;
}

bool is_graph_memory(const void* pointer, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  std::shared_ptr<const GraphMemory> memory;  // outlives the lock: its destruction needs it
  const std::lock_guard lock(all().mutex);
  const auto after = all().by_address.upper_bound(address);
  if (after == all().by_address.begin()) return false;
  memory = std::prev(after)->second.lock();
  return memory != nullptr && address - memory->address() <= memory->bytes &&
         bytes <= memory->bytes - (address - memory->address());
}

cudaError_t allocate_graph_memory(const std::shared_ptr<const GraphMemory>& memory, cudaStream_t stream) {
  const cudaError_t error =
      allocations().allocate(memory->storage, memory->bytes, memory->device, memory->pool);
  if (error != cudaSuccess) return error;
  count_used(memory->device);
  if (written_memory() == nullptr) return cudaSuccess;
  // Values written by an earlier launch are uninitialized in this one.
  return streams().enqueue_brief(stream,
                                 [memory] { written_memory()->enter(memory->address(), memory->bytes); });
}

cudaError_t free_graph_memory(const GraphMemory& memory, cudaStream_t stream) {
  std::uint64_t number = 0;
  void* const pointer = memory.storage.get();
  const cudaError_t error = allocations().retire(pointer, MemoryKind::device, MemoryKind::device, number);
  if (error != cudaSuccess) return error;
  return streams().enqueue_brief(stream,
                                 [pointer, number] { allocations().release_retired(pointer, number); });
}

cudaError_t capture_allocation(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  std::shared_ptr<const GraphMemory> memory = make_graph_memory(bytes, pool);
  if (memory == nullptr) return cudaErrorMemoryAllocation;
  *pointer = memory->storage.get();
  return streams().enqueue(stream, {cudaGraphNodeTypeMemAlloc, {}, nullptr, std::move(memory)});
}

cudaError_t capture_free(const void* pointer, cudaStream_t stream) {
  std::shared_ptr<const GraphMemory> memory = find_graph_memory(pointer);
  if (memory == nullptr) return cudaErrorInvalidValue;
  return streams().enqueue(stream, {cudaGraphNodeTypeMemFree, {}, nullptr, std::move(memory)});
}

GraphMemoryUse graph_memory_use(int device) {
  count_used(device);
  const std::lock_guard lock(all().mutex);
  return all().uses[static_cast<std::size_t>(device)];
}

void reset_most_graph_memory(int device, bool of_used) {
  count_used(device);
  const std::lock_guard lock(all().mutex);
  GraphMemoryUse& use = all().uses[static_cast<std::size_t>(device)];
  (of_used ? use.most_used : use.most_reserved) = of_used ? use.used : use.reserved;
}

}  // namespace lynxpp::device::cpu
