#include "interposer/preload/allocations.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "interposer/preload/driver.h"
#include "support/call_stack.h"

namespace lynxpp::preload {
namespace {

static_assert(LYNXPP_CALL_STACK_LIMIT == CallStack::limit);

std::uint64_t end_of(const lynxpp_allocation& allocation) { return allocation.address + allocation.bytes; }

}  // namespace

// ---- memory for the entries ------------------------------------------------------------------------------

void* Slab::take(std::size_t bytes) {
  if (free_ != nullptr) return std::exchange(free_, free_->next);
  constexpr std::size_t chunk_bytes = std::size_t{1} << 20;  // untouched pages cost nothing
  constexpr std::size_t alignment = alignof(std::max_align_t);
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (static_cast<std::size_t>(end_ - begin_) < bytes) {
    void* const chunk =
        mmap(nullptr, chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(chunk);
    end_ = begin_ + chunk_bytes;
  }
  return std::exchange(begin_, begin_ + bytes);
}

void Slab::give_back(void* block) { free_ = new (block) Free{free_}; }

// ---- entries ---------------------------------------------------------------------------------------------

/// Precondition: `mutex_` is held.
void Allocations::insert(const Entry& entry) {
  const std::uint64_t begin = entry.allocation.address;
  auto stale = by_address_.lower_bound(begin);
  if (stale != by_address_.begin() && end_of(std::prev(stale)->second.allocation) > begin) --stale;
  while (stale != by_address_.end() && stale->first < end_of(entry.allocation))
    stale = by_address_.erase(stale);
  changed();
  by_address_.emplace(begin, entry);
}

void Allocations::add(std::uint64_t address, std::uint64_t bytes, MemoryKind kind,
                      const void* caller) noexcept {
  if (address == 0 || bytes == 0 || bytes > std::numeric_limits<std::uint64_t>::max() - address) return;
  Entry entry;
  entry.context = current_context();
  const CallStack stack = capture_call_stack(caller);
  entry.allocation.address = address;
  entry.allocation.bytes = bytes;
  entry.allocation.kind = static_cast<std::uint32_t>(kind);
  entry.allocation.depth = stack.depth;
  std::copy(std::begin(stack.frames), std::end(stack.frames), entry.allocation.stack);
  const Lock lock(mutex_);
  entry.allocation.number = next_++;
  try {
    insert(entry);
  } catch (const std::bad_alloc&) {
    // The allocation stays unknown; the program continues.
  }
}

std::optional<Allocations::Entry> Allocations::remove(std::uint64_t address) noexcept {
  const Lock lock(mutex_);
  const auto found = by_address_.find(address);
  if (found == by_address_.end()) return std::nullopt;
  const Entry entry = found->second;
  by_address_.erase(found);
  changed();
  return entry;
}

void Allocations::restore(const Entry& entry) noexcept {
  const Lock lock(mutex_);
  try {
    insert(entry);
  } catch (const std::bad_alloc&) {
    // remove() just released a block, so one is available unless another thread took it.
  }
}

template <typename Gone>
void Allocations::erase_if(Gone gone) noexcept {
  const Lock lock(mutex_);
  if (std::erase_if(by_address_, [&](const auto& each) { return gone(each.second); }) != 0) changed();
}

void Allocations::forget_mappings(std::uint64_t address, std::uint64_t bytes, std::uint64_t next) noexcept {
  erase_if([&](const Entry& entry) {
    return entry.allocation.kind == static_cast<std::uint32_t>(MemoryKind::mapped) &&
           entry.allocation.number < next && entry.allocation.address - address < bytes;
  });
}

void Allocations::forget_context(CUcontext context, bool is_primary, std::uint64_t next) noexcept {
  if (context == nullptr) return;
  erase_if([&](const Entry& entry) {
    const auto kind = static_cast<MemoryKind>(entry.allocation.kind);
    return entry.context == context && entry.allocation.number < next && kind != MemoryKind::mapped &&
           (is_primary || kind != MemoryKind::pool);
  });
}

bool Allocations::empty() const noexcept {
  const Lock lock(mutex_);
  return by_address_.empty();
}

std::uint64_t Allocations::number_to_come() const noexcept {
  const Lock lock(mutex_);
  return next_;
}

std::size_t Allocations::copy(lynxpp_allocation* into, std::size_t capacity,
                              std::uint64_t* version) const noexcept {
  const Lock lock(mutex_);
  *version = version_.load(std::memory_order_relaxed);
  if (by_address_.size() > capacity) return by_address_.size();
  for (const auto& [address, entry] : by_address_) *into++ = entry.allocation;
  return by_address_.size();
}

// ---- the process's allocations ---------------------------------------------------------------------------

Allocations& allocations() {
  alignas(Allocations) static std::byte storage[sizeof(Allocations)];
  static auto* const instance = new (storage) Allocations;
  return *instance;
}

const lynxpp_allocation_source allocation_source = {
    .version = [] { return allocations().version(); },
    .copy = [](lynxpp_allocation* into, std::size_t capacity,
               std::uint64_t* version) { return allocations().copy(into, capacity, version); },
};

CUcontext active_primary_context(CUdevice device) {
  using GetState = CUresult (*)(CUdevice, unsigned*, int*);
  using Retain = CUresult (*)(CUcontext*, CUdevice);
  using Release = CUresult (*)(CUdevice);
  if (allocations().empty()) return nullptr;
  const auto get_state = driver_function<GetState>("cuDevicePrimaryCtxGetState");
  const auto retain = driver_function<Retain>("cuDevicePrimaryCtxRetain");
  const auto release = driver_function<Release>("cuDevicePrimaryCtxRelease_v2");
  unsigned flags = 0;
  int is_active = 0;
  CUcontext context = nullptr;
  // Retaining is the way to query the handle; on an active context it has no other effect.
  if (get_state == nullptr || retain == nullptr || release == nullptr ||
      get_state(device, &flags, &is_active) != cuda_success || is_active == 0 ||
      retain(&context, device) != cuda_success) {
    return nullptr;
  }
  release(device);
  return context;
}

}  // namespace lynxpp::preload
