// An allocation of the program, or other memory that kernels may access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "support/call_stack.h"

namespace lynxpp::device::cpu {

enum class MemoryKind {
  device,           ///< cudaMalloc and its variants
  managed,          ///< cudaMallocManaged, __managed__ variables
  pinned_host,      ///< cudaMallocHost, cudaHostAlloc
  registered_host,  ///< cudaHostRegister: the program's own memory
  variable,         ///< __device__ and __constant__ variables, stored in a loaded module
  kernel_heap,      ///< malloc in device code
  array,            ///< a CUDA array, which the program accesses through textures, surfaces and copies
  probe,            ///< lynxpp's own, for results of instrumented kernels
  mapped,           ///< a mapping made by cuMemMap; the memory is owned elsewhere
};

struct Allocation {
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;    ///< flags passed to cudaHostAlloc or cudaHostRegister
  void* pool = nullptr;  ///< the cudaMemPool_t that the memory belongs to
  bool is_managed_variable = false;
  std::uint64_t number = 0;    ///< assigned by Allocations, in order
  CallStack stack = {};        ///< of the program's call; empty for variables
  std::string_view name = {};  ///< of a variable; points into its module
  /// Call stack of a call that frees the memory in stream order; nullopt if none has been made.
  std::optional<CallStack> retired_by = {};
  int device = 0;                      ///< owner; for host memory, the device that was current
  std::uint32_t access = 0;            ///< bit mask of devices that may access mapped memory
  std::shared_ptr<void> storage = {};  ///< from allocate() or lent by a graph; null if owned elsewhere

  void* pointer() const { return reinterpret_cast<void*>(address); }
  /// True if the host must not access the memory directly (although it could on this device).
  bool is_device_only() const {
    return kind == MemoryKind::device || kind == MemoryKind::variable || kind == MemoryKind::array ||
           kind == MemoryKind::mapped;
  }
};

}  // namespace lynxpp::device::cpu
