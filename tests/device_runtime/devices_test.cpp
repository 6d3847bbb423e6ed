// Several devices (LYNXPP_CPU_DEVICES): the state of each, and operations between them.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device/cpu/runtime/devices.h"
#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

// Set before any call reads the number of devices.
[[maybe_unused]] const int is_set = setenv("LYNXPP_CPU_DEVICES", "3", 1);

class DevicesTest : public RuntimeTest {
 protected:
  DevicesTest() { reset(); }
  ~DevicesTest() override { reset(); }

  static void use(int device) { ASSERT_EQ(CUDA(cudaSetDevice)(device), cudaSuccess); }
  static void reset() {
    for (int device = 2; device >= 0; --device) {
      use(device);
      CUDA(cudaDeviceReset)();
      CUDA(cudaGetLastError)();
    }
  }
  static std::size_t free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(CUDA(cudaMemGetInfo)(&free, &total), cudaSuccess);
    return free;
  }
  static cudaStream_t make_stream() {
    cudaStream_t stream = nullptr;
    EXPECT_EQ(CUDA(cudaStreamCreate)(&stream), cudaSuccess);
    return stream;
  }
  static cudaError_t scale(const void* kernel, int* out, const int* in, int n,
                           cudaStream_t stream = nullptr) {
    void* arguments[] = {&out, &in, &n};
    return CUDA(cudaLaunchKernel)(kernel, 1, 64, arguments, 0, stream);
  }
};

TEST_F(DevicesTest, EachHasItsOwnNameUuidAndBus) {
  int count = 0;
  ASSERT_EQ(CUDA(cudaGetDeviceCount)(&count), cudaSuccess);
  ASSERT_EQ(count, 3);
  std::set<std::string> names, identities, buses;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    ASSERT_EQ(CUDA(cudaGetDeviceProperties)(&properties, device), cudaSuccess);
    names.insert(properties.name);
    identities.insert(std::string(properties.uuid.bytes, sizeof properties.uuid.bytes));
    char bus[16];
    ASSERT_EQ(CUDA(cudaDeviceGetPCIBusId)(bus, sizeof bus, device), cudaSuccess);
    buses.insert(bus);
    int found = -1;
    EXPECT_EQ(CUDA(cudaDeviceGetByPCIBusId)(&found, bus), cudaSuccess);
    EXPECT_EQ(found, device);
    EXPECT_EQ(properties.pciBusID, device);
  }
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(identities.size(), 3u);
  EXPECT_EQ(buses.size(), 3u);
  EXPECT_EQ(CUDA(cudaSetDevice)(3), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaSetDevice)(-1), cudaErrorInvalidDevice);
}

TEST_F(DevicesTest, ThreadStartsWithTheFirstDeviceAndChoosesOnlyForItself) {
  use(2);
  std::thread([] {
    int device = -1;
    EXPECT_EQ(CUDA(cudaGetDevice)(&device), cudaSuccess);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(CUDA(cudaSetDevice)(1), cudaSuccess);
  }).join();
  int device = -1;
  EXPECT_EQ(CUDA(cudaGetDevice)(&device), cudaSuccess);
  EXPECT_EQ(device, 2);
}

TEST_F(DevicesTest, MemoryCountsForItsDevice) {
  use(0);
  const std::size_t first = free_bytes();
  use(1);
  const std::size_t second = free_bytes();
  void* pointer = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc)(&pointer, 1 << 20), cudaSuccess);
  EXPECT_EQ(free_bytes(), second - (1 << 20));
  use(0);
  EXPECT_EQ(free_bytes(), first);
  cudaPointerAttributes attributes{};
  ASSERT_EQ(CUDA(cudaPointerGetAttributes)(&attributes, pointer), cudaSuccess);
  EXPECT_EQ(attributes.device, 1);
  EXPECT_EQ(CUDA(cudaFree)(pointer), cudaSuccess) << "on any device";
  use(1);
  EXPECT_EQ(free_bytes(), second);
}

TEST_F(DevicesTest, ResetDoesNotAffectOtherDevices) {
  use(1);
  int* kept = device_ints({1, 2, 3});
  cudaStream_t stream = make_stream();
  use(0);
  int* gone = device_ints({4});
  ASSERT_EQ(CUDA(cudaDeviceReset)(), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFree)(gone), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream), cudaSuccess);
  EXPECT_THAT(host_ints(kept, 3), testing::ElementsAre(1, 2, 3));
}

TEST_F(DevicesTest, VariablesArePerDeviceAndManagedOnesShared) {
  Program program{test_ptx};
  const void* kernel = program.kernel("scale");
  const void* factor = program.variable("factor", 8);
  const void* total = program.variable("total", 4);
  void** managed = program.managed_variable("managed_total", 4);
  ASSERT_EQ(program.initialise(), 1);
  for (const int device : {0, 1}) {
    use(device);
    const int factors[2] = {device + 2, 0};
    ASSERT_EQ(CUDA(cudaMemcpyToSymbol)(factor, factors, 8, 0, cudaMemcpyHostToDevice), cudaSuccess);
  }
  for (const int device : {0, 1}) {
    use(device);
    int* in = device_ints({1, 2, 3, 4});
    int* out = device_ints({0, 0, 0, 0});
    ASSERT_EQ(scale(kernel, out, in, 3 + device), cudaSuccess);
    EXPECT_EQ(host_ints(out, 4)[1], 2 * (device + 2));
    int counted = 0;
    ASSERT_EQ(CUDA(cudaMemcpyFromSymbol)(&counted, total, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(counted, 5 + 3 + device) << "each device has its own";
    void* address = nullptr;
    ASSERT_EQ(CUDA(cudaGetSymbolAddress)(&address, *managed), cudaSuccess);
    EXPECT_EQ(address, *managed);
  }
  EXPECT_EQ(*static_cast<int*>(*managed), 7) << "shared by both";
}

TEST_F(DevicesTest, StreamAcceptsLaunchesOfItsDeviceOnly) {
  Program program{test_ptx};
  const void* kernel = program.kernel("scale");
  use(1);
  cudaStream_t stream = make_stream();
  int* in = device_ints({7});
  int* out = device_ints({7});
  int device = -1;
  EXPECT_EQ(CUDA(cudaStreamGetDevice)(stream, &device), cudaSuccess);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(scale(kernel, out, in, 1, stream), cudaSuccess);
  use(0);
  EXPECT_EQ(scale(kernel, out, in, 1, stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream), cudaSuccess) << "the rejected launch did not run";
  EXPECT_EQ(CUDA(cudaMemcpyAsync)(out, in, 4, cudaMemcpyDeviceToDevice, stream), cudaSuccess);
  const cudaError_t state = CUDA(cudaStreamQuery)(stream);
  EXPECT_TRUE(state == cudaSuccess || state == cudaErrorNotReady) << state;
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream), cudaSuccess);
  EXPECT_EQ(host_ints(out, 1)[0], 7);
}

TEST_F(DevicesTest, EventsAreRecordedOnTheirDeviceAndAwaitedOnAny) {
  use(1);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&event), cudaSuccess);
  cudaStream_t stream = make_stream();
  use(0);
  cudaEvent_t other = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&other), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventRecord)(event, nullptr), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CUDA(cudaEventRecord)(event, stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventRecord)(other, nullptr), cudaSuccess);
  cudaStream_t here = make_stream();
  EXPECT_EQ(CUDA(cudaStreamWaitEvent)(here, event, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventSynchronize)(event), cudaSuccess);
  EXPECT_EQ(CUDA(cudaEventQuery)(event), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(here), cudaSuccess);
  float milliseconds = 0;
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, event, other), cudaErrorInvalidResourceHandle);
}

TEST_F(DevicesTest, StreamWaitsForAnEventOfAnotherDevice) {
  use(1);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&event), cudaSuccess);
  cudaStream_t producer = make_stream();
  std::atomic<int> order = 0;
  struct Step {
    std::atomic<int>* order;
    std::atomic<bool>* opened;
    int seen;
  };
  std::atomic<bool> opened = false;
  Step first{&order, &opened, -1};
  Step second{&order, &opened, -1};
  ASSERT_EQ(CUDA(cudaLaunchHostFunc)(
                producer,
                [](void* data) {
                  auto* step = static_cast<Step*>(data);
                  while (!*step->opened) std::this_thread::yield();
                  step->seen = (*step->order)++;
                },
                &first),
            cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventRecord)(event, producer), cudaSuccess);
  use(0);
  cudaStream_t consumer = make_stream();
  ASSERT_EQ(CUDA(cudaStreamWaitEvent)(consumer, event, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaLaunchHostFunc)(
                consumer,
                [](void* data) {
                  auto* step = static_cast<Step*>(data);
                  step->seen = (*step->order)++;
                },
                &second),
            cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamQuery)(consumer), cudaErrorNotReady);
  opened = true;
  ASSERT_EQ(CUDA(cudaStreamSynchronize)(consumer), cudaSuccess);
  EXPECT_EQ(first.seen, 0);
  EXPECT_EQ(second.seen, 1);
}

TEST_F(DevicesTest, SynchronizingWaitsForTheCurrentDeviceOnly) {
  use(1);
  cudaStream_t busy = make_stream();
  std::atomic<bool> opened = false;
  ASSERT_EQ(CUDA(cudaLaunchHostFunc)(
                busy,
                [](void* data) {
                  while (!*static_cast<std::atomic<bool>*>(data)) std::this_thread::yield();
                },
                &opened),
            cudaSuccess);
  use(0);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamQuery)(busy), cudaErrorNotReady);
  opened = true;
  use(1);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamQuery)(busy), cudaSuccess);
}

TEST_F(DevicesTest, FailedKernelFailsItsDeviceOnly) {
  Program program{test_ptx};
  const void* dies = program.kernel("dies");
  use(1);
  ASSERT_EQ(CUDA(cudaLaunchKernel)(dies, 1, 1, nullptr, 0, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorLaunchFailure);
  use(0);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_THAT(host_ints(device_ints({3}), 1), testing::ElementsAre(3));
  use(1);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorLaunchFailure);
  EXPECT_EQ(CUDA(cudaDeviceReset)(), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
}

TEST_F(DevicesTest, LimitsArePerDevice) {
  use(1);
  ASSERT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitStackSize, 4096), cudaSuccess);
  ASSERT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitMallocHeapSize, 1 << 25), cudaSuccess);
  use(0);
  std::size_t value = 0;
  ASSERT_EQ(CUDA(cudaDeviceGetLimit)(&value, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(value, 1024u);
  ASSERT_EQ(CUDA(cudaDeviceGetLimit)(&value, cudaLimitMallocHeapSize), cudaSuccess);
  EXPECT_EQ(value, std::size_t{8} << 20);
}

// ---------------------------------------------------------------- peers

TEST_F(DevicesTest, KernelsAccessPeerMemoryOnceEnabled) {
  Program program{test_ptx};
  const void* kernel = program.kernel("scale");
  const void* factor = program.variable("factor", 8);
  use(1);
  int* in = device_ints({5});
  use(0);
  const int factors[2] = {3, 0};
  ASSERT_EQ(CUDA(cudaMemcpyToSymbol)(factor, factors, 8, 0, cudaMemcpyHostToDevice), cudaSuccess);
  int* out = device_ints({0});
  int can = 0;
  EXPECT_EQ(CUDA(cudaDeviceCanAccessPeer)(&can, 0, 1), cudaSuccess);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(CUDA(cudaDeviceCanAccessPeer)(&can, 1, 1), cudaSuccess);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(CUDA(cudaDeviceCanAccessPeer)(&can, 0, 3), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaDeviceEnablePeerAccess)(0, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaDeviceEnablePeerAccess)(1, 1), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaDeviceDisablePeerAccess)(1), cudaErrorPeerAccessNotEnabled);
  ASSERT_EQ(CUDA(cudaDeviceEnablePeerAccess)(1, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceEnablePeerAccess)(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  ASSERT_EQ(scale(kernel, out, in, 1), cudaSuccess);
  EXPECT_EQ(host_ints(out, 1)[0], 15);
  ASSERT_EQ(CUDA(cudaDeviceDisablePeerAccess)(1), cudaSuccess);
  ASSERT_EQ(scale(kernel, out, in, 1), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorIllegalAddress)
      << "the earlier access check is invalidated";
}

TEST_F(DevicesTest, PeerAccessIsOneWay) {
  Program program{test_ptx};
  const void* kernel = program.kernel("scale");
  use(0);
  int* there = device_ints({5});
  ASSERT_EQ(CUDA(cudaDeviceEnablePeerAccess)(1, 0), cudaSuccess);
  use(1);
  int* here = device_ints({5});
  ASSERT_EQ(scale(kernel, here, there, 1), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorIllegalAddress);
}

TEST_F(DevicesTest, ManagedAndPinnedMemoryIsAccessibleFromAll) {
  Program program{test_ptx};
  const void* kernel = program.kernel("scale");
  const void* factor = program.variable("factor", 8);
  use(0);
  void* managed = nullptr;
  ASSERT_EQ(CUDA(cudaMallocManaged)(&managed, 4, cudaMemAttachGlobal), cudaSuccess);
  void* pinned = nullptr;
  ASSERT_EQ(CUDA(cudaMallocHost)(&pinned, 4), cudaSuccess);
  *static_cast<int*>(pinned) = 6;
  use(2);
  const int factors[2] = {7, 0};
  ASSERT_EQ(CUDA(cudaMemcpyToSymbol)(factor, factors, 8, 0, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(scale(kernel, static_cast<int*>(managed), static_cast<int*>(pinned), 1), cudaSuccess);
  ASSERT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(*static_cast<int*>(managed), 42);
}

TEST_F(DevicesTest, CopiesBetweenDevicesNeedNoPeerAccess) {
  use(1);
  int* there = device_ints({1, 2, 3});
  use(0);
  int* here = device_ints({0, 0, 0});
  EXPECT_EQ(CUDA(cudaMemcpyPeer)(here, 0, there, 1, 12), cudaSuccess);
  EXPECT_THAT(host_ints(here, 3), testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(CUDA(cudaMemcpyPeer)(here, 0, there, 3, 12), cudaErrorInvalidDevice);
  cudaStream_t stream = make_stream();
  ASSERT_EQ(CUDA(cudaMemset)(here, 0, 12), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpyPeerAsync)(here, 0, there, 1, 8, stream), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamSynchronize)(stream), cudaSuccess);
  EXPECT_THAT(host_ints(here, 3), testing::ElementsAre(1, 2, 0));
  EXPECT_EQ(CUDA(cudaMemcpy)(here, there, 12, cudaMemcpyDefault), cudaSuccess);
  EXPECT_THAT(host_ints(here, 3), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(host_ints(there, 3), testing::ElementsAre(1, 2, 3)) << "read by the host, from any device";

  cudaMemcpy3DPeerParms slices{};
  slices.srcDevice = 1;
  slices.srcPtr = {there, 12, 12, 1};
  slices.dstPtr = {here, 12, 12, 1};
  slices.extent = {4, 1, 1};
  ASSERT_EQ(CUDA(cudaMemset)(here, 0, 12), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpy3DPeer)(&slices), cudaSuccess);
  EXPECT_THAT(host_ints(here, 3), testing::ElementsAre(1, 0, 0));
  slices.srcDevice = 9;
  EXPECT_EQ(CUDA(cudaMemcpy3DPeer)(&slices), cudaErrorInvalidDevice);
}

TEST_F(DevicesTest, CopyBetweenDevicesWaitsForWorkOfBoth) {
  use(1);
  int* there = device_ints({1});
  cudaStream_t busy = make_stream();
  struct Late {
    std::atomic<bool> opened = false;
  } late;
  ASSERT_EQ(CUDA(cudaLaunchHostFunc)(
                busy,
                [](void* data) {
                  while (!static_cast<Late*>(data)->opened) std::this_thread::yield();
                },
                &late),
            cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemsetAsync)(there, 1, 4, busy), cudaSuccess);
  use(0);
  int* here = device_ints({0});
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    late.opened = true;
  });
  EXPECT_EQ(CUDA(cudaMemcpyPeer)(here, 0, there, 1, 4), cudaSuccess);
  opener.join();
  EXPECT_EQ(host_ints(here, 1)[0], 0x01010101);
}

TEST_F(DevicesTest, PoolsArePerDeviceAndAccessCanBeGranted) {
  Program program{test_ptx};
  const void* kernel = program.kernel("scale");
  cudaMemPool_t pools[2];
  for (const int device : {0, 1})
    ASSERT_EQ(CUDA(cudaDeviceGetDefaultMemPool)(&pools[device], device), cudaSuccess);
  EXPECT_NE(pools[0], pools[1]);
  EXPECT_EQ(CUDA(cudaDeviceSetMemPool)(0, pools[1]), cudaErrorInvalidValue);
  use(1);
  void* pooled = nullptr;
  ASSERT_EQ(CUDA(cudaMallocAsync)(&pooled, 4, nullptr), cudaSuccess);
  use(0);
  cudaMemLocation location{};
  location.type = cudaMemLocationTypeDevice;
  location.id = 0;
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtReadWrite;
  EXPECT_EQ(CUDA(cudaMemPoolGetAccess)(&flags, pools[1], &location), cudaSuccess);
  EXPECT_EQ(flags, cudaMemAccessFlagsProtNone);
  cudaMemAccessDesc wanted{location, cudaMemAccessFlagsProtReadWrite};
  ASSERT_EQ(CUDA(cudaMemPoolSetAccess)(pools[1], &wanted, 1), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolGetAccess)(&flags, pools[1], &location), cudaSuccess);
  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
  ASSERT_EQ(scale(kernel, static_cast<int*>(pooled), static_cast<int*>(pooled), 1), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  wanted.location.id = 1;
  wanted.flags = cudaMemAccessFlagsProtNone;
  EXPECT_EQ(CUDA(cudaMemPoolSetAccess)(pools[1], &wanted, 1), cudaErrorInvalidValue)
      << "the pool's own device";
  wanted.location.id = 0;
  EXPECT_EQ(CUDA(cudaMemPoolSetAccess)(pools[1], &wanted, 1), cudaSuccess);
  ASSERT_EQ(scale(kernel, static_cast<int*>(pooled), static_cast<int*>(pooled), 1), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSynchronize)(), cudaErrorIllegalAddress);
}

TEST_F(DevicesTest, GraphsRunEachKernelOnItsDevice) {
  Program program{test_ptx};
  const void* kernel = program.kernel("scale");
  const void* factor = program.variable("factor", 8);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&graph, 0), cudaSuccess);
  int* data[2];
  cudaGraphNode_t before = nullptr;
  for (const int device : {0, 1}) {
    use(device);
    const int factors[2] = {device + 2, 0};
    ASSERT_EQ(CUDA(cudaMemcpyToSymbol)(factor, factors, 8, 0, cudaMemcpyHostToDevice), cudaSuccess);
    data[device] = device_ints({10});
    int n = 1;
    void* arguments[] = {&data[device], &data[device], &n};
    cudaKernelNodeParams parameters{};
    parameters.func = const_cast<void*>(kernel);
    parameters.gridDim = parameters.blockDim = 1;
    parameters.kernelParams = arguments;
    cudaGraphNode_t node = nullptr;
    ASSERT_EQ(CUDA(cudaGraphAddKernelNode)(&node, graph, &before, before != nullptr, &parameters),
              cudaSuccess);
    before = node;
  }
  use(0);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphLaunch)(executable, nullptr), cudaSuccess);
  ASSERT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess) << "all work is in a stream of the first device";
  EXPECT_EQ(host_ints(data[0], 1)[0], 20);
  EXPECT_EQ(host_ints(data[1], 1)[0], 30);
  EXPECT_EQ(CUDA(cudaGraphExecDestroy)(executable), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphDestroy)(graph), cudaSuccess);
}

TEST_F(DevicesTest, InterceptorReceivesTheDevice) {
  static std::vector<int> seen;
  seen.clear();
  set_launch_interceptor([](const Launch&, const KernelIdentity& kernel) {
    seen.push_back(kernel.device);
    return false;
  });
  Program program{test_ptx};
  const void* kernel = program.kernel("bounded");
  for (const int device : {2, 0, 1}) {
    use(device);
    ASSERT_EQ(CUDA(cudaLaunchKernel)(kernel, 1, 1, nullptr, 0, nullptr), cudaSuccess);
  }
  EXPECT_THAT(seen, testing::ElementsAre(2, 0, 1));
  EXPECT_EQ(cpu_device(2).info().ordinal, 2);
  EXPECT_NE(cpu_device(2).info().uuid, cpu_device(1).info().uuid);
  EXPECT_TRUE(cpu_device(2).info().uuid.starts_with("GPU-"));
}

TEST_F(DevicesTest, ThreadsOfDifferentDevicesDoNotInterfere) {
  Program program{test_ptx};
  const void* kernel = program.kernel("scale");
  const void* factor = program.variable("factor", 8);
  std::vector<std::thread> threads;
  for (int number = 0; number < 6; ++number) {
    threads.emplace_back([=] {
      const int device = number % 3;
      use(device);
      const int factors[2] = {device + 2, 0};
      EXPECT_EQ(CUDA(cudaMemcpyToSymbol)(factor, factors, 8, 0, cudaMemcpyHostToDevice), cudaSuccess);
      cudaStream_t stream = make_stream();
      int* in = device_ints({number});
      int* out = device_ints({0});
      for (int i = 0; i < 20; ++i) EXPECT_EQ(scale(kernel, out, in, 1, stream), cudaSuccess);
      EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream), cudaSuccess);
      EXPECT_EQ(host_ints(out, 1)[0], number * (device + 2));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
