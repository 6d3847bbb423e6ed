// The limit on memory for probe buffers, of the device and of the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "device/cuda/pool.h"
#include "device/memory_budget.h"
#include "tests/device_cuda/device_driver.h"

namespace lynxpp::device {
namespace {

using ::testing::HasSubstr;

TEST(MemoryBudget, ParsesSharesAndAmounts) {
  const auto of_1000 = [](const std::string& text) -> std::optional<std::uint64_t> {
    const Result<MemoryBudget> budget = MemoryBudget::parse(text);
    return budget ? std::optional(budget->of(1000)) : std::nullopt;
  };
  EXPECT_EQ(of_1000(""), 100u);
  EXPECT_EQ(of_1000("2.5%"), 25u);
  EXPECT_EQ(of_1000("0"), 0u);
  EXPECT_EQ(of_1000("300"), 300u);
  EXPECT_EQ(of_1000("64K"), 64u << 10);
  EXPECT_EQ(of_1000("1.5M"), 3u << 19);
  EXPECT_EQ(of_1000("2G"), 2ull << 30);
  for (const char* const wrong : {"much", "10%%", "101%", "-1", "5MB", "5 M", "1e30", "nan", "K"})
    EXPECT_EQ(of_1000(wrong), std::nullopt) << wrong;
}

TEST(MemoryBudget, FreeHostMemoryIsKnown) {
  EXPECT_GT(free_host_memory(), 1u << 20);
  EXPECT_LT(free_host_memory(), std::numeric_limits<std::uint64_t>::max());
}

TEST(BoundedMemory, RejectsMoreThanTheBudget) {
  std::uint64_t free = 10'000;
  BoundedMemory memory("memory", [&] { return free; });
  EXPECT_TRUE(memory.reserve(900).ok());
  const Status refused = memory.reserve(200);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().diagnostics.front().message,
            "LYNXPP_MEMORY_BUDGET leaves 1090 bytes of memory for probe buffers");
  EXPECT_EQ(memory.reserved(), 900u);
  EXPECT_TRUE(memory.reserve(100).ok());
  memory.release(1000);
  EXPECT_TRUE(memory.reserve(1000).ok());
  free = 100;
  EXPECT_FALSE(memory.reserve(200).ok()) << "the program uses the rest";
  EXPECT_FALSE(memory.reserve(std::numeric_limits<std::uint64_t>::max()).ok());
  memory.limit(*MemoryBudget::parse("1M"));
  EXPECT_TRUE(memory.reserve(200).ok());
}

namespace pool_of_driver {

struct Memory {
  std::map<std::uint64_t, std::size_t> device;
  std::map<std::uint64_t, std::size_t> pinned;
  std::uint64_t next = 0x1000;
  bool is_full = false;
  std::vector<CUstream> freed_on;
  std::mutex mutex;  ///< guards `pinned`
  std::vector<std::thread::id> freed_by;
  std::vector<std::thread::id> made_by;
  std::shared_future<void> idle;  ///< if valid, pinned memory calls wait for the device
};
Memory* memory = nullptr;

cuda::Driver allocating_driver() {
  cuda::Driver driver = cuda::device_driver();
  driver.cuMemGetInfo = [](std::size_t* free, std::size_t* total) {
    *total = *free = 1u << 20;
    return CUDA_SUCCESS;
  };
  driver.cuMemAllocAsync = [](CUdeviceptr* address, std::size_t bytes, CUstream) {
    if (memory->is_full) return CUDA_ERROR_OUT_OF_MEMORY;
    memory->device[*address = memory->next++] = bytes;
    return CUDA_SUCCESS;
  };
  driver.cuStreamCreate = [](CUstream* stream, unsigned flags) {
    EXPECT_EQ(flags, CU_STREAM_NON_BLOCKING);
    *stream = reinterpret_cast<CUstream>(0x77);
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeAsync = [](CUdeviceptr address, CUstream stream) {
    memory->freed_on.push_back(stream);
    memory->device.erase(address);
    return CUDA_SUCCESS;
  };
  driver.cuMemHostAlloc = [](void** address, std::size_t bytes, unsigned) {
    if (memory->idle.valid()) memory->idle.wait();
    const std::lock_guard lock(memory->mutex);
    if (memory->is_full) return CUDA_ERROR_OUT_OF_MEMORY;
    memory->made_by.push_back(std::this_thread::get_id());
    memory->pinned[memory->next] = bytes;
    *address = reinterpret_cast<void*>(memory->next++);
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeHost = [](void* address) {
    if (memory->idle.valid()) memory->idle.wait();
    const std::lock_guard lock(memory->mutex);
    memory->freed_by.push_back(std::this_thread::get_id());
    memory->pinned.erase(reinterpret_cast<std::uintptr_t>(address));
    return CUDA_SUCCESS;
  };
  return driver;
}

class BoundedPool : public testing::Test {
 protected:
  void SetUp() override { memory = &memory_; }
  Memory memory_;
  const cuda::Driver driver_ = allocating_driver();
  cuda::Pool pool_{driver_, reinterpret_cast<CUcontext>(1)};
};

TEST_F(BoundedPool, UsesATenthOfFreeDeviceMemory) {
  const auto first = pool_.device_memory(100'000, nullptr);
  ASSERT_TRUE(first.ok());
  const auto second = pool_.device_memory(100'000, nullptr);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().diagnostics.front().message,
              HasSubstr("bytes of device memory for probe buffers"));
  pool_.release_device_memory(*first);
  EXPECT_EQ(memory_.device.size(), 1u) << "kept";
  EXPECT_TRUE(pool_.device_memory(90'000, nullptr).ok()) << "the same memory is reused";
}

/// Freeing large blocks between launches that need them again would delay other launches.
TEST_F(BoundedPool, KeepsLargeBlocksThatAreInUse) {
  pool_.limit(*MemoryBudget::parse("4G"));
  const auto launch = [&] {
    std::vector<cuda::Pool::Block> blocks;
    for (int i = 0; i < 5; ++i) blocks.push_back(*pool_.device_memory(200'000'000, nullptr));
    for (const cuda::Pool::Block& block : blocks) pool_.release_device_memory(block);
  };
  launch();
  launch();
  EXPECT_EQ(memory_.device.size(), 5u);
  EXPECT_TRUE(memory_.freed_on.empty());
}

TEST_F(BoundedPool, LeavesLargeBlocksToLargeBuffers) {
  pool_.limit(*MemoryBudget::parse("4G"));
  const auto large = pool_.device_memory(100'000'000, nullptr);
  ASSERT_TRUE(large.ok());
  pool_.release_device_memory(*large);
  const auto small = pool_.device_memory(10'000, nullptr);
  ASSERT_TRUE(small.ok());
  EXPECT_NE(small->address, large->address);
  const auto again = pool_.device_memory(90'000'000, nullptr);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->address, large->address);
}

TEST_F(BoundedPool, FreesLargeBlocksUnusedForASecond) {
  pool_.limit(*MemoryBudget::parse("4G"));
  std::vector<cuda::Pool::Block> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(*pool_.device_memory(200'000'000, nullptr));
  for (int i = 0; i < 4; ++i) pool_.release_device_memory(blocks[i]);
  EXPECT_EQ(memory_.device.size(), 5u);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  pool_.release_device_memory(blocks[4]);
  EXPECT_EQ(memory_.device.size(), 1u) << "256 MiB stay cached";
}

TEST_F(BoundedPool, FreesCachedBlocksBeforeFailing) {
  const auto small = pool_.device_memory(10'000, nullptr);
  ASSERT_TRUE(small.ok());
  pool_.release_device_memory(*small);
  EXPECT_TRUE(pool_.device_memory(104'000, nullptr).ok());
  EXPECT_EQ(memory_.device.size(), 1u);
}

TEST_F(BoundedPool, LimitsPinnedMemoryToo) {
  pool_.limit(*MemoryBudget::parse("8K"));
  const auto first = pool_.pinned_memory(5000);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(pool_.pinned_memory(5000).ok());
  EXPECT_EQ(memory_.pinned.size(), 1u);
  pool_.release_pinned_memory(*first);
  EXPECT_TRUE(pool_.pinned_memory(8000).ok());
}

TEST_F(BoundedPool, FreesNothingOnAStreamThatTheProgramMayCapture) {
  const auto small = pool_.device_memory(10'000, CU_STREAM_PER_THREAD);
  ASSERT_TRUE(small.ok());
  pool_.release_device_memory(*small);
  ASSERT_TRUE(pool_.device_memory(104'000, CU_STREAM_PER_THREAD).ok());
  EXPECT_THAT(memory_.freed_on, testing::ElementsAre(reinterpret_cast<CUstream>(0x77)));
}

TEST_F(BoundedPool, PinnedMemoryIsAllocatedOnASeparateThread) {
  ASSERT_TRUE(pool_.pinned_memory(5000).ok());
  EXPECT_THAT(memory_.made_by, testing::ElementsAre(testing::Ne(std::this_thread::get_id())));
}

TEST_F(BoundedPool, LaunchDoesNotWaitForLatePinnedMemory) {
  std::promise<void> idle;
  memory_.idle = idle.get_future().share();
  pool_.limit(*MemoryBudget::parse("8K"));
  const auto late = pool_.pinned_memory(8000);
  ASSERT_FALSE(late.ok());
  EXPECT_THAT(late.error().diagnostics.front().message,
              HasSubstr("did not provide pinned host memory in time"));
  EXPECT_FALSE(pool_.pinned_memory(100).ok()) << "later requests fail, too";
  idle.set_value();
  while (!pool_.pinned_memory(8000).ok()) std::this_thread::yield();
  EXPECT_EQ(memory_.pinned.size(), 1u) << "the late one";
}

TEST_F(BoundedPool, PinnedMemoryIsFreedOnASeparateThread) {
  pool_.limit(*MemoryBudget::parse("8K"));
  const auto first = pool_.pinned_memory(5000);
  ASSERT_TRUE(first.ok());
  pool_.release_pinned_memory(*first);
  EXPECT_TRUE(pool_.pinned_memory(8000).ok());
  EXPECT_THAT(memory_.freed_by, testing::ElementsAre(testing::Ne(std::this_thread::get_id())));
}

/// The device waits for the host, for example for work that follows the launch.
TEST_F(BoundedPool, LaunchDoesNotWaitForABusyDevice) {
  std::promise<void> idle;
  pool_.limit(*MemoryBudget::parse("8K"));
  const auto first = pool_.pinned_memory(5000);
  ASSERT_TRUE(first.ok());
  memory_.idle = idle.get_future().share();
  pool_.release_pinned_memory(*first);
  EXPECT_FALSE(pool_.pinned_memory(8000).ok());
  EXPECT_FALSE(pool_.pinned_memory(8000).ok());
  idle.set_value();
  while (!pool_.pinned_memory(8000).ok()) std::this_thread::yield();
  EXPECT_EQ(memory_.pinned.size(), 1u);
}

TEST_F(BoundedPool, DoesNotCountFailedAllocations) {
  pool_.limit(*MemoryBudget::parse("8K"));
  memory_.is_full = true;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(pool_.device_memory(8000, nullptr).ok());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(pool_.pinned_memory(8000).ok());
  memory_.is_full = false;
  EXPECT_TRUE(pool_.device_memory(8000, nullptr).ok());
  EXPECT_TRUE(pool_.pinned_memory(8000).ok());
}

}  // namespace pool_of_driver
}  // namespace
}  // namespace lynxpp::device
