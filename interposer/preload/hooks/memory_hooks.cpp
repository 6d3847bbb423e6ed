// Wrappers of the functions that allocate, free and map memory.
#include <cstddef>
#include <cstdint>

#include "interposer/preload/allocations.h"
#include "interposer/preload/driver.h"
#include "interposer/preload/engine_client.h"

namespace lynxpp::preload {
namespace {

// The first version of each function has 32-bit sizes and device addresses, as these types show.
using Address = std::uint64_t;
using Address32 = std::uint32_t;

template <typename DeviceAddress, typename Size>
using Allocate = CUresult (*)(DeviceAddress*, Size);
template <typename DeviceAddress, typename Size>
using AllocatePitch = CUresult (*)(DeviceAddress*, Size*, Size, Size, unsigned);
using AllocateManaged = CUresult (*)(Address*, std::size_t, unsigned);
using AllocateAsync = CUresult (*)(Address*, std::size_t, CUstream);
using AllocateFromPool = CUresult (*)(Address*, std::size_t, void*, CUstream);
template <typename DeviceAddress>
using Free = CUresult (*)(DeviceAddress);
using FreeAsync = CUresult (*)(Address, CUstream);
using Map = CUresult (*)(Address, std::size_t, std::size_t, unsigned long long, unsigned long long);
using Unmap = CUresult (*)(Address, std::size_t);
template <typename Size>
using AllocateHost = CUresult (*)(void**, Size);
using AllocateHostFlags = CUresult (*)(void**, std::size_t, unsigned);
using RegisterHost = CUresult (*)(void*, std::size_t, unsigned);
using FreeHost = CUresult (*)(void*);

std::uint64_t address_of(std::uint64_t address) { return address; }
std::uint64_t address_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// Records an allocation by an original; `pointer` is where it stored the address. Returns `result`.
template <typename Pointer>
CUresult noted(CUresult result, const Pointer* pointer, std::uint64_t bytes, MemoryKind kind,
               const void* caller) {
  if (result == cuda_success && pointer != nullptr && !Passthrough::active())
    allocations().add(address_of(*pointer), bytes, kind, caller);
  return result;
}

/// Calls `really`, which frees the allocation that begins at `address`.
template <typename Really>
CUresult freed(std::uint64_t address, Really really) {
  if (Passthrough::active()) return really();
  const auto entry = allocations().remove(address);
  const CUresult result = really();
  if (result != cuda_success && entry) allocations().restore(*entry);
  return result;
}

// ---- device memory ---------------------------------------------------------------------------------------

template <Slot slot, Binding binding>
CUresult allocate(Address* address, std::size_t bytes) {
  const CUresult result = original<slot, binding, Allocate<Address, std::size_t>>()(address, bytes);
  return noted(result, address, bytes, MemoryKind::device, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult allocate_32(Address32* address, unsigned bytes) {
  const CUresult result = original<slot, binding, Allocate<Address32, unsigned>>()(address, bytes);
  return noted(result, address, bytes, MemoryKind::device, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult allocate_pitch(Address* address, std::size_t* pitch, std::size_t width, std::size_t height,
                        unsigned element_bytes) {
  const auto really = original<slot, binding, AllocatePitch<Address, std::size_t>>();
  const CUresult result = really(address, pitch, width, height, element_bytes);
  const std::uint64_t bytes = result == cuda_success && pitch != nullptr ? *pitch * height : 0;
  return noted(result, address, bytes, MemoryKind::device, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult allocate_pitch_32(Address32* address, unsigned* pitch, unsigned width, unsigned height,
                           unsigned element_bytes) {
  const auto really = original<slot, binding, AllocatePitch<Address32, unsigned>>();
  const CUresult result = really(address, pitch, width, height, element_bytes);
  const std::uint64_t bytes = result == cuda_success && pitch != nullptr ? std::uint64_t{*pitch} * height : 0;
  return noted(result, address, bytes, MemoryKind::device, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult allocate_managed(Address* address, std::size_t bytes, unsigned flags) {
  const CUresult result = original<slot, binding, AllocateManaged>()(address, bytes, flags);
  return noted(result, address, bytes, MemoryKind::managed, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult allocate_async(Address* address, std::size_t bytes, CUstream stream) {
  const CUresult result = original<slot, binding, AllocateAsync>()(address, bytes, stream);
  return noted(result, address, bytes, MemoryKind::pool, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult allocate_from_pool(Address* address, std::size_t bytes, void* pool, CUstream stream) {
  const CUresult result = original<slot, binding, AllocateFromPool>()(address, bytes, pool, stream);
  return noted(result, address, bytes, MemoryKind::pool, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult free_memory(Address address) {
  return freed(address, [&] { return original<slot, binding, Free<Address>>()(address); });
}

template <Slot slot, Binding binding>
CUresult free_memory_32(Address32 address) {
  return freed(address, [&] { return original<slot, binding, Free<Address32>>()(address); });
}

template <Slot slot, Binding binding>
CUresult free_async(Address address, CUstream stream) {
  return freed(address, [&] { return original<slot, binding, FreeAsync>()(address, stream); });
}

// ---- mappings --------------------------------------------------------------------------------------------

template <Slot slot, Binding binding>
CUresult map_memory(Address address, std::size_t bytes, std::size_t offset, unsigned long long handle,
                    unsigned long long flags) {
  const CUresult result = original<slot, binding, Map>()(address, bytes, offset, handle, flags);
  return noted(result, &address, bytes, MemoryKind::mapped, __builtin_return_address(0));
}

/// One call may end several mappings. The range stays reserved for the program, so no other mapping can
/// appear there meanwhile.
template <Slot slot, Binding binding>
CUresult unmap_memory(Address address, std::size_t bytes) {
  const std::uint64_t next = allocations().number_to_come();
  const CUresult result = original<slot, binding, Unmap>()(address, bytes);
  if (result == cuda_success && !Passthrough::active()) allocations().forget_mappings(address, bytes, next);
  return result;
}

// ---- memory of the host ----------------------------------------------------------------------------------

template <Slot slot, Binding binding>
CUresult allocate_host(void** address, std::size_t bytes) {
  const CUresult result = original<slot, binding, AllocateHost<std::size_t>>()(address, bytes);
  return noted(result, address, bytes, MemoryKind::host, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult allocate_host_32(void** address, unsigned bytes) {
  const CUresult result = original<slot, binding, AllocateHost<unsigned>>()(address, bytes);
  return noted(result, address, bytes, MemoryKind::host, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult allocate_host_flags(void** address, std::size_t bytes, unsigned flags) {
  const CUresult result = original<slot, binding, AllocateHostFlags>()(address, bytes, flags);
  return noted(result, address, bytes, MemoryKind::host, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult register_host(void* address, std::size_t bytes, unsigned flags) {
  const CUresult result = original<slot, binding, RegisterHost>()(address, bytes, flags);
  return noted(result, &address, bytes, MemoryKind::registered_host, __builtin_return_address(0));
}

template <Slot slot, Binding binding>
CUresult free_host(void* address) {
  return freed(address_of(address), [&] { return original<slot, binding, FreeHost>()(address); });
}

template <Slot slot, Binding binding>
CUresult unregister_host(void* address) {
  return freed(address_of(address), [&] { return original<slot, binding, FreeHost>()(address); });
}

}  // namespace
}  // namespace lynxpp::preload

#define LYNXPP_FAMILY_memory LYNXPP_DEFINE_HOOK
#include "interposer/preload/hooks/define_hooks.h"
