// The driver's virtual memory: address reservations, memory without an address, and mappings between them.
// Memory is an anonymous file, so that it can be mapped several times and exported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "device/cpu/driver/api.h"

namespace lynxpp::device::cpu {

/// Thread safe. Functions with granular addresses or sizes return CUDA_ERROR_INVALID_VALUE unless these are
/// multiples of `granularity`.
class VirtualMemory {
 public:
  static constexpr std::size_t granularity = std::size_t{2} << 20;

  /// Reserves addresses. `bytes` is a multiple of the host's page size; `alignment` is a power of two or 0.
  /// `wanted` is the preferred address; 0: any. Errors: CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY.
  CUresult reserve(std::size_t bytes, std::size_t alignment, CUdeviceptr wanted, CUdeviceptr* address);
  /// Frees a whole reservation that contains no mappings.
  CUresult free(CUdeviceptr address, std::size_t bytes);

  /// Creates memory of a device. Errors: CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_DEVICE,
  /// CUDA_ERROR_NOT_SUPPORTED (host memory, handles for other systems, compression),
  /// CUDA_ERROR_OUT_OF_MEMORY.
  CUresult create(std::size_t bytes, const CUmemAllocationProp& properties,
                  CUmemGenericAllocationHandle* handle);
  /// Releases a handle. The memory is freed when it has no handles and no mappings.
  CUresult release(CUmemGenericAllocationHandle handle);
  /// Returns the handle of the memory mapped at an address, and adds a reference to it.
  CUresult retain(CUdeviceptr address, CUmemGenericAllocationHandle* handle);
  CUresult properties_of(CUmemGenericAllocationHandle handle, CUmemAllocationProp* properties);

  /// Maps the first `bytes` of the memory at an address in a reservation that is not mapped there. No device
  /// has access at first.
  CUresult map(CUdeviceptr address, std::size_t bytes, CUmemGenericAllocationHandle handle);
  /// Unmaps whole, contiguous mappings. Waits for all devices.
  CUresult unmap(CUdeviceptr address, std::size_t bytes);
  /// Sets the access to whole, contiguous mappings. Errors: CUDA_ERROR_NOT_SUPPORTED for access by the host,
  /// or without write permission.
  CUresult set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc& access);
  CUresult access_of(CUdeviceptr address, const CUmemLocation& location, unsigned long long* flags);

  /// Returns a new file descriptor, which the caller owns.
  CUresult export_to(CUmemGenericAllocationHandle handle, int* descriptor);
  /// `descriptor` remains the caller's. Errors: CUDA_ERROR_INVALID_VALUE if the file is not exported device
  /// memory.
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

/// Returns the process's virtual memory. Never destroyed.
VirtualMemory& virtual_memory();

}  // namespace lynxpp::device::cpu
