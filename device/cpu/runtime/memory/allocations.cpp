#include "device/cpu/runtime/memory/allocations.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "device/cpu/runtime/call_scopes.h"
#include "device/cpu/runtime/device_limits.h"
#include "device/cpu/runtime/wanted_checks.h"
#include "device/cpu/simt/check/written_memory.h"
#include "support/call_site.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

/// Allocations are aligned so that each may be a texture's memory.
constexpr std::size_t alignment = texture_alignment;
/// Minimum number of unused bytes after each allocation, so that an access past its end hits no other
/// allocation.
constexpr std::size_t gap = 256;
/// Limits on freed memory that is withheld from reuse, so that late accesses to it are detected.
constexpr std::size_t most_freed_entries = 1024;
constexpr std::size_t most_freed_bytes = std::size_t{1} << 30;

std::size_t index_of(int device) { return static_cast<std::size_t>(device); }

bool counts_as_used(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::managed || kind == MemoryKind::array;
}

/// True if the host can write such memory only by an API call, so that new memory counts as unwritten.
bool begins_unwritten(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::kernel_heap || kind == MemoryKind::array;
}

bool is_variable(const Allocation& allocation) {
  return allocation.kind == MemoryKind::variable || allocation.is_managed_variable;
}

/// True if the memory is owned elsewhere.
bool is_foreign(const Allocation& allocation) {
  return is_variable(allocation) || allocation.kind == MemoryKind::registered_host ||
         allocation.kind == MemoryKind::probe || allocation.kind == MemoryKind::mapped;
}

/// True if the program's host code allocated or registered the memory, and it has an address.
bool is_listed(const Allocation& allocation) {
  return !is_variable(allocation) && allocation.kind != MemoryKind::probe &&
         allocation.kind != MemoryKind::kernel_heap && allocation.kind != MemoryKind::array;
}

/// Returns the inner pages of freed memory to the system; the addresses stay reserved.
void return_pages(const Allocation& allocation) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t first = (allocation.address + page - 1) / page * page;
  const std::uintptr_t end = (allocation.address + allocation.bytes) / page * page;
  constexpr std::uintptr_t worth_a_call = 1 << 16;
  if (end > first && end - first >= worth_a_call)
    madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
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
    case MemoryKind::mapped: return AllocationKind::mapped;
    default: return allocation.pool != nullptr ? AllocationKind::pool : AllocationKind::device;
  }
}

}  // namespace

ProgramCall::ProgramCall(const void* caller) : outer_(std::exchange(program_caller, caller)) {}
ProgramCall::~ProgramCall() {
  const bool returns_to_program = std::exchange(program_caller, outer_) != nullptr && outer_ == nullptr;
  if (returns_to_program) wait_if_held();
}

Allocations& allocations() {
  static auto* const map = [] {
    wanted_checks();  // read LYNXPP_CPU_CHECK before the first allocation
    return new Allocations;
  }();
  return *map;
}

Allocations::Allocations() {
  for (int device = 0; device < device_count(); ++device)
    memories_.push_back(std::make_unique<DeviceMemory>(*this, device));
}

std::size_t Allocations::total_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  const std::size_t host = pages > 0 && page > 0
                               ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                               : std::size_t{1} << 30;
  return host / static_cast<std::size_t>(device_count());
}

std::shared_ptr<void> zeroed_memory(std::size_t bytes) {
  // The system provides zeroed pages on first touch; smaller allocations are cheaper to fill.
  constexpr std::size_t worth_pages = 256 << 10;
  if (bytes < worth_pages) {
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
    void* const memory = std::aligned_alloc(alignment, whole);
    if (memory != nullptr) std::memset(memory, 0, whole);
    return {memory, &std::free};
  }
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {memory, [bytes](void* pages) { munmap(pages, bytes); }};
}

cudaError_t Allocations::allocate(void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags,
                                  void* pool) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  const CallStack stack = program_stack();
  const int device = current_device();
  const std::unique_lock lock(mutex_);
  if (!has_room(device, bytes)) return cudaErrorMemoryAllocation;
  std::shared_ptr<void> storage = zeroed_memory(bytes + gap);
  if (storage == nullptr) {
    drain_freed(0, 0);
    storage = zeroed_memory(bytes + gap);
  }
  if (storage == nullptr) return cudaErrorMemoryAllocation;
  *pointer = storage.get();
  const auto address = reinterpret_cast<std::uintptr_t>(*pointer);
  enter_own({address, bytes, kind, flags, pool, false, 0, stack, {}, {}, device, 0, std::move(storage)});
  if (WrittenMemory* const written = written_memory(); written != nullptr && begins_unwritten(kind))
    written->enter(address, bytes);
  return cudaSuccess;
}

cudaError_t Allocations::allocate(std::shared_ptr<void> storage, std::size_t bytes, int device, void* pool) {
  const CallStack stack = program_stack();
  const auto address = reinterpret_cast<std::uintptr_t>(storage.get());
  const std::unique_lock lock(mutex_);
  const auto before = by_address_.find(address);
  if (before != by_address_.end()) remove(before, before->second.retired_by.value_or(stack));
  if (!has_room(device, bytes)) return cudaErrorMemoryAllocation;
  enter_own(
      {address, bytes, MemoryKind::device, 0, pool, false, 0, stack, {}, {}, device, 0, std::move(storage)});
  return cudaSuccess;
}

bool Allocations::is_allocated(const void* address) const {
  const std::shared_lock lock(mutex_);
  const auto found = by_address_.find(reinterpret_cast<std::uintptr_t>(address));
  return found != by_address_.end() && !found->second.retired_by;
}

// Precondition of the functions up to nearest(): `mutex_` is held.

bool Allocations::has_room(int device, std::size_t bytes) const {
  const std::size_t total = total_bytes();
  return bytes <= total && used_[index_of(device)] <= total - bytes;
}

void Allocations::enter_own(Allocation allocation) {
  forget_stale(allocation.address, allocation.bytes);
  if (counts_as_used(allocation.kind)) used_[index_of(allocation.device)] += allocation.bytes;
  if (allocation.pool != nullptr) {
    PoolUse& use = pools_[allocation.pool];
    use.current += allocation.bytes;
    use.high = std::max(use.high, use.current);
  }
  enter(std::move(allocation));
}

/// Removes registered host memory that the program freed without unregistering, if new storage overlaps it.
void Allocations::forget_stale(std::uintptr_t address, std::size_t bytes) {
  auto stale = by_address_.upper_bound(address);
  if (stale != by_address_.begin()) --stale;
  while (stale != by_address_.end() && stale->first < address + bytes) {
    const bool gone =
        stale->second.kind == MemoryKind::registered_host && stale->first + stale->second.bytes > address;
    if (gone) {
      ++version_;
      note_removal();
    }
    stale = gone ? by_address_.erase(stale) : std::next(stale);
  }
}

void Allocations::enter(Allocation allocation) {
  if (is_listed(allocation)) {
    allocation.number = next_++;
    ++version_;
  }
  const std::uintptr_t address = allocation.address;
  by_address_[address] = std::move(allocation);
}

void Allocations::free_storage(const Allocation& allocation, const CallStack& stack) {
  if (WrittenMemory* const written = written_memory(); written != nullptr) written->leave(allocation.address);
  if (counts_as_used(allocation.kind)) used_[index_of(allocation.device)] -= allocation.bytes;
  if (allocation.pool != nullptr) pools_[allocation.pool].current -= allocation.bytes;
  return_pages(allocation);
  freed_bytes_ += allocation.bytes;
  freed_.push_back({allocation, stack});
  drain_freed(most_freed_entries, most_freed_bytes);
}

void Allocations::drain_freed(std::size_t most_entries, std::size_t most_bytes) {
  while (freed_.size() > most_entries || freed_bytes_ > most_bytes) {
    freed_bytes_ -= freed_.front().allocation.bytes;
    freed_.pop_front();
  }
}

/// Returns the entry that contains the address, or else the closest entry before or after it.
const Allocation* Allocations::nearest(std::uint64_t address) const {
  const auto next = by_address_.upper_bound(address);
  if (next == by_address_.begin()) return next != by_address_.end() ? &next->second : nullptr;
  const Allocation& previous = std::prev(next)->second;
  if (next == by_address_.end() || address < previous.address + previous.bytes) return &previous;
  return address - (previous.address + previous.bytes) < next->first - address ? &previous : &next->second;
}

/// `stack` belongs to the call that frees the memory.
void Allocations::remove(Entry entry, const CallStack& stack) {
  free_storage(entry->second, stack);
  if (is_listed(entry->second)) ++version_;
  by_address_.erase(entry);
  note_removal();
}

Allocations::Entry Allocations::find_own(void* pointer, MemoryKind kind, MemoryKind other_kind) {
  const auto found = by_address_.find(reinterpret_cast<std::uintptr_t>(pointer));
  const bool matches = found != by_address_.end() && !is_foreign(found->second) &&
                       !found->second.retired_by &&
                       (found->second.kind == kind || found->second.kind == other_kind);
  return matches ? found : by_address_.end();
}

cudaError_t Allocations::release(void* pointer, MemoryKind kind, MemoryKind other_kind) {
  const CallStack stack = program_stack();
  const std::unique_lock lock(mutex_);
  const auto found = find_own(pointer, kind, other_kind);
  if (found == by_address_.end()) return cudaErrorInvalidValue;
  remove(found, stack);
  return cudaSuccess;
}

cudaError_t Allocations::retire(void* pointer, MemoryKind kind, MemoryKind other_kind,
                                std::uint64_t& number) {
  const CallStack stack = program_stack();
  const std::unique_lock lock(mutex_);
  const auto found = find_own(pointer, kind, other_kind);
  if (found == by_address_.end()) return cudaErrorInvalidValue;
  found->second.retired_by = stack;
  number = found->second.number;
  return cudaSuccess;
}

void Allocations::release_retired(void* pointer, std::uint64_t number) {
  const std::unique_lock lock(mutex_);
  const auto found = by_address_.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found != by_address_.end() && found->second.retired_by && found->second.number == number)
    remove(found, *found->second.retired_by);
}

bool Allocations::add_foreign(const Allocation& allocation) {
  const CallStack stack = is_listed(allocation) ? program_stack() : CallStack{};
  const std::unique_lock lock(mutex_);
  if (allocation.kind != MemoryKind::registered_host) forget_stale(allocation.address, allocation.bytes);
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
  if (is_listed(found->second)) ++version_;
  by_address_.erase(found);
  note_removal();
  return true;
}

std::optional<Allocation> Allocations::find(const void* pointer) const {
  const std::shared_lock lock(mutex_);
  const Allocation* const found = entry_of(reinterpret_cast<std::uintptr_t>(pointer));
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

void Allocations::release_all(int device) {
  const CallStack stack = program_stack();
  const std::unique_lock lock(mutex_);
  ++version_;
  note_removal();
  for (auto entry = by_address_.begin(); entry != by_address_.end();) {
    const Allocation& allocation = entry->second;
    const bool stays = allocation.device != device ||
                       (is_foreign(allocation) && allocation.kind != MemoryKind::registered_host);
    if (!stays && !is_foreign(allocation)) free_storage(allocation, stack);
    entry = stays ? std::next(entry) : by_address_.erase(entry);
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
      if (!is_listed(allocation)) continue;
      made->sorted.push_back({address, allocation.bytes, allocation.number, {}, live_kind(allocation)});
      stacks.push_back(allocation.stack);
    }
  }
  // Naming a caller calls the dynamic linker, whose lock an allocating thread may hold, so release the lock.
  for (std::size_t i = 0; i < stacks.size(); ++i) made->sorted[i].site = call_site(stacks[i]);
  const std::unique_lock lock(mutex_);
  if (live_ == nullptr || live_->version < made->version) live_ = std::move(made);
  return live_;
}

std::vector<Allocation> Allocations::live_arrays() const {
  const std::shared_lock lock(mutex_);
  std::vector<Allocation> found;
  for (const auto& [address, allocation] : by_address_) {
    if (allocation.kind == MemoryKind::array) found.push_back(allocation);
  }
  return found;
}

void Allocations::set_access(std::uint64_t address, int device, bool may) {
  const std::unique_lock lock(mutex_);
  const auto found = by_address_.find(address);
  if (found == by_address_.end() || found->second.kind != MemoryKind::mapped) return;
  const std::uint32_t bit = std::uint32_t{1} << device;
  found->second.access = may ? found->second.access | bit : found->second.access & ~bit;
  if (!may) note_removal();
}

bool Allocations::reserve(int device, std::size_t bytes) {
  const std::size_t total = total_bytes();
  const std::unique_lock lock(mutex_);
  std::size_t& used = used_[index_of(device)];
  if (bytes > total || used > total - bytes) return false;
  used += bytes;
  return true;
}

void Allocations::release(int device, std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  used_[index_of(device)] -= bytes;
}

std::size_t Allocations::used_bytes(int device) const {
  const std::shared_lock lock(mutex_);
  return used_[index_of(device)];
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

// ---------------------------------------------------------------- accesses of kernels

void Allocations::note_removal() {
  for (const auto& memory : memories_) memory->note_removal();
}

/// Precondition: `mutex_` is held.
bool Allocations::is_open_to(const Allocation& allocation, int device) const {
  if (allocation.kind == MemoryKind::mapped) return (allocation.access >> device & 1) != 0;
  if (allocation.device == device) return true;
  switch (allocation.kind) {
    case MemoryKind::managed:
    case MemoryKind::pinned_host:
    case MemoryKind::registered_host: return true;
    default: break;
  }
  if (allocation.pool == nullptr) return peer_access().enabled(device, allocation.device);
  const auto pool = pools_.find(allocation.pool);
  return pool != pools_.end() && (pool->second.access >> device & 1) != 0;
}

bool Allocations::is_accessible(const Allocation& allocation, int device) const {
  const std::shared_lock lock(mutex_);
  return is_open_to(allocation, device);
}

void Allocations::set_pool_access(const void* pool, std::uint32_t devices) {
  const std::unique_lock lock(mutex_);
  pools_[pool].access = devices;
  note_removal();
}

std::uint32_t Allocations::pool_access(const void* pool) const { return pool_use(pool).access; }

/// Precondition: `mutex_` is held.
const Allocation* Allocations::entry_of(std::uint64_t address) const {
  auto next = by_address_.upper_bound(address);
  if (next == by_address_.begin()) return nullptr;
  --next;
  return address - next->first < next->second.bytes ? &next->second : nullptr;
}

AddressRange DeviceMemory::around(std::uint64_t address) const {
  const std::shared_lock lock(all_.mutex_);
  const Allocation* const found = all_.entry_of(address);
  if (found == nullptr || !all_.is_open_to(*found, device_)) return {};
  return {found->address, found->bytes};
}

std::string DeviceMemory::describe(std::uint64_t address) const { return all_.describe(address, device_); }

bool DeviceMemory::is_freed(std::uint64_t address) const {
  const std::shared_lock lock(all_.mutex_);
  return std::ranges::any_of(all_.freed_, [&](const Allocations::Freed& each) {
    return address - each.allocation.address < each.allocation.bytes;
  });
}

HostAccess DeviceMemory::host_access_at(std::uint64_t address) const {
  const std::shared_lock lock(all_.mutex_);
  const Allocation* const found = all_.entry_of(address);
  if (found == nullptr) return HostAccess::none;
  if (found->kind == MemoryKind::managed) return HostAccess::managed;
  const bool is_pinned = found->kind == MemoryKind::pinned_host || found->kind == MemoryKind::registered_host;
  return is_pinned ? HostAccess::pinned : HostAccess::none;
}

void* DeviceMemory::allocate_for_kernel(std::uint64_t bytes) {
  const DeviceScope device(device_);
  void* pointer = nullptr;
  // Without a call stack: no runtime call of the program allocates this.
  const ProgramCall scope(nullptr);
  all_.allocate(&pointer, bytes, MemoryKind::kernel_heap);
  return pointer;
}

bool DeviceMemory::free_for_kernel(void* pointer) {
  const ProgramCall scope(nullptr);
  return all_.release(pointer, MemoryKind::kernel_heap, MemoryKind::kernel_heap) == cudaSuccess;
}

namespace {

/// Returns text such as "400 bytes at 0x7f30, device memory allocated by main+0x4f".
std::string name_of(const Allocation& allocation) {
  char size_and_place[64];
  std::snprintf(size_and_place, sizeof size_and_place, "%zu bytes at 0x%zx", allocation.bytes,
                static_cast<std::size_t>(allocation.address));
  if (!allocation.name.empty())
    return "variable '" + demangle(std::string(allocation.name)) + "' of " + size_and_place;
  std::string text = size_and_place;
  switch (allocation.kind) {
    case MemoryKind::kernel_heap: return text + " allocated by the device's malloc";
    case MemoryKind::probe: return text + " allocated by lynxpp";
    case MemoryKind::array: text += ", array memory"; break;
    default: text += ", " + std::string(device::name_of(live_kind(allocation))) + " memory"; break;
  }
  const std::string_view chain = call_site(allocation.stack).chain;
  if (!chain.empty()) text += " allocated by " + std::string(chain);
  if (!is_listed(allocation)) return text;
  return text + " (allocation " + std::to_string(allocation.number) + ")";
}

bool is_mapped(std::uint64_t address) {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(address / page * page), 1, &resident) == 0;
}

/// True if an access at that distance from an allocation was probably meant for it. Unrelated host memory may
/// lie between allocations.
bool is_near(const Allocation& allocation, std::uint64_t distance) {
  return distance < std::clamp<std::uint64_t>(allocation.bytes, 1 << 10, 1 << 20);
}

}  // namespace

std::string Allocations::describe(std::uint64_t address, int device) const {
  constexpr std::uint64_t first_page = 4096;
  if (address < first_page) return "a null pointer";
  std::optional<Freed> freed;
  std::optional<Allocation> close;
  bool is_open = true;
  {
    const std::shared_lock lock(mutex_);
    for (const Freed& each : freed_) {
      if (address - each.allocation.address < each.allocation.bytes) freed = each;
    }
    if (const Allocation* const found = nearest(address)) close = *found;
    is_open = !close || is_open_to(*close, device);
  }
  const std::uint64_t end = close ? close->address + close->bytes : 0;
  const bool inside = close && address >= close->address && address < end;
  if (freed && !inside) {
    const std::string_view chain = call_site(freed->stack).chain;
    return "offset " + std::to_string(address - freed->allocation.address) +
           " of freed memory: " + name_of(freed->allocation) +
           (chain.empty() ? "" : ", freed by " + std::string(chain));
  }
  if (inside) {
    const std::string closed = ", on device " + std::to_string(close->device) + ", which device " +
                               std::to_string(device) + " cannot access";
    return "offset " + std::to_string(address - close->address) + " of " + name_of(*close) +
           (is_open ? "" : closed);
  }
  if (close && address >= end && is_near(*close, address - end)) {
    const std::string distance = address == end ? "just" : std::to_string(address - end) + " bytes";
    return distance + " past the end of " + name_of(*close);
  }
  if (close && address < close->address && is_near(*close, close->address - address))
    return std::to_string(close->address - address) + " bytes before " + name_of(*close);
  if (is_mapped(address)) {
    return "host memory that the device cannot access; kernels can access host memory from cudaMallocHost, "
           "cudaMallocManaged or cudaHostRegister";
  }
  return "nothing is allocated there";
}

}  // namespace lynxpp::device::cpu
