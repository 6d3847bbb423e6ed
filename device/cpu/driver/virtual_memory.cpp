#include "device/cpu/driver/virtual_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "device/cpu/runtime/devices.h"
#include "device/cpu/runtime/memory/allocations.h"
#include "device/cpu/runtime/streams.h"
#include "device/cpu/simt/check/written_memory.h"

namespace lynxpp::device::cpu {
namespace {

/// The file's name, to which the device number is appended: the importer needs it to identify the memory.
constexpr std::string_view file_name = "lynxpp-device-memory-";

void* pointer_of(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

bool is_granular(std::uint64_t value) { return value % VirtualMemory::granularity == 0; }

/// Reserves addresses without memory.
void* take_addresses(void* wanted, std::size_t bytes, int flags) {
  return mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

CUresult check_properties(const CUmemAllocationProp& properties) {
  if (properties.type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (!is_device(properties.location.id)) return CUDA_ERROR_INVALID_DEVICE;
  constexpr unsigned known = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  const bool is_plain = (unsigned{properties.requestedHandleTypes} & ~known) == 0 &&
                        properties.allocFlags.compressionType == CU_MEM_ALLOCATION_COMP_NONE &&
                        properties.allocFlags.gpuDirectRDMACapable == 0 && properties.allocFlags.usage == 0;
  return is_plain ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/// Returns the device from the name of a device memory file; nullopt for any other file.
std::optional<int> device_of_file(int descriptor) {
  char name[128];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), name, sizeof name);
  if (length <= 0) return std::nullopt;
  const std::string_view text(name, static_cast<std::size_t>(length));
  const std::size_t found = text.find(file_name);
  if (found == std::string_view::npos || !text.starts_with("/memfd:")) return std::nullopt;
  const char* const first = text.data() + found + file_name.size();
  int device = 0;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), device);
  return error == std::errc() && end != first && is_device(device) ? std::optional(device) : std::nullopt;
}

}  // namespace

VirtualMemory& virtual_memory() {
  static auto* const all = new VirtualMemory;
  return *all;
}

struct VirtualMemory::Memory {
  Memory(int file, std::size_t size, const CUmemAllocationProp& all, bool is_counted_here)
      : descriptor(file), bytes(size), properties(all), is_counted(is_counted_here) {}
  ~Memory() {
    close(descriptor);
    if (is_counted) allocations().release(properties.location.id, bytes);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  const int descriptor;
  const std::size_t bytes;
  const CUmemAllocationProp properties;
  const bool is_counted;  ///< true if this process created it and accounts for it
  bool was_mapped = false;
};

// ---------------------------------------------------------------- addresses

CUresult VirtualMemory::reserve(std::size_t bytes, std::size_t alignment, CUdeviceptr wanted,
                                CUdeviceptr* address) {
  const bool is_good = bytes != 0 && bytes % page_bytes() == 0 && wanted % page_bytes() == 0 &&
                       (alignment == 0 || std::has_single_bit(alignment));
  if (!is_good) return CUDA_ERROR_INVALID_VALUE;
  alignment = std::max(alignment, granularity);
  std::size_t with_margin = 0;
  if (__builtin_add_overflow(bytes, alignment, &with_margin)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(mutex_);
  void* place = MAP_FAILED;
  if (wanted != 0 && wanted % alignment == 0)
    place = take_addresses(pointer_of(wanted), bytes, MAP_FIXED_NOREPLACE);
  if (place == MAP_FAILED) {
    void* const all = take_addresses(nullptr, with_margin, 0);
    if (all == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    const auto first = reinterpret_cast<CUdeviceptr>(all);
    const CUdeviceptr aligned = (first + alignment - 1) / alignment * alignment;
    if (aligned != first) munmap(all, aligned - first);
    const CUdeviceptr end = aligned + bytes;
    if (end != first + with_margin) munmap(pointer_of(end), first + with_margin - end);
    place = pointer_of(aligned);
  }
  *address = reinterpret_cast<CUdeviceptr>(place);
  reservations_[*address] = bytes;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::free(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = reservations_.find(address);
  if (found == reservations_.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto mapped = mappings_.lower_bound(address);
  if (mapped != mappings_.end() && mapped->first < address + bytes) return CUDA_ERROR_INVALID_VALUE;
  munmap(pointer_of(address), bytes);
  reservations_.erase(found);
  return CUDA_SUCCESS;
}

// ---------------------------------------------------------------- memory

/// Precondition of the functions up to watch_writes(): `mutex_` is held.

std::shared_ptr<VirtualMemory::Memory> VirtualMemory::find(CUmemGenericAllocationHandle handle) {
  const auto found = handles_.find(handle);
  return found != handles_.end() ? found->second.memory : nullptr;
}

CUmemGenericAllocationHandle VirtualMemory::hold(std::shared_ptr<Memory> memory) {
  const auto known =
      std::ranges::find_if(handles_, [&](const auto& each) { return each.second.memory == memory; });
  if (known != handles_.end()) {
    ++known->second.holders;
    return known->first;
  }
  handles_[next_] = {std::move(memory), 1};
  return next_++;
}

/// Marks memory as unwritten when it is first mapped. Memory with several addresses may be written through
/// any of them, so later mappings count as written.
void VirtualMemory::watch_writes(Memory& memory, CUdeviceptr address, std::size_t bytes) {
  WrittenMemory* const written = written_memory();
  if (written == nullptr) return;
  if (!std::exchange(memory.was_mapped, true)) written->enter(address, bytes);
}

CUresult VirtualMemory::create(std::size_t bytes, const CUmemAllocationProp& properties,
                               CUmemGenericAllocationHandle* handle) {
  if (bytes == 0 || !is_granular(bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_properties(properties); error != CUDA_SUCCESS) return error;
  const int device = properties.location.id;
  if (!allocations().reserve(device, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::string name = std::string(file_name) + std::to_string(device);
  const int descriptor = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (descriptor < 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    if (descriptor >= 0) close(descriptor);
    allocations().release(device, bytes);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const std::lock_guard lock(mutex_);
  *handle = hold(std::make_shared<Memory>(descriptor, bytes, properties, true));
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::release(CUmemGenericAllocationHandle handle) {
  std::shared_ptr<Memory> gone;
  const std::lock_guard lock(mutex_);
  const auto found = handles_.find(handle);
  if (found == handles_.end()) return CUDA_ERROR_INVALID_VALUE;
  if (--found->second.holders != 0) return CUDA_SUCCESS;
  gone = std::move(found->second.memory);
  handles_.erase(found);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::retain(CUdeviceptr address, CUmemGenericAllocationHandle* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = mapping_at(address);
  if (found == mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
  *handle = hold(found->second.memory);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::properties_of(CUmemGenericAllocationHandle handle, CUmemAllocationProp* properties) {
  const std::lock_guard lock(mutex_);
  const auto memory = find(handle);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *properties = memory->properties;
  return CUDA_SUCCESS;
}

// ---------------------------------------------------------------- mappings

/// Precondition of the functions up to are_whole(): `mutex_` is held.

VirtualMemory::Mappings::iterator VirtualMemory::mapping_at(CUdeviceptr address) {
  const auto next = mappings_.upper_bound(address);
  if (next == mappings_.begin()) return mappings_.end();
  const auto found = std::prev(next);
  return address - found->first < found->second.bytes ? found : mappings_.end();
}

bool VirtualMemory::are_whole(CUdeviceptr address, std::size_t bytes) {
  CUdeviceptr next = address;
  for (auto each = mappings_.find(address); each != mappings_.end() && next < address + bytes; ++each) {
    if (each->first != next) return false;
    next += each->second.bytes;
  }
  return bytes != 0 && next == address + bytes;
}

CUresult VirtualMemory::map(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle handle) {
  if (bytes == 0 || !is_granular(address) || !is_granular(bytes)) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  const auto memory = find(handle);
  if (memory == nullptr || bytes > memory->bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto after = reservations_.upper_bound(address);
  if (after == reservations_.begin()) return CUDA_ERROR_INVALID_VALUE;
  const auto [begin, reserved] = *std::prev(after);
  if (address - begin >= reserved || bytes > reserved - (address - begin)) return CUDA_ERROR_INVALID_VALUE;
  const auto next = mappings_.lower_bound(address);
  const bool is_taken =
      mapping_at(address) != mappings_.end() || (next != mappings_.end() && next->first < address + bytes);
  if (is_taken) return CUDA_ERROR_INVALID_VALUE;
  void* const place =
      mmap(pointer_of(address), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory->descriptor, 0);
  if (place == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  Allocation mapped{address, bytes, MemoryKind::mapped};
  mapped.device = memory->properties.location.id;
  allocations().add_foreign(mapped);
  const auto stop_watching = [&](const auto& each) {
    WrittenMemory* const written = written_memory();
    if (written != nullptr && each.second.memory == memory) written->leave(each.first);
  };
  std::ranges::for_each(mappings_, stop_watching);
  watch_writes(*memory, address, bytes);
  mappings_[address] = {bytes, memory};
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::unmap(CUdeviceptr address, std::size_t bytes) {
  streams().wait_for_all();
  const std::lock_guard lock(mutex_);
  if (!are_whole(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  for (auto each = mappings_.find(address); each != mappings_.end() && each->first < address + bytes;) {
    allocations().remove_foreign(pointer_of(each->first), MemoryKind::mapped);
    if (WrittenMemory* const written = written_memory(); written != nullptr) written->leave(each->first);
    each = mappings_.erase(each);
  }
  take_addresses(pointer_of(address), bytes, MAP_FIXED);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc& access) {
  if (access.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (!is_device(access.location.id)) return CUDA_ERROR_INVALID_DEVICE;
  if (access.flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return CUDA_ERROR_NOT_SUPPORTED;
  const bool may = access.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (!may && access.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_ERROR_INVALID_VALUE;
  if (!may) streams().wait_for_all();
  const std::lock_guard lock(mutex_);
  if (!are_whole(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  for (auto each = mappings_.find(address); each != mappings_.end() && each->first < address + bytes; ++each)
    allocations().set_access(each->first, access.location.id, may);
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::access_of(CUdeviceptr address, const CUmemLocation& location,
                                  unsigned long long* flags) {
  const auto found = allocations().find(pointer_of(address));
  if (!found || found->kind != MemoryKind::mapped) return CUDA_ERROR_INVALID_VALUE;
  if (location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (!is_device(location.id)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = allocations().is_accessible(*found, location.id) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                            : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

// ---------------------------------------------------------------- other processes

CUresult VirtualMemory::export_to(CUmemGenericAllocationHandle handle, int* descriptor) {
  const std::lock_guard lock(mutex_);
  const auto memory = find(handle);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (memory->properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return CUDA_ERROR_INVALID_VALUE;
  const int copied = fcntl(memory->descriptor, F_DUPFD_CLOEXEC, 0);
  if (copied < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  *descriptor = copied;
  return CUDA_SUCCESS;
}

CUresult VirtualMemory::import_from(int descriptor, CUmemGenericAllocationHandle* handle) {
  const std::optional<int> device = device_of_file(descriptor);
  struct stat found {};
  if (!device || fstat(descriptor, &found) != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  // Memory that this process created keeps its handle.
  const auto is_it = [&](const std::shared_ptr<Memory>& memory) {
    struct stat own {};
    return fstat(memory->descriptor, &own) == 0 && own.st_ino == found.st_ino && own.st_dev == found.st_dev;
  };
  for (const auto& [number, held] : handles_) {
    if (is_it(held.memory)) return *handle = hold(held.memory), CUDA_SUCCESS;
  }
  for (const auto& [address, mapping] : mappings_) {
    if (is_it(mapping.memory)) return *handle = hold(mapping.memory), CUDA_SUCCESS;
  }
  const int copied = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (copied < 0) return CUDA_ERROR_OPERATING_SYSTEM;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {*device}};
  auto memory = std::make_shared<Memory>(copied, static_cast<std::size_t>(found.st_size), properties, false);
  memory->was_mapped = true;  // by its creator
  *handle = hold(std::move(memory));
  return CUDA_SUCCESS;
}

}  // namespace lynxpp::device::cpu
