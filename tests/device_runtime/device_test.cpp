// The function table, device properties, limits, errors, streams and events.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "device/cpu/simt/execute/executor.h"
#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

class DeviceTest : public RuntimeTest {};

TEST(RuntimeTable, IsSortedWithoutDuplicatesOrGaps) {
  const auto table = runtime_api();
  ASSERT_GT(table.size(), 100u);
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_NE(table[i].address, nullptr) << table[i].name;
    if (i > 0) {
      EXPECT_LT(std::strcmp(table[i - 1].name, table[i].name), 0) << table[i].name;
    }
  }
}

TEST_F(DeviceTest, OneDeviceHasConsistentProperties) {
  int count = 0;
  EXPECT_EQ(CUDA(cudaGetDeviceCount)(&count), cudaSuccess);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(CUDA(cudaSetDevice)(0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaSetDevice)(1), cudaErrorInvalidDevice);
  cudaDeviceProp properties = {};
  ASSERT_EQ(CUDA(cudaGetDeviceProperties)(&properties, 0), cudaSuccess);
  EXPECT_STREQ(properties.name, "lynxpp cpu device");
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.minor, 0);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(properties.multiProcessorCount, static_cast<int>(multiprocessors()));
  EXPECT_EQ(properties.maxThreadsDim[2], 64);
  EXPECT_EQ(properties.sharedMemPerBlock, 49152u);
  EXPECT_EQ(properties.sharedMemPerBlockOptin, 227u * 1024);
  EXPECT_GT(properties.totalGlobalMem, 0u);
  int value = -1;
  EXPECT_EQ(CUDA(cudaDeviceGetAttribute)(&value, cudaDevAttrMaxGridDimX, 0), cudaSuccess);
  EXPECT_EQ(value, properties.maxGridSize[0]);
  EXPECT_EQ(CUDA(cudaDeviceGetAttribute)(&value, cudaDevAttrManagedMemory, 0), cudaSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(CUDA(cudaDeviceGetAttribute)(&value, static_cast<cudaDeviceAttr>(9999), 0),
            cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaDeviceGetAttribute)(&value, cudaDevAttrWarpSize, 1), cudaErrorInvalidDevice);
  for (int attribute = 1; attribute < cudaDevAttrMax; ++attribute) {
    const bool unused = attribute == 44 || (attribute >= 102 && attribute <= 105) || attribute == 107 ||
                        attribute == 110 || attribute == 136 || attribute == 137 || attribute == 146;
    EXPECT_EQ(CUDA(cudaDeviceGetAttribute)(&value, static_cast<cudaDeviceAttr>(attribute), 0),
              unused ? cudaErrorInvalidValue : cudaSuccess)
        << attribute;
  }
}

TEST_F(DeviceTest, VersionsLimitsAndPeers) {
  int version = 0;
  EXPECT_EQ(CUDA(cudaRuntimeGetVersion)(&version), cudaSuccess);
  EXPECT_EQ(version, CUDART_VERSION);
  std::size_t limit = 0;
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitMallocHeapSize, 1 << 25), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceGetLimit)(&limit, cudaLimitMallocHeapSize), cudaSuccess);
  EXPECT_EQ(limit, std::size_t{1} << 25);
  EXPECT_EQ(CUDA(cudaDeviceGetLimit)(&limit, static_cast<cudaLimit>(77)), cudaErrorUnsupportedLimit);
  int can = 1;
  EXPECT_EQ(CUDA(cudaDeviceCanAccessPeer)(&can, 0, 0), cudaSuccess);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(CUDA(cudaDeviceCanAccessPeer)(&can, 0, 1), cudaErrorInvalidDevice);
  char bus[16] = {};
  EXPECT_EQ(CUDA(cudaDeviceGetPCIBusId)(bus, 4, 0), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaDeviceGetPCIBusId)(bus, sizeof bus, 0), cudaSuccess);
  int device = -1;
  EXPECT_EQ(CUDA(cudaDeviceGetByPCIBusId)(&device, bus), cudaSuccess);
  EXPECT_EQ(device, 0);
}

// ---------------------------------------------------------------- errors

TEST_F(DeviceTest, LastErrorIsKeptPerThreadUntilItIsTaken) {
  EXPECT_EQ(CUDA(cudaSetDevice)(7), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess) << "an ordinary error does not stick";
  std::thread([] { EXPECT_EQ(CUDA(cudaPeekAtLastError)(), cudaSuccess); }).join();
  EXPECT_EQ(CUDA(cudaPeekAtLastError)(), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaSuccess);
}

TEST_F(DeviceTest, ErrorsHaveNamesAndTexts) {
  EXPECT_STREQ(CUDA(cudaGetErrorName)(cudaErrorInvalidValue), "cudaErrorInvalidValue");
  EXPECT_STREQ(CUDA(cudaGetErrorString)(cudaErrorInvalidValue), "invalid argument");
  EXPECT_STREQ(CUDA(cudaGetErrorName)(cudaErrorUnknown), "cudaErrorUnknown");
  EXPECT_STREQ(CUDA(cudaGetErrorString)(static_cast<cudaError_t>(4444)), "unrecognized error code");
}

TEST_F(DeviceTest, TrapSticksUntilReset) {
  Program program{test_ptx};
  int* data = device_ints({1});
  EXPECT_EQ(CUDA(cudaLaunchKernel)(program.kernel("dies"), 1, 1, nullptr, 0, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorLaunchFailure);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaErrorLaunchFailure);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaErrorLaunchFailure);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorLaunchFailure);
  EXPECT_EQ(CUDA(cudaFree)(data), cudaErrorLaunchFailure);
  std::thread([] { EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorLaunchFailure); }).join();
  int count = 0;
  EXPECT_EQ(CUDA(cudaGetDeviceCount)(&count), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceReset)(), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaErrorLaunchFailure) << "the failed cudaFree of this thread";
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaSuccess);
}

TEST_F(DeviceTest, UnknownInstructionIsRejectedAndDoesNotStick) {
  Program program{test_ptx};
  const void* strange = program.kernel("strange");
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaLaunchKernel)(strange, 1, 1, nullptr, 0, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(CUDA(cudaLaunchKernel)(strange, 1, 1, nullptr, 0, nullptr), cudaErrorNotSupported);
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, testing::HasSubstr("frobnicate.u32"));
  EXPECT_EQ(printed.find("frobnicate.u32"), printed.rfind("frobnicate.u32")) << printed;
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaErrorNotSupported);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
}

TEST_F(DeviceTest, KernelWithoutPtxReportsARemedy) {
  Program program{""};
  const void* kernel = program.kernel("_Z6kernelPi");
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaLaunchKernel)(kernel, 1, 1, nullptr, 0, nullptr), cudaErrorNoKernelImageForDevice);
  EXPECT_EQ(CUDA(cudaLaunchKernel)(kernel, 1, 1, nullptr, 0, nullptr), cudaErrorNoKernelImageForDevice);
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, testing::HasSubstr("kernel(int*)"));
  EXPECT_THAT(printed, testing::HasSubstr("-arch="));
  EXPECT_EQ(std::count(printed.begin(), printed.end(), '\n'), 1) << printed;
}

TEST_F(DeviceTest, MalformedPtxIsAnErrorNotACrash) {
  Program program{".version 7.5\n.target sm_75\n.visible .entry broken( {{{"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaLaunchKernel)(program.kernel("broken"), 1, 1, nullptr, 0, nullptr), cudaErrorInvalidPtx);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("broken"));
}

// ---------------------------------------------------------------- streams and events

TEST_F(DeviceTest, StreamsReportTheirProperties) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreateWithPriority)(&stream, cudaStreamNonBlocking, -99), cudaSuccess);
  unsigned flags = 0;
  int priority = 0, least = 0, greatest = 0;
  EXPECT_EQ(CUDA(cudaStreamGetFlags)(stream, &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  EXPECT_EQ(CUDA(cudaDeviceGetStreamPriorityRange)(&least, &greatest), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamGetPriority)(stream, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  EXPECT_EQ(CUDA(cudaStreamIsCapturing)(stream, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  EXPECT_EQ(CUDA(cudaStreamQuery)(stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamDestroy)(stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaStreamDestroy)(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaStreamDestroy)(nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaStreamCreateWithFlags)(&stream, 99), cudaErrorInvalidValue);
  for (cudaStream_t fixed : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
    EXPECT_EQ(CUDA(cudaStreamSynchronize)(fixed), cudaSuccess);
  }
  unsigned long long legacy = 0, null = 0, own = 0;
  EXPECT_EQ(CUDA(cudaStreamGetId)(nullptr, &null), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamGetId)(cudaStreamLegacy, &legacy), cudaSuccess);
  EXPECT_EQ(null, legacy);
  EXPECT_EQ(CUDA_AS(cudaStreamGetId, cudaStreamGetId_ptsz)(nullptr, &null), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamGetId)(cudaStreamPerThread, &own), cudaSuccess);
  EXPECT_EQ(null, own);
  EXPECT_NE(null, legacy);
}

TEST_F(DeviceTest, EventsMeasureTime) {
  cudaEvent_t start = nullptr, end = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&start), cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventCreate)(&end), cudaSuccess);
  float milliseconds = -1;
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, end), cudaErrorInvalidResourceHandle)
      << "not recorded";
  ASSERT_EQ(CUDA(cudaEventRecord)(start, nullptr), cudaSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_EQ(CUDA(cudaEventRecord)(end, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventQuery)(end), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventSynchronize)(end), cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, end), cudaSuccess);
  EXPECT_GE(milliseconds, 20.0F);
  EXPECT_LT(milliseconds, 60'000.0F);
  EXPECT_EQ(CUDA(cudaStreamWaitEvent)(nullptr, end, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventDestroy)(end), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventRecord)(end, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(CUDA(cudaEventCreateWithFlags)(&end, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventRecord)(end, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, end), cudaErrorInvalidResourceHandle)
      << "no timing";
}

TEST_F(DeviceTest, CallbacksRunInOrderAndMayNotCallTheApi) {
  struct Seen {
    cudaError_t status = cudaErrorUnknown;
    cudaError_t inner = cudaSuccess;
  } seen;
  const auto callback = [](cudaStream_t stream, cudaError_t status, void* data) {
    auto* into = static_cast<Seen*>(data);
    into->status = status;
    into->inner = CUDA(cudaStreamSynchronize)(stream);
  };
  EXPECT_EQ(CUDA(cudaStreamAddCallback)(nullptr, callback, &seen, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(seen.status, cudaSuccess);
  EXPECT_EQ(seen.inner, cudaErrorNotPermitted);
  int calls = 0;
  EXPECT_EQ(CUDA(cudaLaunchHostFunc)(
                nullptr, [](void* data) { ++*static_cast<int*>(data); }, &calls),
            cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(CUDA(cudaLaunchHostFunc)(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
}

TEST_F(DeviceTest, BusyStreamIsNotReadyAndOrdersOtherThreads) {
  struct Gate {
    std::atomic<bool> entered{false};
    std::atomic<bool> open{false};
  } gate;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&stream), cudaSuccess);
  std::thread worker([&] {
    CUDA(cudaLaunchHostFunc)
    (
        stream,
        [](void* data) {
          auto* at = static_cast<Gate*>(data);
          at->entered = true;
          while (!at->open) std::this_thread::yield();
        },
        &gate);
  });
  while (!gate.entered) std::this_thread::yield();
  EXPECT_EQ(CUDA(cudaStreamQuery)(stream), cudaErrorNotReady);
  EXPECT_EQ(CUDA(cudaGetLastError)(), cudaSuccess) << "a stream that is not ready is not an error";
  cudaStream_t other = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreateWithFlags)(&other, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(other), cudaSuccess) << "an independent stream continues";
  std::atomic<bool> legacy_done{false};
  std::thread legacy([&] {
    CUDA(cudaStreamSynchronize)(cudaStreamLegacy);
    legacy_done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(legacy_done) << "the default stream waits for blocking streams";
  gate.open = true;
  worker.join();
  legacy.join();
  EXPECT_TRUE(legacy_done);
  EXPECT_EQ(CUDA(cudaStreamQuery)(stream), cudaSuccess);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
