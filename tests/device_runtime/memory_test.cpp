// Allocation, copies, fills, pointer attributes, pools.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using testing::Each;
using testing::ElementsAre;

class MemoryTest : public RuntimeTest {};

TEST_F(MemoryTest, AllocatesAlignedMemoryAndFreesOnlyItsOwn) {
  void* pointer = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc)(&pointer, 1000), cudaSuccess);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pointer) % 256, 0u);
  auto* bytes = static_cast<char*>(pointer);
  EXPECT_EQ(CUDA(cudaFree)(bytes + 1), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFreeHost)(bytes), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFree)(bytes), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFree)(bytes), cudaErrorInvalidValue) << "twice";
  EXPECT_EQ(CUDA(cudaFree)(nullptr), cudaSuccess);
  int local = 0;
  EXPECT_EQ(CUDA(cudaFree)(&local), cudaErrorInvalidValue);
}

TEST_F(MemoryTest, HandlesExtremeSizes) {
  void* pointer = &pointer;
  EXPECT_EQ(CUDA(cudaMalloc)(&pointer, 0), cudaSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(CUDA(cudaMalloc)(nullptr, 4), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMalloc)(&pointer, std::numeric_limits<std::size_t>::max()), cudaErrorMemoryAllocation);
  EXPECT_EQ(CUDA(cudaMalloc)(&pointer, std::size_t{1} << 50), cudaErrorMemoryAllocation);
  std::size_t pitch = 0;
  EXPECT_EQ(CUDA(cudaMallocPitch)(&pointer, &pitch, std::size_t{1} << 40, std::size_t{1} << 40),
            cudaErrorMemoryAllocation);
  EXPECT_EQ(CUDA(cudaMallocManaged)(&pointer, 0, cudaMemAttachGlobal), cudaErrorInvalidValue);
}

TEST_F(MemoryTest, FreeMemoryIsAccountedFor) {
  std::size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(CUDA(cudaMemGetInfo)(&before, &total), cudaSuccess);
  EXPECT_LE(before, total);
  void* pointer = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc)(&pointer, 1 << 20), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemGetInfo)(&after, &total), cudaSuccess);
  EXPECT_EQ(before - after, std::size_t{1} << 20);
  ASSERT_EQ(CUDA(cudaFree)(pointer), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemGetInfo)(&after, &total), cudaSuccess);
  EXPECT_EQ(before, after);
}

TEST_F(MemoryTest, CopiesCheckDirectionAndBounds) {
  int host[4] = {1, 2, 3, 4};
  int* device = device_ints({0, 0, 0, 0});
  const auto copy = [](void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return CUDA(cudaMemcpy)(to, from, bytes, kind);
  };
  EXPECT_EQ(copy(device, host, 16, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_THAT(host_ints(device, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(copy(device, host, 17, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(device + 1, host, 16, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(copy(host, device + 3, 4, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(host[0], 4);
  EXPECT_EQ(copy(host, device, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(device, host, 16, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(copy(device, host, 16, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(device, host, 16, cudaMemcpyHostToHost), cudaErrorInvalidValue);
  EXPECT_EQ(copy(device, host, 16, static_cast<cudaMemcpyKind>(7)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(copy(nullptr, host, 16, cudaMemcpyDefault), cudaErrorInvalidValue);
  EXPECT_EQ(copy(device, nullptr, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(copy(nullptr, nullptr, 0, cudaMemcpyDefault), cudaSuccess);
  int* other = device_ints({9, 9, 9, 9});
  EXPECT_EQ(copy(other, device, 8, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_THAT(host_ints(other, 4), ElementsAre(1, 2, 9, 9));
  EXPECT_EQ(CUDA(cudaMemcpyPeer)(other, 0, device, 0, 16), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpyPeer)(other, 1, device, 0, 16), cudaErrorInvalidDevice);
}

TEST_F(MemoryTest, CopiesMayReachPastRegisteredMemory) {
  int own[4] = {1, 2, 3, 4};
  int* device = device_ints({0, 0, 0, 0});
  ASSERT_EQ(CUDA(cudaHostRegister)(own, 8, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpy)(device, own, 16, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_THAT(host_ints(device, 4), ElementsAre(1, 2, 3, 4));
  own[1] = 7;
  EXPECT_EQ(CUDA(cudaMemcpy)(device, own + 1, 12, cudaMemcpyDefault), cudaSuccess);
  EXPECT_THAT(host_ints(device, 4), ElementsAre(7, 3, 4, 4));
  EXPECT_EQ(CUDA(cudaMemcpy)(device, own, 16, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaHostUnregister)(own), cudaSuccess);
}

TEST_F(MemoryTest, PitchedCopiesAndFills) {
  void* pitched = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(CUDA(cudaMallocPitch)(&pitched, &pitch, 12, 3), cudaSuccess);
  EXPECT_GE(pitch, 12u);
  EXPECT_EQ(pitch % 256, 0u);
  int host[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  ASSERT_EQ(CUDA(cudaMemcpy2D)(pitched, pitch, host, 12, 12, 3, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemset2D)(static_cast<char*>(pitched) + 4, pitch, 0, 4, 3), cudaSuccess);
  int back[9] = {};
  ASSERT_EQ(CUDA(cudaMemcpy2DAsync)(back, 12, pitched, pitch, 12, 3, cudaMemcpyDeviceToHost, nullptr),
            cudaSuccess);
  EXPECT_THAT(back, ElementsAre(1, 0, 3, 4, 0, 6, 7, 0, 9));
  EXPECT_EQ(CUDA(cudaMemcpy2D)(pitched, 8, host, 12, 12, 3, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(CUDA(cudaMemset2D)(pitched, pitch, 0, 12, 4), cudaErrorInvalidValue) << "one row too many";
  EXPECT_EQ(CUDA(cudaMemset2D)(pitched, std::size_t{1} << 62, 0, 12, 9), cudaErrorInvalidValue);
}

TEST_F(MemoryTest, BoxesInThreeDimensions) {
  cudaPitchedPtr device = {};
  ASSERT_EQ(CUDA(cudaMalloc3D)(&device, cudaExtent{8, 2, 2}), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemset3D)(device, 0, cudaExtent{8, 2, 2}), cudaSuccess);
  int host[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = cudaPitchedPtr{host, 8, 2, 2};
  copy.dstPtr = device;
  copy.dstPos.x = 4;
  copy.extent = cudaExtent{4, 2, 2};
  copy.kind = cudaMemcpyHostToDevice;
  ASSERT_EQ(CUDA(cudaMemcpy3D)(&copy), cudaSuccess);
  int back[8] = {};
  cudaMemcpy3DParms down = {};
  down.srcPtr = device;
  down.dstPtr = cudaPitchedPtr{back, 8, 2, 2};
  down.extent = cudaExtent{8, 2, 2};
  down.kind = cudaMemcpyDefault;
  ASSERT_EQ(CUDA(cudaMemcpy3DAsync)(&down, nullptr), cudaSuccess);
  EXPECT_THAT(back, ElementsAre(0, 1, 0, 3, 0, 5, 0, 7));
  down.extent.depth = 3;
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&down), cudaErrorInvalidValue);
  int not_an_array = 0;
  down.srcArray = reinterpret_cast<cudaArray_t>(&not_an_array);
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&down), cudaErrorInvalidResourceHandle);
}

TEST_F(MemoryTest, Fills) {
  int* device = device_ints({0, 0, 0, 0});
  EXPECT_EQ(CUDA(cudaMemset)(device, 0x11, 8), cudaSuccess);
  EXPECT_THAT(host_ints(device, 4), ElementsAre(0x11111111, 0x11111111, 0, 0));
  EXPECT_EQ(CUDA(cudaMemsetAsync)(device, 0xff, 16, cudaStreamPerThread), cudaSuccess);
  EXPECT_THAT(host_ints(device, 4), Each(-1));
  EXPECT_EQ(CUDA(cudaMemset)(device, 0, 20), cudaErrorInvalidValue);
  int local = 0;
  EXPECT_EQ(CUDA(cudaMemset)(&local, 0, 4), cudaErrorInvalidValue);
}

TEST_F(MemoryTest, HostMemory) {
  void* pinned = nullptr;
  ASSERT_EQ(CUDA(cudaHostAlloc)(&pinned, 64, cudaHostAllocPortable), cudaSuccess);
  void* device = nullptr;
  EXPECT_EQ(CUDA(cudaHostGetDevicePointer)(&device, pinned, 0), cudaSuccess);
  EXPECT_EQ(device, pinned);
  unsigned flags = 0;
  EXPECT_EQ(CUDA(cudaHostGetFlags)(&flags, pinned), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaHostAllocPortable | cudaHostAllocMapped});
  EXPECT_EQ(CUDA(cudaFree)(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFreeHost)(pinned), cudaSuccess);
  EXPECT_EQ(CUDA(cudaHostAlloc)(&pinned, 64, 0x100), cudaErrorInvalidValue);

  int mine[16] = {};
  EXPECT_EQ(CUDA(cudaHostGetDevicePointer)(&device, mine, 0), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaHostRegister)(mine, sizeof mine, cudaHostRegisterDefault), cudaSuccess);
  EXPECT_EQ(CUDA(cudaHostRegister)(mine + 1, 4, cudaHostRegisterDefault),
            cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_EQ(CUDA(cudaHostGetDevicePointer)(&device, mine + 2, 0), cudaSuccess);
  EXPECT_EQ(device, mine + 2);
  EXPECT_EQ(CUDA(cudaMemset)(mine, 1, sizeof mine), cudaSuccess);
  EXPECT_EQ(mine[15], 0x01010101);
  EXPECT_EQ(CUDA(cudaHostUnregister)(mine + 1), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(CUDA(cudaHostUnregister)(mine), cudaSuccess);
  EXPECT_EQ(CUDA(cudaHostUnregister)(mine), cudaErrorHostMemoryNotRegistered);
}

TEST_F(MemoryTest, PointerAttributes) {
  const auto type_of = [](const void* pointer) {
    cudaPointerAttributes attributes = {};
    EXPECT_EQ(CUDA(cudaPointerGetAttributes)(&attributes, pointer), cudaSuccess);
    return attributes.type;
  };
  int local = 0;
  EXPECT_EQ(type_of(&local), cudaMemoryTypeUnregistered);
  int* device = device_ints({1, 2});
  EXPECT_EQ(type_of(device + 1), cudaMemoryTypeDevice);
  EXPECT_EQ(type_of(device + 2), cudaMemoryTypeUnregistered) << "just past its end";
  void* managed = nullptr;
  ASSERT_EQ(CUDA(cudaMallocManaged)(&managed, 8, cudaMemAttachGlobal), cudaSuccess);
  EXPECT_EQ(type_of(managed), cudaMemoryTypeManaged);
  const cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
  const cudaMemLocation elsewhere = {cudaMemLocationTypeDevice, 3};
  EXPECT_EQ(CUDA(cudaMemPrefetchAsync)(managed, 8, here, 0, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPrefetchAsync)(managed, 9, here, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemPrefetchAsync)(device, 8, here, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemAdvise)(managed, 8, cudaMemAdviseSetPreferredLocation, elsewhere),
            cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaMemAdvise)(managed, 8, cudaMemAdviseSetReadMostly, here), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFree)(managed), cudaSuccess);
  void* pinned = nullptr;
  ASSERT_EQ(CUDA(cudaMallocHost)(&pinned, 8), cudaSuccess);
  EXPECT_EQ(type_of(pinned), cudaMemoryTypeHost);
}

TEST_F(MemoryTest, StreamOrderedAllocationAndPools) {
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(CUDA(cudaDeviceGetDefaultMemPool)(&pool, 0), cudaSuccess);
  std::uint64_t used = 1, threshold = 4096;
  void* pointer = nullptr;
  ASSERT_EQ(CUDA(cudaMallocAsync)(&pointer, 100, nullptr), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemPoolGetAttribute)(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 100u);
  ASSERT_EQ(CUDA(cudaFreeAsync)(pointer, nullptr), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemPoolGetAttribute)(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 0u);
  ASSERT_EQ(CUDA(cudaMemPoolGetAttribute)(pool, cudaMemPoolAttrUsedMemHigh, &used), cudaSuccess);
  EXPECT_GE(used, 100u);
  ASSERT_EQ(CUDA(cudaMemPoolSetAttribute)(pool, cudaMemPoolAttrReleaseThreshold, &threshold), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemPoolGetAttribute)(pool, cudaMemPoolAttrReleaseThreshold, &used), cudaSuccess);
  EXPECT_EQ(used, 4096u);
  EXPECT_EQ(CUDA(cudaMemPoolDestroy)(pool), cudaErrorInvalidValue) << "the default pool cannot be destroyed";

  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t own = nullptr;
  ASSERT_EQ(CUDA(cudaMemPoolCreate)(&own, &properties), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMallocFromPoolAsync)(&pointer, 10, own, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFree)(pointer), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolTrimTo)(own, 0), cudaSuccess);
  cudaMemAccessDesc none = {};
  none.location = {cudaMemLocationTypeDevice, 0};
  none.flags = cudaMemAccessFlagsProtNone;
  EXPECT_EQ(CUDA(cudaMemPoolSetAccess)(own, &none, 1), cudaErrorInvalidValue)
      << "a device accesses its own pool";
  cudaMemPool_t current = nullptr;
  EXPECT_EQ(CUDA(cudaDeviceSetMemPool)(0, own), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemPoolDestroy)(own), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceGetMemPool)(&current, 0), cudaSuccess);
  EXPECT_EQ(current, pool) << "the default pool replaces a current one that is destroyed";
  EXPECT_EQ(CUDA(cudaMallocFromPoolAsync)(&pointer, 10, own, nullptr), cudaErrorInvalidValue);
}

// ---- what the launch session sees -----------------------------------------------------------------------

/// Not inlined, so that callers appear in call sites.
[[gnu::noinline]] void* allocated_by_this_function(std::size_t bytes) {
  void* pointer = nullptr;
  EXPECT_EQ(CUDA(cudaMalloc)(&pointer, bytes), cudaSuccess);
  return pointer;
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

TEST_F(MemoryTest, LiveAllocationsAreListedWithTheirCallers) {
  const auto before = cpu_device().allocations();
  EXPECT_EQ(cpu_device().allocations(), before) << "the snapshot is shared while nothing changes";
  void* const first = allocated_by_this_function(1000);
  const auto with_first = cpu_device().allocations();
  EXPECT_NE(with_first->version, before->version);
  EXPECT_EQ(with_first->sorted.size(), before->sorted.size() + 1);
  EXPECT_EQ(cpu_device().allocations(), with_first);
  const LiveAllocation* const found = with_first->find(address_of(first) + 999);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->address, address_of(first));
  EXPECT_EQ(found->bytes, 1000u);
  EXPECT_EQ(found->kind, AllocationKind::device);
  EXPECT_THAT(std::string(found->site.caller), testing::HasSubstr("allocated_by_this_function"));

  ASSERT_EQ(CUDA(cudaFree)(first), cudaSuccess);
  EXPECT_EQ(cpu_device().allocations()->find(address_of(first)), nullptr);
  EXPECT_NE(with_first->find(address_of(first)), nullptr) << "a snapshot does not change";
  void* const second = allocated_by_this_function(1000);
  const auto with_second = cpu_device().allocations();
  const LiveAllocation* const again = with_second->find(address_of(second));
  ASSERT_NE(again, nullptr);
  EXPECT_GT(again->number, found->number);
  EXPECT_EQ(CUDA(cudaFree)(second), cudaSuccess);
}

TEST_F(MemoryTest, LiveAllocationsOfEveryKind) {
  void *pool = nullptr, *managed = nullptr, *host = nullptr;
  alignas(64) static char own[64];
  ASSERT_EQ(CUDA(cudaMallocAsync)(&pool, 100, nullptr), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMallocManaged)(&managed, 200, cudaMemAttachGlobal), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMallocHost)(&host, 300), cudaSuccess);
  ASSERT_EQ(CUDA(cudaHostRegister)(own, sizeof own, 0), cudaSuccess);
  const auto now = cpu_device().allocations();
  std::uint64_t number = now->find(address_of(pool))->number;
  const auto expect = [&](const void* pointer, std::uint64_t bytes, AllocationKind kind) {
    const LiveAllocation* const found = now->find(address_of(pointer));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->bytes, bytes);
    EXPECT_EQ(found->kind, kind);
    EXPECT_EQ(found->number, number++);
    EXPECT_THAT(std::string(found->site.caller), testing::HasSubstr("LiveAllocationsOfEveryKind"));
  };
  expect(pool, 100, AllocationKind::pool);
  expect(managed, 200, AllocationKind::managed);
  expect(host, 300, AllocationKind::host);
  expect(own, sizeof own, AllocationKind::registered_host);
  EXPECT_TRUE(std::is_sorted(now->sorted.begin(), now->sorted.end(),
                             [](const auto& a, const auto& b) { return a.address < b.address; }));
  EXPECT_EQ(CUDA(cudaFreeAsync)(pool, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFree)(managed), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeHost)(host), cudaSuccess);
  EXPECT_EQ(CUDA(cudaHostUnregister)(own), cudaSuccess);
  for (const void* const pointer : {static_cast<const void*>(own), static_cast<const void*>(host)})
    EXPECT_EQ(cpu_device().allocations()->find(address_of(pointer)), nullptr);
}

TEST_F(MemoryTest, AThousandLiveAllocationsInEightThreads) {
  const std::size_t before = cpu_device().allocations()->sorted.size();
  std::vector<std::vector<void*>> pointers(8, std::vector<void*>(1000));
  std::vector<std::thread> workers;
  for (std::vector<void*>& own : pointers) {
    workers.emplace_back([&own] {
      for (void*& pointer : own) {
        pointer = allocated_by_this_function(64);
        if (&pointer - own.data() != 500) continue;
        const auto now = cpu_device().allocations();
        EXPECT_NE(now->find(address_of(pointer)), nullptr);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  const auto now = cpu_device().allocations();
  EXPECT_EQ(now->sorted.size(), before + 8000);
  std::set<std::uint64_t> numbers;
  for (const LiveAllocation& each : now->sorted) numbers.insert(each.number);
  EXPECT_EQ(numbers.size(), now->sorted.size());
  for (const std::vector<void*>& own : pointers) {
    for (void* const pointer : own) EXPECT_EQ(CUDA(cudaFree)(pointer), cudaSuccess);
  }
  EXPECT_EQ(cpu_device().allocations()->sorted.size(), before);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
