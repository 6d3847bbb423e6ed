// Virtual memory: address reservations, memory, and mappings.
#include "device/cpu/driver/api.h"
#include "device/cpu/driver/virtual_memory.h"

#include <cstdint>

namespace lynxpp::device::cpu::driver_api {

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags) {
  if (address == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().reserve(bytes, alignment, wanted, address);
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) { return virtual_memory().free(address, bytes); }

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long flags) {
  if (handle == nullptr || properties == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().create(bytes, *properties, handle);
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) { return virtual_memory().release(handle); }
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().retain(reinterpret_cast<CUdeviceptr>(address), handle);
}
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().properties_of(handle, properties);
}

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags option) {
  const bool is_known =
      option == CU_MEM_ALLOC_GRANULARITY_MINIMUM || option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;
  if (bytes == nullptr || properties == nullptr || !is_known) return CUDA_ERROR_INVALID_VALUE;
  *bytes = VirtualMemory::granularity;
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  if (offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().map(address, bytes, handle);
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) { return virtual_memory().unmap(address, bytes); }

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* wanted, size_t count) {
  if (wanted == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    if (const CUresult error = virtual_memory().set_access(address, bytes, wanted[i]); error != CUDA_SUCCESS)
      return error;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return virtual_memory().access_of(address, *location, flags);
}

CUresult cuMemExportToShareableHandle(void* shared, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  if (shared == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  return virtual_memory().export_to(handle, static_cast<int*>(shared));
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shared,
                                        CUmemAllocationHandleType type) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
  // The pointer argument holds the descriptor itself.
  return virtual_memory().import_from(static_cast<int>(reinterpret_cast<std::intptr_t>(shared)), handle);
}

}  // namespace lynxpp::device::cpu::driver_api
