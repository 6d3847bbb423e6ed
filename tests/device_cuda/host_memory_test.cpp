// Host memory that kernels write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "device/cuda/cuda_device.h"
#include "tests/device_cuda/device_driver.h"

namespace lynxpp::device::cuda {
namespace {

int allocated = 0;
CUresult answer = CUDA_SUCCESS;

Driver driver() {
  Driver made = device_driver();
  made.cuMemHostAlloc = [](void** memory, std::size_t bytes, unsigned) {
    if (answer != CUDA_SUCCESS) return answer;
    ++allocated;
    *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    std::memset(*memory, 0xff, bytes);
    return CUDA_SUCCESS;
  };
  made.cuMemFreeHost = [](void* memory) {
    std::free(memory);
    return CUDA_SUCCESS;
  };
  return made;
}

bool is_zeroed(const HostMemory& memory) {
  return std::ranges::all_of(memory.bytes(), [](std::byte each) { return each == std::byte{0}; });
}

TEST(HostMemory, IsZeroedWhenNewAndWhenReused) {
  const Driver made = driver();
  answer = CUDA_SUCCESS;
  allocated = 0;
  const auto device = make_device(made);
  ASSERT_TRUE(device.ok());
  for (int i = 0; i < 3; ++i) {
    const auto memory = (*device)->host_memory(100'000);
    ASSERT_TRUE(memory.ok());
    EXPECT_EQ((*memory)->bytes().size(), 100'000u);
    EXPECT_EQ((*memory)->address(), reinterpret_cast<std::uint64_t>((*memory)->bytes().data()));
    EXPECT_EQ((*memory)->address() % 64, 0u);
    EXPECT_TRUE(is_zeroed(**memory));
    std::ranges::fill((*memory)->bytes(), std::byte{7});
  }
  EXPECT_EQ(allocated, 1) << "released memory stays cached";
}

TEST(HostMemory, FailsIfTheDriverFails) {
  const Driver made = driver();
  answer = CUDA_ERROR_OUT_OF_MEMORY;
  const auto device = make_device(made);
  ASSERT_TRUE(device.ok());
  const auto memory = (*device)->host_memory(100'000);
  ASSERT_FALSE(memory.ok());
  EXPECT_THAT(memory.error().diagnostics.front().message, testing::HasSubstr("cuMemHostAlloc"));
}

}  // namespace
}  // namespace lynxpp::device::cuda
