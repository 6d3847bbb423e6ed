// Which variant is launched if all thread blocks of the original are resident at once, against a driver that
// answers from a table.
#include "device/cuda/residency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "device/cuda/cuda_device.h"
#include "tests/device_cuda/device_driver.h"

namespace lynxpp::device::cuda {
namespace {

using ::testing::ElementsAre;

constexpr std::uintptr_t original_function = 1000;
constexpr std::uintptr_t unlimited_function = 999;

/// Registers by a variant's register limit, and the recorded queries and launches.
struct Table {
  std::map<std::uintptr_t, int> registers = {{original_function, 20}, {unlimited_function, 56}, {32, 32}};
  std::vector<std::uintptr_t> loaded;
  std::vector<std::uintptr_t> launched;
  int occupancies = 0;
};
Table* table = nullptr;

CUresult load_module(CUmodule* module, const void* text, unsigned count, CUjit_option* options,
                     void** values) {
  const std::uintptr_t limit = register_limit(text, {options, values, count}).value_or(unlimited_function);
  table->loaded.push_back(limit);
  if (!table->registers.contains(limit)) return CUDA_ERROR_INVALID_PTX;
  *module = reinterpret_cast<CUmodule>(limit);
  return CUDA_SUCCESS;
}

Driver fake_driver() {
  Driver driver = device_driver();  // it has 9 multiprocessors
  driver.cuFuncGetAttribute = [](int* value, CUfunction_attribute id, CUfunction) {
    *value = id == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    return CUDA_SUCCESS;
  };
  driver.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; };
  driver.cuModuleLoadDataEx = &load_module;
  driver.cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
  driver.cuModuleGetFunction = [](CUfunction* function, CUmodule module, const char*) {
    *function = reinterpret_cast<CUfunction>(module);
    return CUDA_SUCCESS;
  };
  driver.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, CUfunction function, int threads,
                                                          std::size_t) {
    ++table->occupancies;
    const int registers = table->registers.at(reinterpret_cast<std::uintptr_t>(function));
    *blocks = std::min(2048, 65536 / ((registers + 7) / 8 * 8)) / threads;
    return CUDA_SUCCESS;
  };
  driver.cuLaunchKernelEx = [](const CUlaunchConfig*, CUfunction function, void**, void**) {
    table->launched.push_back(reinterpret_cast<std::uintptr_t>(function));
    return CUDA_SUCCESS;
  };
  driver.cuMemAllocAsync = [](CUdeviceptr* address, std::size_t, CUstream) {
    *address = 4096;
    return CUDA_SUCCESS;
  };
  driver.cuMemHostAlloc = [](void** address, std::size_t, unsigned) {
    *address = reinterpret_cast<void*>(8192);
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeHost = [](void*) { return CUDA_SUCCESS; };
  driver.cuEventCreate = [](CUevent*, unsigned) { return CUDA_ERROR_OUT_OF_MEMORY; };
  driver.cuMemFreeAsync = [](CUdeviceptr, CUstream) { return CUDA_SUCCESS; };
  driver.cuMemsetD8Async = [](CUdeviceptr, unsigned char, std::size_t, CUstream) { return CUDA_SUCCESS; };
  return driver;
}

/// With 256 threads per block, an SM holds 8 blocks of the original, 4 of the variant, and 8 of the variant
/// with 32 registers.
class ResidencyTest : public testing::Test {
 protected:
  void SetUp() override {
    table = &table_;
    device_ = std::move(*make_device(driver_));
    device_->measure_kernels(KernelTimes::running);  // gives each launch its own memory
    variant_ = load(false);
  }

  std::unique_ptr<Variant> load(bool may_wait, const std::string& directives = " ") {
    const std::string ptx = directives + "{ret;}";
    return std::move(*device_->load(ptx, "k", launch_of(9, false),
                                    {.may_wait_for_blocks = may_wait, .directives = {0, directives.size()}}));
  }
  static Launch launch_of(std::uint32_t blocks, bool is_cooperative) {
    Launch launch;
    launch.function = reinterpret_cast<void*>(original_function);
    launch.block[0] = 256;
    launch.grid[0] = blocks;
    launch.cooperative = is_cooperative;
    return launch;
  }
  Status launch(Variant& variant, std::uint32_t blocks, bool is_cooperative) {
    const Launch made = launch_of(blocks, is_cooperative);
    const auto buffer = std::move(*device_->allocate_zeroed(8, made));
    return device_->launch(variant, made, {}, {}, *buffer);
  }

  Table table_;
  Driver driver_ = fake_driver();
  std::unique_ptr<Device> device_;
  std::unique_ptr<Variant> variant_;
};

TEST_F(ResidencyTest, CooperativeLaunchUsesAResidentVariant) {
  EXPECT_TRUE(launch(*variant_, 36, true).ok());
  EXPECT_TRUE(launch(*variant_, 60, true).ok());
  EXPECT_TRUE(launch(*variant_, 61, true).ok());
  EXPECT_THAT(table_.launched, ElementsAre(unlimited_function, 32, 32));
  EXPECT_THAT(table_.loaded, ElementsAre(unlimited_function, 32)) << "compiled once";
}

TEST_F(ResidencyTest, OtherLaunchesUseItOnlyIfBlocksMayWait) {
  EXPECT_TRUE(launch(*variant_, 60, false).ok());
  const auto waiting = load(true);
  EXPECT_TRUE(launch(*waiting, 60, false).ok());
  EXPECT_TRUE(launch(*waiting, 600, false).ok()) << "the original's blocks are not all resident either";
  EXPECT_THAT(table_.launched, ElementsAre(unlimited_function, 32, unlimited_function));
}

/// For example in scans with look-back, which have launch bounds.
TEST_F(ResidencyTest, AppliesDespiteLaunchBounds) {
  const auto waiting = load(true, ".maxntid 256, 1, 1 ");
  EXPECT_TRUE(launch(*waiting, 60, false).ok());
  EXPECT_THAT(table_.launched, ElementsAre(32));
}

TEST_F(ResidencyTest, LaunchFailsIfNoVariantIsResident) {
  table_.registers.erase(32);
  const Status made = launch(*variant_, 60, true);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().diagnostics.front().message, testing::HasSubstr("all 60 thread blocks"));
  EXPECT_TRUE(table_.launched.empty());
}

TEST_F(ResidencyTest, OccupancyIsQueriedOncePerShape) {
  EXPECT_TRUE(launch(*variant_, 9, true).ok());
  const int asked = table_.occupancies;
  for (const std::uint32_t blocks : {1u, 20u, 36u}) EXPECT_TRUE(launch(*variant_, blocks, true).ok());
  EXPECT_EQ(table_.occupancies, asked);
}

TEST(ResidencyLimit, FollowsFromBlocksPerMultiprocessor) {
  Launch launch;
  launch.block[0] = 256;
  launch.grid[0] = 60;
  EXPECT_EQ(residency_limit(launch, 9), 32u);  // 7 blocks per multiprocessor
  EXPECT_EQ(residency_limit(launch, 60), 248u);
  launch.block[0] = 1024;
  EXPECT_EQ(residency_limit(launch, 9), 0u) << "no SM holds 7 such blocks";
}

}  // namespace
}  // namespace lynxpp::device::cuda
