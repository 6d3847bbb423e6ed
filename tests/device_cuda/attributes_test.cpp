// Function attributes that the program sets after a variant was loaded, against a driver that stores them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "device/cuda/cuda_device.h"
#include "tests/device_cuda/device_driver.h"

namespace lynxpp::device::cuda {
namespace {

CUfunction const original = reinterpret_cast<CUfunction>(1);
CUfunction const variant_function = reinterpret_cast<CUfunction>(2);

struct Kept {
  std::map<CUfunction, std::map<CUfunction_attribute, int>> attributes;
  int cache_config = -1;
  int asked = 0;
  int launched = 0;
  int asked_for_function_of_kernel = 0;
};
Kept* kept = nullptr;

Driver fake_driver() {
  Driver driver = device_driver();
  driver.cuFuncGetAttribute = [](int* value, CUfunction_attribute id, CUfunction function) {
    ++kept->asked;
    const int otherwise = id == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
    const auto& all = kept->attributes[function];
    *value = all.contains(id) ? all.at(id) : otherwise;
    return CUDA_SUCCESS;
  };
  driver.cuKernelGetFunction = [](CUfunction*, CUkernel) {
    ++kept->asked_for_function_of_kernel;
    return CUDA_ERROR_INVALID_HANDLE;
  };
  driver.cuFuncSetAttribute = [](CUfunction function, CUfunction_attribute id, int value) {
    if (value < 0) return CUDA_ERROR_INVALID_VALUE;
    kept->attributes[function][id] = value;
    return CUDA_SUCCESS;
  };
  driver.cuFuncSetCacheConfig = [](CUfunction function, CUfunc_cache config) {
    EXPECT_EQ(function, variant_function);
    kept->cache_config = config;
    return CUDA_SUCCESS;
  };
  driver.cuModuleLoadDataEx = [](CUmodule*, const void*, unsigned, CUjit_option*, void**) {
    return CUDA_SUCCESS;
  };
  driver.cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
  driver.cuModuleGetFunction = [](CUfunction* function, CUmodule, const char*) {
    *function = variant_function;
    return CUDA_SUCCESS;
  };
  driver.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int* blocks, CUfunction, int, std::size_t) {
    *blocks = 8;
    return CUDA_SUCCESS;
  };
  driver.cuLaunchKernelEx = [](const CUlaunchConfig*, CUfunction, void**, void**) {
    ++kept->launched;
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

class AttributesTest : public testing::Test {
 protected:
  void SetUp() override {
    kept = &kept_;
    launch_.function = reinterpret_cast<void*>(original);
    launch_.block[0] = 32;
    device_ = std::move(*make_device(driver_));
    device_->measure_kernels(KernelTimes::running);  // gives each launch its own memory
    kept_.attributes[original][CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = 25;
    variant_ = std::move(*device_->load("ret;", "k", launch_, {.may_wait_for_blocks = false}));
  }

  Status launch() {
    const auto buffer = std::move(*device_->allocate_zeroed(8, launch_));
    return device_->launch(*variant_, launch_, {}, {}, *buffer);
  }
  int of_variant(CUfunction_attribute attribute) { return kept_.attributes[variant_function][attribute]; }
  /// Sets an attribute as the program does.
  void set(CUfunction_attribute attribute, int value) {
    kept_.attributes[original][attribute] = value;
    ++launch_.attribute_changes;
  }

  Kept kept_;
  Driver driver_ = fake_driver();
  Launch launch_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Variant> variant_;
};

TEST_F(AttributesTest, FollowTheOriginalAtEachLaunch) {
  ASSERT_TRUE(launch().ok());
  EXPECT_EQ(of_variant(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), 25);
  set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 75);
  set(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  set(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2);
  ASSERT_TRUE(launch().ok());
  EXPECT_EQ(of_variant(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), 75);
  EXPECT_EQ(of_variant(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 1);
  EXPECT_EQ(of_variant(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
}

TEST_F(AttributesTest, DriverIsQueriedOnlyAfterChanges) {
  ASSERT_TRUE(launch().ok());
  const int asked = kept_.asked;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(launch().ok());
  EXPECT_EQ(kept_.asked, asked);
}

TEST_F(AttributesTest, LaunchFailsIfAnAttributeCannotBeSet) {
  set(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, -1);
  EXPECT_FALSE(launch().ok());
  EXPECT_EQ(kept_.launched, 0);
}

// compute-sanitizer reports each failed call of the driver as an error of the program.
TEST_F(AttributesTest, KnownFunctionIsNotQueriedAsKernel) {
  kept_.asked_for_function_of_kernel = 0;
  launch_.is_context_function = true;
  const auto loaded = device_->load("ret;", "k", launch_, {.may_wait_for_blocks = false});
  ASSERT_TRUE(loaded.ok());
  set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50);
  ASSERT_TRUE(launch().ok());
  EXPECT_TRUE(device_->needs(launch_).has_value());
  EXPECT_EQ(kept_.asked_for_function_of_kernel, 0);
  launch_.is_context_function = false;
  EXPECT_TRUE(device_->needs(launch_).has_value());
  EXPECT_EQ(kept_.asked_for_function_of_kernel, 1);
}

TEST_F(AttributesTest, CacheConfigurationComesWithTheLaunch) {
  ASSERT_TRUE(launch().ok());
  EXPECT_EQ(kept_.cache_config, -1);
  launch_.cache_config = CU_FUNC_CACHE_PREFER_L1;
  ASSERT_TRUE(launch().ok());
  EXPECT_EQ(kept_.cache_config, CU_FUNC_CACHE_PREFER_L1);
}

}  // namespace
}  // namespace lynxpp::device::cuda
