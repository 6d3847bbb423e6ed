// Several devices (LYNXPP_CPU_DEVICES) in the driver API: their contexts, and operations between them.
#include <gmock/gmock.h>

#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "tests/device_driver/driver_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

// Set before any call reads the number of devices.
[[maybe_unused]] const int is_set = setenv("LYNXPP_CPU_DEVICES", "2", 1);

class DevicesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(CALL(cuInit, 0), CUDA_SUCCESS);
    for (const int device : {0, 1})
      ASSERT_EQ(CALL(cuDevicePrimaryCtxRetain, &contexts[device], device), CUDA_SUCCESS);
    use(0);
  }
  void TearDown() override {
    EXPECT_EQ(CALL(cuCtxSetCurrent, nullptr), CUDA_SUCCESS);
    for (const int device : {0, 1}) found<CUresult(CUdevice)>("cuDevicePrimaryCtxReset")(device);
  }

  void use(int device) { ASSERT_EQ(CALL(cuCtxSetCurrent, contexts[device]), CUDA_SUCCESS); }
  static CUresult synchronize() { return found<CUresult(CUcontext)>("cuCtxSynchronize")(nullptr); }

  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(found<CUresult(CUdeviceptr*, std::size_t)>("cuMemAlloc")(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  /// Returns filled memory that other devices may read: the fill is complete.
  static CUdeviceptr filled(unsigned value, std::size_t count) {
    const CUdeviceptr address = allocate(4 * count);
    EXPECT_EQ(found<CUresult(CUdeviceptr, unsigned, std::size_t)>("cuMemsetD32")(address, value, count),
              CUDA_SUCCESS);
    EXPECT_EQ(synchronize(), CUDA_SUCCESS);
    return address;
  }
  static unsigned read(CUdeviceptr from) {
    unsigned value = 0;
    EXPECT_EQ(found<CUresult(void*, CUdeviceptr, std::size_t)>("cuMemcpyDtoH")(&value, from, 4),
              CUDA_SUCCESS);
    return value;
  }
  static CUfunction load_scale() {
    CUmodule module = nullptr;
    EXPECT_EQ(CALL(cuModuleLoadData, &module, ptx), CUDA_SUCCESS);
    CUfunction function = nullptr;
    EXPECT_EQ(CALL(cuModuleGetFunction, &function, module, "scale"), CUDA_SUCCESS);
    return function;
  }
  static CUresult launch(CUfunction function, CUdeviceptr data, unsigned n, CUstream stream = nullptr) {
    void* parameters[] = {&data, &n};
    return CALL(cuLaunchKernel, function, 1, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
  }

  CUcontext contexts[2] = {};
};

TEST_F(DevicesTest, AreDistinguishable) {
  int count = 0;
  ASSERT_EQ(CALL(cuDeviceGetCount, &count), CUDA_SUCCESS);
  ASSERT_EQ(count, 2);
  std::set<std::string> names, identities, buses;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    CUdevice device = -1;
    ASSERT_EQ(CALL(cuDeviceGet, &device, ordinal), CUDA_SUCCESS);
    char text[64];
    ASSERT_EQ(CALL(cuDeviceGetName, text, sizeof text, device), CUDA_SUCCESS);
    names.insert(text);
    CUuuid id{};
    ASSERT_EQ(found<CUresult(CUuuid*, CUdevice)>("cuDeviceGetUuid")(&id, device), CUDA_SUCCESS);
    identities.insert(std::string(id.bytes, sizeof id.bytes));
    ASSERT_EQ(CALL(cuDeviceGetPCIBusId, text, sizeof text, device), CUDA_SUCCESS);
    buses.insert(text);
  }
  EXPECT_EQ(names.size() + identities.size() + buses.size(), 6u);
  CUdevice none = 0;
  EXPECT_EQ(CALL(cuDeviceGet, &none, 2), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_NE(contexts[0], contexts[1]);
}

TEST_F(DevicesTest, CurrentContextSelectsTheDevice) {
  const auto device_now = [] {
    CUdevice device = -1;
    EXPECT_EQ(found<CUresult(CUdevice*, CUcontext)>("cuCtxGetDevice")(&device, nullptr), CUDA_SUCCESS);
    return device;
  };
  EXPECT_EQ(device_now(), 0);
  use(1);
  EXPECT_EQ(device_now(), 1);
  const CUdeviceptr there = allocate(16);
  int ordinal = -1;
  ASSERT_EQ(CALL(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there), CUDA_SUCCESS);
  EXPECT_EQ(ordinal, 1);
  ASSERT_EQ(found<CUresult(CUcontext)>("cuCtxPushCurrent")(contexts[0]), CUDA_SUCCESS);
  EXPECT_EQ(device_now(), 0);
  CUcontext owner = nullptr;
  ASSERT_EQ(CALL(cuPointerGetAttribute, &owner, CU_POINTER_ATTRIBUTE_CONTEXT, there), CUDA_SUCCESS);
  EXPECT_EQ(owner, contexts[1]);
  CUcontext popped = nullptr;
  ASSERT_EQ(found<CUresult(CUcontext*)>("cuCtxPopCurrent")(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, contexts[0]);
  EXPECT_EQ(device_now(), 1);
  std::thread([] {
    CUdevice device = -1;
    EXPECT_EQ(found<CUresult(CUdevice*, CUcontext)>("cuCtxGetDevice")(&device, nullptr),
              CUDA_ERROR_INVALID_CONTEXT);
  }).join();
}

TEST_F(DevicesTest, ModulesBelongToOneDeviceAndLibrariesToAll) {
  CUfunction const first = load_scale();
  use(1);
  CUfunction const second = load_scale();
  const CUdeviceptr data = filled(2, 1);
  EXPECT_EQ(launch(first, data, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(second, data, 1), CUDA_SUCCESS);
  EXPECT_EQ(read(data), 6u);

  CUlibrary library = nullptr;
  ASSERT_EQ(CALL(cuLibraryLoadData, &library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  CUkernel kernel = nullptr;
  ASSERT_EQ(CALL(cuLibraryGetKernel, &kernel, library, "scale"), CUDA_SUCCESS);
  CUdeviceptr addresses[2] = {};
  for (const int device : {0, 1}) {
    use(device);
    std::size_t bytes = 0;
    ASSERT_EQ(CALL(cuLibraryGetGlobal, &addresses[device], &bytes, library, "factor"), CUDA_SUCCESS);
    ASSERT_EQ(found<CUresult(CUdeviceptr, unsigned, std::size_t)>("cuMemsetD32")(
                  addresses[device], static_cast<unsigned>(10 + device), 1),
              CUDA_SUCCESS);
  }
  EXPECT_NE(addresses[0], addresses[1]);
  for (const int device : {0, 1}) {
    use(device);
    const CUdeviceptr here = filled(1, 1);
    ASSERT_EQ(launch(reinterpret_cast<CUfunction>(kernel), here, 1), CUDA_SUCCESS);
    EXPECT_EQ(read(here), static_cast<unsigned>(10 + device));
  }
}

TEST_F(DevicesTest, LaunchesInStreamsOfAnotherContextFail) {
  CUfunction const scale = load_scale();
  use(1);
  CUstream stream = nullptr;
  ASSERT_EQ(CALL(cuStreamCreate, &stream, 0), CUDA_SUCCESS);
  CUcontext owner = nullptr;
  using GetContext = CUresult(CUstream, CUcontext*, CUgreenCtx*);
  ASSERT_EQ(found<GetContext>("cuStreamGetCtx")(stream, &owner, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(owner, contexts[1]);
  use(0);
  EXPECT_EQ(launch(scale, filled(1, 1), 1, stream), CUDA_ERROR_INVALID_HANDLE);
  CUdevice device = -1;
  ASSERT_EQ(found<CUresult(CUstream, CUdevice*)>("cuStreamGetDevice")(stream, &device), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  CUevent event = nullptr;
  ASSERT_EQ(CALL(cuEventCreate, &event, 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuEventRecord, event, stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DevicesTest, PeerAccessIsEnabledByContext) {
  use(1);
  const CUdeviceptr there = filled(4, 1);
  use(0);
  CUfunction const scale = load_scale();
  int can = 0;
  ASSERT_EQ(CALL(cuDeviceCanAccessPeer, &can, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(CALL(cuCtxEnablePeerAccess, contexts[0], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  EXPECT_EQ(CALL(cuCtxEnablePeerAccess, contexts[1], 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuCtxEnablePeerAccess, nullptr, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(CALL(cuCtxDisablePeerAccess, contexts[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
  ASSERT_EQ(CALL(cuCtxEnablePeerAccess, contexts[1], 0), CUDA_SUCCESS);
  EXPECT_EQ(CALL(cuCtxEnablePeerAccess, contexts[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  ASSERT_EQ(launch(scale, there, 1), CUDA_SUCCESS);
  EXPECT_EQ(read(there), 12u);
  int supported = 0;
  EXPECT_EQ(CALL(cuDeviceGetP2PAttribute, &supported, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1),
            CUDA_SUCCESS);
  EXPECT_EQ(supported, 1);
  EXPECT_EQ(CALL(cuDeviceGetP2PAttribute, &supported, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 1, 1),
            CUDA_ERROR_INVALID_DEVICE);
  ASSERT_EQ(CALL(cuCtxDisablePeerAccess, contexts[1]), CUDA_SUCCESS);
  ASSERT_EQ(launch(scale, there, 1), CUDA_SUCCESS);
  EXPECT_EQ(synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  use(1);
  EXPECT_EQ(synchronize(), CUDA_SUCCESS) << "the other context must not fail";
}

TEST_F(DevicesTest, CopiesWorkBetweenContexts) {
  use(1);
  const CUdeviceptr there = filled(9, 4);
  use(0);
  const CUdeviceptr here = filled(0, 4);
  ASSERT_EQ(CALL(cuMemcpyPeer, here, contexts[0], there, contexts[1], 8), CUDA_SUCCESS);
  EXPECT_EQ(read(here + 4), 9u);
  EXPECT_EQ(read(here + 8), 0u);
  ASSERT_EQ(found<CUresult(CUdeviceptr, CUdeviceptr, std::size_t)>("cuMemcpyDtoD")(here, there, 16),
            CUDA_SUCCESS);
  EXPECT_EQ(read(here + 12), 9u);
  EXPECT_EQ(CALL(cuMemcpyPeer, here, nullptr, there, contexts[1], 8), CUDA_ERROR_INVALID_CONTEXT);
  CUDA_MEMCPY3D_PEER slices{};
  slices.srcMemoryType = slices.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  slices.srcDevice = here;
  slices.srcContext = contexts[0];
  slices.dstDevice = there;
  slices.dstContext = contexts[1];
  slices.WidthInBytes = 4;
  slices.Height = slices.Depth = 1;
  ASSERT_EQ(found<CUresult(CUdeviceptr, unsigned, std::size_t)>("cuMemsetD32")(here, 5, 1), CUDA_SUCCESS);
  ASSERT_EQ(CALL(cuMemcpy3DPeer, &slices), CUDA_SUCCESS);
  EXPECT_EQ(read(there), 5u);
}

TEST_F(DevicesTest, DestroyingAContextEndsItsMemoryAndAccess) {
  use(1);
  const CUdeviceptr there = filled(4, 1);
  CUcontext own = nullptr;
  const auto create =
      reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(exported("cuCtxCreate_v2"));
  ASSERT_EQ(create(&own, 0, 0), CUDA_SUCCESS);
  const CUdeviceptr here = allocate(16);
  ASSERT_EQ(CALL(cuCtxEnablePeerAccess, contexts[1], 0), CUDA_SUCCESS);
  ASSERT_EQ(found<CUresult(CUcontext)>("cuCtxDestroy")(own), CUDA_SUCCESS);
  use(0);
  EXPECT_EQ(found<CUresult(CUdeviceptr)>("cuMemFree")(here), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(read(there), 4u);
  EXPECT_EQ(CALL(cuCtxEnablePeerAccess, contexts[1], 0), CUDA_SUCCESS) << "access ended with the context";
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
