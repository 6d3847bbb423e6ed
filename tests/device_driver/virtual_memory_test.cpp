// Addresses, memory and mappings (cuMemAddressReserve, cuMemCreate, cuMemMap), with two devices.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "tests/device_driver/driver_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

class VirtualMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(CALL(cuInit, 0), CUDA_SUCCESS);
    for (const int device : {1, 0}) {
      ASSERT_EQ(CALL(cuDevicePrimaryCtxRetain, &contexts[device], device), CUDA_SUCCESS);
      ASSERT_EQ(CALL(cuCtxSetCurrent, contexts[device]), CUDA_SUCCESS);
    }
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = 0;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ASSERT_EQ(CALL(cuMemGetAllocationGranularity, &unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
              CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(CALL(cuCtxSetCurrent, nullptr), CUDA_SUCCESS);
    for (const int device : {0, 1}) found<CUresult(CUdevice)>("cuDevicePrimaryCtxReset")(device);
  }

  CUdeviceptr reserve(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(CALL(cuMemAddressReserve, &address, bytes, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(address % unit, 0u);
    return address;
  }
  CUmemGenericAllocationHandle create(std::size_t bytes) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(CALL(cuMemCreate, &handle, bytes, &properties, 0), CUDA_SUCCESS);
    return handle;
  }
  static CUresult open(CUdeviceptr address, std::size_t bytes, int device = 0,
                       CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = device;
    access.flags = flags;
    return CALL(cuMemSetAccess, address, bytes, &access, 1);
  }
  static unsigned long long access_of(CUdeviceptr address, int device) {
    CUmemLocation location{};
    location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    location.id = device;
    unsigned long long flags = 99;
    EXPECT_EQ(CALL(cuMemGetAccess, &flags, &location, address), CUDA_SUCCESS);
    return flags;
  }
  static CUresult fill(CUdeviceptr to, unsigned value, std::size_t count) {
    return found<CUresult(CUdeviceptr, unsigned, std::size_t)>("cuMemsetD32")(to, value, count);
  }
  static unsigned read(CUdeviceptr from) {
    unsigned value = 0;
    EXPECT_EQ(found<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH")(&value, from, 4),
              CUDA_SUCCESS);
    return value;
  }
  static CUresult launch(CUdeviceptr data, unsigned n) {
    CUmodule module = nullptr;
    EXPECT_EQ(CALL(cuModuleLoadData, &module, ptx), CUDA_SUCCESS);
    CUfunction function = nullptr;
    EXPECT_EQ(CALL(cuModuleGetFunction, &function, module, "scale"), CUDA_SUCCESS);
    void* parameters[] = {&data, &n};
    EXPECT_EQ(CALL(cuLaunchKernel, function, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr),
              CUDA_SUCCESS);
    return found<CUresult(CUcontext)>("cuCtxSynchronize")(nullptr);
  }

  CUcontext contexts[2] = {};
  CUmemAllocationProp properties{};
  std::size_t unit = 0;
};

/// Same as on an H100.
TEST_F(VirtualMemoryTest, NeedsNoContext) {
  ASSERT_EQ(CALL(cuCtxSetCurrent, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemGetAllocationGranularity, &unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
            CUDA_SUCCESS);
  const CUdeviceptr address = reserve(unit);
  const CUmemGenericAllocationHandle handle = create(unit);
  ASSERT_EQ(CALL(cuMemMap, address, unit, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(open(address, unit), CUDA_SUCCESS);
  EXPECT_EQ(access_of(address, 0), static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
  EXPECT_EQ(CALL(cuMemUnmap, address, unit), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemRelease, handle), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAddressFree, address, unit), CUDA_SUCCESS);
}

TEST_F(VirtualMemoryTest, MappedMemoryWithAccessIsUsable) {
  const CUdeviceptr address = reserve(2 * unit);
  EXPECT_EQ(fill(address, 7, 1), CUDA_ERROR_INVALID_VALUE) << "nothing is mapped";
  const auto handle = create(unit);
  ASSERT_EQ(CALL(cuMemMap, address + unit, unit, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(access_of(address + unit, 0), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_EQ(fill(address + unit, 7, 4), CUDA_ERROR_INVALID_VALUE) << "no device has access";
  ASSERT_EQ(open(address + unit, unit), CUDA_SUCCESS);
  EXPECT_EQ(access_of(address + unit + 100, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  ASSERT_EQ(fill(address + unit, 7, 4), CUDA_SUCCESS);
  ASSERT_EQ(launch(address + unit, 3), CUDA_SUCCESS);
  EXPECT_EQ(read(address + unit + 8), 21u);
  EXPECT_EQ(read(address + unit + 12), 7u);

  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  using Range = CUresult(CUdeviceptr*, std::size_t*, CUdeviceptr);
  ASSERT_EQ(found<Range>("cuMemGetAddressRange")(&base, &bytes, address + unit + 5), CUDA_SUCCESS);
  EXPECT_EQ(base, address + unit);
  EXPECT_EQ(bytes, unit);
  CUmemorytype type{};
  ASSERT_EQ(CALL(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + unit),
            CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  unsigned long long types = 0;
  ASSERT_EQ(CALL(cuPointerGetAttribute, &types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, address + unit),
            CUDA_SUCCESS);
  EXPECT_EQ(types, static_cast<unsigned long long>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));

  EXPECT_EQ(CALL(cuMemAddressFree, address, 2 * unit), CUDA_ERROR_INVALID_VALUE)
      << "the addresses are already mapped";
  ASSERT_EQ(CALL(cuMemUnmap, address + unit, unit), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemUnmap, address + unit, unit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(fill(address + unit, 7, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(CALL(cuMemMap, address, unit, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(open(address, unit), CUDA_SUCCESS);
  EXPECT_EQ(read(address + 8), 21u) << "the memory keeps its contents";
  ASSERT_EQ(CALL(cuMemUnmap, address, unit), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemRelease, handle), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemRelease, handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAddressFree, address, unit), CUDA_ERROR_INVALID_VALUE) << "not the whole reservation";
  EXPECT_EQ(CALL(cuMemAddressFree, address, 2 * unit), CUDA_SUCCESS);
}

TEST_F(VirtualMemoryTest, MemoryMayHaveSeveralAddresses) {
  const CUdeviceptr address = reserve(3 * unit);
  const auto handle = create(unit);
  ASSERT_EQ(CALL(cuMemMap, address, unit, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuMemMap, address + unit, unit, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemMap, address + unit, unit, 0, handle, 0), CUDA_ERROR_INVALID_VALUE)
      << "the addresses are already mapped";
  ASSERT_EQ(open(address, 2 * unit), CUDA_SUCCESS) << "two adjacent mappings";
  EXPECT_EQ(open(address, unit / 2), CUDA_ERROR_INVALID_VALUE) << "half of a mapping";
  EXPECT_EQ(open(address, 3 * unit), CUDA_ERROR_INVALID_VALUE) << "one mapping is missing";
  ASSERT_EQ(fill(address, 5, 2), CUDA_SUCCESS);
  ASSERT_EQ(launch(address + unit, 1), CUDA_SUCCESS);
  EXPECT_EQ(read(address), 15u);
  EXPECT_EQ(read(address + unit + 4), 5u);
  CUmemGenericAllocationHandle again = 0;
  ASSERT_EQ(CALL(cuMemRetainAllocationHandle, &again, reinterpret_cast<void*>(address + unit + 77)),
            CUDA_SUCCESS);
  EXPECT_EQ(again, handle);
  EXPECT_EQ(CALL(cuMemRelease, handle), CUDA_SUCCESS);
  CUmemAllocationProp found_properties{};
  ASSERT_EQ(CALL(cuMemGetAllocationPropertiesFromHandle, &found_properties, again), CUDA_SUCCESS);
  EXPECT_EQ(found_properties.location.id, 0);
  EXPECT_EQ(CALL(cuMemRelease, again), CUDA_SUCCESS);
  EXPECT_EQ(read(address + unit), 15u) << "it is still mapped";
  EXPECT_EQ(CALL(cuMemUnmap, address, 2 * unit), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAddressFree, address, 3 * unit), CUDA_SUCCESS);
}

TEST_F(VirtualMemoryTest, AccessIsGrantedPerDevice) {
  properties.location.id = 1;
  const CUdeviceptr address = reserve(unit);
  const auto handle = create(unit);
  ASSERT_EQ(CALL(cuMemMap, address, unit, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(open(address, unit, 1), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuCtxSetCurrent, contexts[1]), CUDA_SUCCESS);
  ASSERT_EQ(fill(address, 2, 1), CUDA_SUCCESS);
  ASSERT_EQ(launch(address, 1), CUDA_SUCCESS);
  EXPECT_EQ(read(address), 6u);
  ASSERT_EQ(CALL(cuCtxSetCurrent, contexts[0]), CUDA_SUCCESS);
  EXPECT_EQ(fill(address, 2, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(open(address, unit, 0), CUDA_SUCCESS);
  ASSERT_EQ(launch(address, 1), CUDA_SUCCESS) << "peer access is not required";
  EXPECT_EQ(read(address), 18u);
  ASSERT_EQ(open(address, unit, 0, CU_MEM_ACCESS_FLAGS_PROT_NONE), CUDA_SUCCESS);
  EXPECT_EQ(launch(address, 1), CUDA_ERROR_ILLEGAL_ADDRESS);
  int ordinal = -1;
  ASSERT_EQ(CALL(cuCtxSetCurrent, contexts[1]), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address),
            CUDA_SUCCESS);
  EXPECT_EQ(ordinal, 1);
  EXPECT_EQ(CALL(cuMemUnmap, address, unit), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemRelease, handle), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAddressFree, address, unit), CUDA_SUCCESS);
}

TEST_F(VirtualMemoryTest, MemoryCountsFromCreationToRelease) {
  const auto free_bytes = [] {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(found<CUresult(std::size_t*, std::size_t*)>("cuMemGetInfo")(&free, &total), CUDA_SUCCESS);
    return free;
  };
  const std::size_t before = free_bytes();
  const CUdeviceptr address = reserve(4 * unit);
  EXPECT_EQ(free_bytes(), before) << "reserved addresses use no memory";
  const auto handle = create(3 * unit);
  EXPECT_EQ(free_bytes(), before - 3 * unit);
  ASSERT_EQ(CALL(cuMemMap, address, unit, 0, handle, 0), CUDA_SUCCESS) << "a part of the memory";
  ASSERT_EQ(CALL(cuMemRelease, handle), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before - 3 * unit);
  ASSERT_EQ(CALL(cuMemUnmap, address, unit), CUDA_SUCCESS);
  EXPECT_EQ(free_bytes(), before);
  CUmemGenericAllocationHandle none = 0;
  EXPECT_EQ(CALL(cuMemCreate, &none, std::size_t{1} << 60, &properties, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(CALL(cuMemAddressFree, address, 4 * unit), CUDA_SUCCESS);
}

TEST_F(VirtualMemoryTest, MemoryIsSharedWithAnotherProcess) {
  const CUdeviceptr address = reserve(unit);
  const auto handle = create(unit);
  ASSERT_EQ(CALL(cuMemMap, address, unit, 0, handle, 0), CUDA_SUCCESS);
  ASSERT_EQ(open(address, unit), CUDA_SUCCESS);
  ASSERT_EQ(fill(address, 4, 1), CUDA_SUCCESS);
  ASSERT_EQ(read(address), 4u) << "reading waits: a fill may continue after the call";
  int descriptor = -1;
  CUcontext current = nullptr;
  ASSERT_EQ(CALL(cuCtxGetCurrent, &current), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuCtxSetCurrent, nullptr), CUDA_SUCCESS);  // sharing needs no context
  ASSERT_EQ(
      CALL(cuMemExportToShareableHandle, &descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      CUDA_SUCCESS);
  CUmemGenericAllocationHandle same = 0;
  const auto shared = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  ASSERT_EQ(CALL(cuMemImportFromShareableHandle, &same, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  EXPECT_EQ(same, handle) << "the process already has the memory";
  ASSERT_EQ(CALL(cuCtxSetCurrent, current), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemRelease, same), CUDA_SUCCESS);
  const pid_t child = fork();
  if (child == 0) {
    // The child uses only the device's memory: the parent's threads do not exist there.
    const auto bytes = static_cast<std::size_t>(unit);
    void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (place == MAP_FAILED || *static_cast<unsigned*>(place) != 4) _exit(1);
    *static_cast<unsigned*>(place) = 9;
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read(address), 9u);
  close(descriptor);
  EXPECT_EQ(CALL(cuMemImportFromShareableHandle, &same, reinterpret_cast<void*>(std::intptr_t{0}),
                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE)
      << "standard input is not a memory handle";
  EXPECT_EQ(CALL(cuMemUnmap, address, unit), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemRelease, handle), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAddressFree, address, unit), CUDA_SUCCESS);
}

TEST_F(VirtualMemoryTest, InvalidRequestsAreRejected) {
  CUdeviceptr address = 0;
  EXPECT_EQ(CALL(cuMemAddressReserve, &address, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAddressReserve, &address, 0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAddressReserve, &address, unit, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemAddressReserve, &address, unit, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(CALL(cuMemCreate, &handle, 100, &properties, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemCreate, &handle, unit, &properties, 1), CUDA_ERROR_INVALID_VALUE);
  CUmemAllocationProp other = properties;
  other.location.id = 2;
  EXPECT_EQ(CALL(cuMemCreate, &handle, unit, &other, 0), CUDA_ERROR_INVALID_DEVICE);
  other = properties;
  other.location.type = CU_MEM_LOCATION_TYPE_HOST;
  EXPECT_EQ(CALL(cuMemCreate, &handle, unit, &other, 0), CUDA_ERROR_NOT_SUPPORTED);
  other = properties;
  other.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
  EXPECT_EQ(CALL(cuMemCreate, &handle, unit, &other, 0), CUDA_ERROR_NOT_SUPPORTED);
  other.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  ASSERT_EQ(CALL(cuMemCreate, &handle, unit, &other, 0), CUDA_SUCCESS);
  int descriptor = -1;
  EXPECT_EQ(
      CALL(cuMemExportToShareableHandle, &descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
      CUDA_ERROR_INVALID_VALUE)
      << "the memory was not created for export";
  address = reserve(2 * unit);
  EXPECT_EQ(CALL(cuMemMap, address, 2 * unit, 0, handle, 0), CUDA_ERROR_INVALID_VALUE)
      << "more than the device has";
  EXPECT_EQ(CALL(cuMemMap, address, unit, unit, handle, 0), CUDA_ERROR_INVALID_VALUE) << "an offset";
  EXPECT_EQ(CALL(cuMemMap, address + 4096, unit, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemMap, address + 2 * unit, unit, 0, handle, 0), CUDA_ERROR_INVALID_VALUE)
      << "not reserved";
  EXPECT_EQ(CALL(cuMemMap, address, unit, 0, handle + 1, 0), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(CALL(cuMemMap, address, unit, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(open(address, unit, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(open(address, unit, 0, CU_MEM_ACCESS_FLAGS_PROT_READ), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(CALL(cuMemUnmap, address, 2 * unit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(found<CUresult(CUdeviceptr)>("cuMemFree")(address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuMemUnmap, address, unit), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemRelease, handle), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuMemAddressFree, address, 2 * unit), CUDA_SUCCESS);
  int supported = 0;
  ASSERT_EQ(
      CALL(cuDeviceGetAttribute, &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0),
      CUDA_SUCCESS);
  EXPECT_EQ(supported, 1);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
