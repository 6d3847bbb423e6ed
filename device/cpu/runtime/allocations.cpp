#include "device/cpu/runtime/allocations.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "support/call_site.h"

namespace lynxpp::device::cpu {
namespace {

constexpr std::size_t alignment = 256;

bool counts_as_used(MemoryKind kind) { return kind == MemoryKind::device || kind == MemoryKind::managed; }

bool is_foreign(const Allocation& allocation) {
  return allocation.kind == MemoryKind::registered_host || allocation.kind == MemoryKind::variable ||
         allocation.is_managed_variable;
}

bool is_variable(const Allocation& allocation) {
  return allocation.kind == MemoryKind::variable || allocation.is_managed_variable;
}

thread_local const void* program_caller = nullptr;

CallStack program_stack() {
  return program_caller != nullptr ? capture_call_stack(program_caller) : CallStack{};
}

AllocationKind live_kind(const Allocation& allocation) {
  switch (allocation.kind) {
    case MemoryKind::managed: return AllocationKind::managed;
    case MemoryKind::pinned_host: return AllocationKind::host;
    case MemoryKind::registered_host: return AllocationKind::registered_host;
    default: return allocation.pool != nullptr ? AllocationKind::pool : AllocationKind::device;
  }
}

}  // namespace

ProgramCall::ProgramCall(const void* caller) : outer_(std::exchange(program_caller, caller)) {}
ProgramCall::~ProgramCall() { program_caller = outer_; }

Allocations& allocations() {
  static auto* const map = new Allocations;
  return *map;
}

std::size_t Allocations::total_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                               : std::size_t{1} << 30;
}

cudaError_t Allocations::allocate(void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags,
                                  void* pool) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  const std::size_t total = total_bytes();
  const CallStack stack = program_stack();
  const std::unique_lock lock(mutex_);
  if (bytes > total || used_ > total - bytes) return cudaErrorMemoryAllocation;
  void* storage = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (storage == nullptr) return cudaErrorMemoryAllocation;
  const auto address = reinterpret_cast<std::uintptr_t>(storage);
  // Host memory the program registered and then freed without unregistering may lie where new storage is now.
  auto stale = by_address_.upper_bound(address);
  if (stale != by_address_.begin()) --stale;
  while (stale != by_address_.end() && stale->first < address + bytes) {
    stale = stale->first + stale->second.bytes > address ? by_address_.erase(stale) : std::next(stale);
  }
  enter({address, bytes, kind, flags, pool, false, 0, stack});
  if (counts_as_used(kind)) used_ += bytes;
  if (pool != nullptr) {
    PoolUse& use = pools_[pool];
    use.current += bytes;
    use.high = std::max(use.high, use.current);
  }
  *pointer = storage;
  return cudaSuccess;
}

/// Precondition of this and free_storage(): `mutex_` is held.
void Allocations::enter(Allocation allocation) {
  if (!is_variable(allocation)) {
    allocation.number = next_++;
    ++version_;
  }
  by_address_[allocation.address] = allocation;
}

void Allocations::free_storage(const Allocation& allocation) {
  if (counts_as_used(allocation.kind)) used_ -= allocation.bytes;
  if (allocation.pool != nullptr) pools_[allocation.pool].current -= allocation.bytes;
  std::free(allocation.pointer());
}

cudaError_t Allocations::release(void* pointer, MemoryKind kind, MemoryKind other_kind) {
  const std::unique_lock lock(mutex_);
  const auto found = by_address_.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == by_address_.end() || is_foreign(found->second) ||
      (found->second.kind != kind && found->second.kind != other_kind)) {
    return cudaErrorInvalidValue;
  }
  free_storage(found->second);
  by_address_.erase(found);
  ++version_;
  return cudaSuccess;
}

bool Allocations::add_foreign(const Allocation& allocation) {
  const CallStack stack = program_stack();
  const std::unique_lock lock(mutex_);
  auto next = by_address_.lower_bound(allocation.address);
  if (next != by_address_.end() && next->first < allocation.address + allocation.bytes) return false;
  if (next != by_address_.begin()) {
    --next;
    if (next->first + next->second.bytes > allocation.address) return false;
  }
  Allocation entered = allocation;
  entered.stack = stack;
  enter(entered);
  return true;
}

bool Allocations::remove_foreign(const void* address, MemoryKind kind) {
  const std::unique_lock lock(mutex_);
  const auto found = by_address_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == by_address_.end() || found->second.kind != kind || !is_foreign(found->second)) return false;
  by_address_.erase(found);
  ++version_;
  return true;
}

std::optional<Allocation> Allocations::find(const void* pointer) const {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::shared_lock lock(mutex_);
  auto next = by_address_.upper_bound(address);
  if (next == by_address_.begin()) return std::nullopt;
  --next;
  if (address - next->first >= next->second.bytes) return std::nullopt;
  return next->second;
}

void Allocations::release_all() {
  const std::unique_lock lock(mutex_);
  ++version_;
  for (auto entry = by_address_.begin(); entry != by_address_.end();) {
    const Allocation& allocation = entry->second;
    if (is_variable(allocation)) {
      ++entry;
      continue;
    }
    if (allocation.kind != MemoryKind::registered_host) free_storage(allocation);
    entry = by_address_.erase(entry);
  }
}

std::shared_ptr<const LiveAllocations> Allocations::live() {
  auto made = std::make_shared<LiveAllocations>();
  std::vector<CallStack> stacks;
  {
    const std::shared_lock lock(mutex_);
    if (live_ != nullptr && live_->version == version_) return live_;
    made->version = version_;
    for (const auto& [address, allocation] : by_address_) {
      if (is_variable(allocation)) continue;
      made->sorted.push_back({address, allocation.bytes, allocation.number, {}, live_kind(allocation)});
      stacks.push_back(allocation.stack);
    }
  }
  // Without the lock: naming a caller asks the dynamic linker, whose lock a thread that allocates may hold.
  for (std::size_t i = 0; i < stacks.size(); ++i) made->sorted[i].site = call_site(stacks[i]);
  const std::unique_lock lock(mutex_);
  if (live_ == nullptr || live_->version < made->version) live_ = std::move(made);
  return live_;
}

std::size_t Allocations::used_bytes() const {
  const std::shared_lock lock(mutex_);
  return used_;
}

Allocations::PoolUse Allocations::pool_use(const void* pool) const {
  const std::shared_lock lock(mutex_);
  const auto found = pools_.find(pool);
  return found != pools_.end() ? found->second : PoolUse{};
}

void Allocations::reset_pool_high(const void* pool) {
  const std::unique_lock lock(mutex_);
  const auto found = pools_.find(pool);
  if (found != pools_.end()) found->second.high = found->second.current;
}

}  // namespace lynxpp::device::cpu
