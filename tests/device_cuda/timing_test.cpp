// Driver calls that the cuda device makes to time a launch, against functions that only record the calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cuda/cuda_device.h"
#include "device/cuda/stream_hold.h"
#include "tests/device_cuda/device_driver.h"

namespace lynxpp::device::cuda {
namespace {

using ::testing::ElementsAre;

CUfunction const wait_kernel = reinterpret_cast<CUfunction>(1);
CUfunction const programs_kernel = reinterpret_cast<CUfunction>(2);

/// The recorded calls, and the driver's results.
struct Asked {
  std::vector<std::string> calls;
  CUresult load = CUDA_SUCCESS;
  CUresult launch = CUDA_SUCCESS;
  std::uint32_t number = 0;                    ///< of the last wait kernel
  volatile std::uint32_t* released = nullptr;  ///< memory word that the wait kernel polls
  std::uint32_t word = 0;
  std::uintptr_t events = 0;

  /// True if work after the last wait kernel is still held.
  bool is_held() const { return released != nullptr && *released != number; }
};
Asked* asked = nullptr;

CUresult launch_kernel(const CUlaunchConfig*, CUfunction function, void** parameters, void**) {
  if (function == wait_kernel) {
    asked->released = reinterpret_cast<std::uint32_t*>(*static_cast<std::uint64_t*>(parameters[0]));
    asked->number = *static_cast<std::uint32_t*>(parameters[1]);
  }
  asked->calls.emplace_back(function == wait_kernel ? "wait" : asked->is_held() ? "kernel held" : "kernel");
  return function == wait_kernel ? CUDA_SUCCESS : asked->launch;
}

Driver fake_driver() {
  Driver driver = device_driver();
  driver.cuFuncGetAttribute = [](int*, CUfunction_attribute, CUfunction) { return CUDA_SUCCESS; };
  driver.cuMemHostAlloc = [](void** memory, std::size_t, unsigned) {
    *memory = &asked->word;
    return CUDA_SUCCESS;
  };
  driver.cuModuleLoadDataEx = [](CUmodule*, const void*, unsigned, CUjit_option*, void**) {
    asked->calls.emplace_back("load");
    return asked->load;
  };
  driver.cuModuleGetFunction = [](CUfunction* function, CUmodule, const char*) {
    *function = wait_kernel;
    return CUDA_SUCCESS;
  };
  driver.cuLaunchKernelEx = &launch_kernel;
  driver.cuEventCreate = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(++asked->events);
    return CUDA_SUCCESS;
  };
  driver.cuEventRecord = [](CUevent, CUstream) {
    asked->calls.emplace_back(asked->is_held() ? "event held" : "event");
    return CUDA_SUCCESS;
  };
  driver.cuEventSynchronize = [](CUevent) { return CUDA_SUCCESS; };
  driver.cuEventElapsedTime = [](float* milliseconds, CUevent begin, CUevent end) {
    *milliseconds =
        static_cast<float>(reinterpret_cast<std::uintptr_t>(end) - reinterpret_cast<std::uintptr_t>(begin));
    return CUDA_SUCCESS;
  };
  return driver;
}

class Timing : public testing::Test {
 protected:
  void SetUp() override { asked = &asked_; }

  /// Launches and times the program's own kernel.
  Result<std::unique_ptr<Readback>> time(KernelTimes how) {
    Result<std::unique_ptr<Device>> made = make_device(driver_);
    device_ = std::move(*made);
    device_->measure_kernels(how);
    Launch launch;
    launch.function = programs_kernel;
    return device_->launch_original(launch);
  }

  Asked asked_;
  Driver driver_ = fake_driver();
  std::unique_ptr<Device> device_;
};

TEST_F(Timing, AloneEnqueuesEverythingWhileTheStreamIsHeld) {
  auto timed = time(KernelTimes::alone);
  EXPECT_THAT(asked_.calls, ElementsAre("load", "wait", "event held", "kernel held", "event held"));
  EXPECT_FALSE(asked_.is_held());
  ASSERT_TRUE(timed.ok());
  EXPECT_TRUE((*timed)->wait().ok());
  EXPECT_EQ((*timed)->kernel_milliseconds(), 1.0);
}

TEST_F(Timing, RunningDoesNotHoldTheStream) {
  const auto timed = time(KernelTimes::running);
  EXPECT_THAT(asked_.calls, ElementsAre("event", "kernel", "event"));
}

TEST_F(Timing, FailedLaunchReleasesTheStream) {
  asked_.launch = CUDA_ERROR_INVALID_VALUE;
  EXPECT_FALSE(time(KernelTimes::alone).ok());
  EXPECT_FALSE(asked_.is_held());
}

TEST_F(Timing, MeasuresEvenWithoutTheWaitKernel) {
  asked_.load = CUDA_ERROR_INVALID_PTX;
  const auto timed = time(KernelTimes::alone);
  EXPECT_THAT(asked_.calls, ElementsAre("load", "event", "kernel", "event"));
  EXPECT_TRUE(timed.ok());
}

TEST_F(Timing, HoldsAreNumberedAndLoadTheKernelOnce) {
  StreamHold streams(driver_);
  for (int i = 0; i < 3; ++i) {
    StreamHold::Hold hold = streams.hold(nullptr);
    EXPECT_TRUE(asked_.is_held());
    hold.release();
    EXPECT_FALSE(asked_.is_held());
  }
  EXPECT_THAT(asked_.calls, ElementsAre("load", "wait", "wait", "wait"));
}

TEST_F(Timing, ReleasingAHoldKeepsLaterOnes) {
  StreamHold streams(driver_);
  StreamHold::Hold first = streams.hold(nullptr);
  {
    const StreamHold::Hold second = streams.hold(nullptr);
    first.release();
    EXPECT_TRUE(asked_.is_held());
  }
  EXPECT_FALSE(asked_.is_held());
}

}  // namespace
}  // namespace lynxpp::device::cuda
