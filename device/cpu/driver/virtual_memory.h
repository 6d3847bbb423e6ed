// The driver's virtual memory: addresses that are reserved, memory that has none yet, and mappings of one to
// the other. Memory is a file without a name, so that it may be mapped several times and exported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "device/cpu/driver/api.h"

namespace lynxpp::device::cpu {

/// Thread safe. Addresses and sizes are multiples of `granularity` where a function says so, else
/// CUDA_ERROR_INVALID_VALUE.
class VirtualMemory {
 public:
  static constexpr std::size_t granularity = std::size_t{2} << 20;

  /// Multiples of the host's page; `alignment` is a power of two or 0. `wanted` is where, if there is room;
  /// 0: anywhere. Errors: CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY.
  CUresult reserve(std::size_t bytes, std::size_t alignment, CUdeviceptr wanted, CUdeviceptr* address);
  /// All of a reservation, in which nothing is mapped any more.
  CUresult free(CUdeviceptr address, std::size_t bytes);

  /// Memory of a device. Errors: CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_DEVICE,
  /// CUDA_ERROR_NOT_SUPPORTED (host memory, handles for other systems, compression),
  /// CUDA_ERROR_OUT_OF_MEMORY.
  CUresult create(std::size_t bytes, const CUmemAllocationProp& properties,
                  CUmemGenericAllocationHandle* handle);
  /// The memory goes away when nobody holds a handle and it is mapped nowhere.
  CUresult release(CUmemGenericAllocationHandle handle);
  /// The handle of what is mapped at an address, which has one holder more then.
  CUresult retain(CUdeviceptr address, CUmemGenericAllocationHandle* handle);
  CUresult properties_of(CUmemGenericAllocationHandle handle, CUmemAllocationProp* properties);

  /// From the memory's beginning, inside of a reservation where nothing is mapped. No device has access then.
  CUresult map(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle handle);
  /// Whole mappings, with none missing between them. Waits for all devices.
  CUresult unmap(CUdeviceptr address, std::size_t bytes);
  /// Of whole mappings, as above. Errors: CUDA_ERROR_NOT_SUPPORTED for access by the host, or without
  /// writing.
  CUresult set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc& access);
  CUresult access_of(CUdeviceptr address, const CUmemLocation& location, unsigned long long* flags);

  /// A new file descriptor, which the caller owns.
  CUresult export_to(CUmemGenericAllocationHandle handle, int* descriptor);
  /// `descriptor` stays the caller's. Errors: CUDA_ERROR_INVALID_VALUE for a file that is no such memory.
  CUresult import_from(int descriptor, CUmemGenericAllocationHandle* handle);

 private:
  struct Memory;
  struct Mapping {
    std::size_t bytes = 0;
    std::shared_ptr<Memory> memory;
  };
  using Mappings = std::map<CUdeviceptr, Mapping>;

  bool are_whole(CUdeviceptr address, std::size_t bytes);
  Mappings::iterator mapping_at(CUdeviceptr address);
  std::shared_ptr<Memory> find(CUmemGenericAllocationHandle handle);
  CUmemGenericAllocationHandle hold(std::shared_ptr<Memory> memory);
  static void watch_writes(Memory& memory, CUdeviceptr address, std::size_t bytes);

  struct Held {
    std::shared_ptr<Memory> memory;
    std::size_t holders = 0;
  };
  std::mutex mutex_;
  std::map<CUdeviceptr, std::size_t> reservations_;
  std::map<CUmemGenericAllocationHandle, Held> handles_;
  Mappings mappings_;
  CUmemGenericAllocationHandle next_ = 1;
};

/// The process's. Never destroyed.
VirtualMemory& virtual_memory();

}  // namespace lynxpp::device::cpu
