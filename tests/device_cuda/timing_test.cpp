// What the cuda device asks of the driver to time a launch, against functions that only write down what they
// are asked.
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

/// What was asked, and how the driver is to answer.
struct Asked {
  std::vector<std::string> calls;
  CUresult load = CUDA_SUCCESS;
  CUresult launch = CUDA_SUCCESS;
  std::uint32_t number = 0;                    ///< the last wait kernel's
  volatile std::uint32_t* released = nullptr;  ///< what it looks at
  std::uint32_t word = 0;
  std::uintptr_t events = 0;

  /// Whether what was enqueued behind the last wait kernel still waits.
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

  /// The program's own launch.
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

TEST_F(Timing, AloneEverythingIsEnqueuedWhileTheStreamIsHeld) {
  auto timed = time(KernelTimes::alone);
  EXPECT_THAT(asked_.calls, ElementsAre("load", "wait", "event held", "kernel held", "event held"));
  EXPECT_FALSE(asked_.is_held());
  ASSERT_TRUE(timed.ok());
  EXPECT_TRUE((*timed)->wait().ok());
  EXPECT_EQ((*timed)->kernel_milliseconds(), 1.0);
}

TEST_F(Timing, OtherwiseNothingWaits) {
  const auto timed = time(KernelTimes::running);
  EXPECT_THAT(asked_.calls, ElementsAre("event", "kernel", "event"));
}

TEST_F(Timing, ALaunchThatFailsLetsTheStreamGo) {
  asked_.launch = CUDA_ERROR_INVALID_VALUE;
  EXPECT_FALSE(time(KernelTimes::alone).ok());
  EXPECT_FALSE(asked_.is_held());
}

TEST_F(Timing, WithoutTheWaitKernelTimesAreTakenAllTheSame) {
  asked_.load = CUDA_ERROR_INVALID_PTX;
  const auto timed = time(KernelTimes::alone);
  EXPECT_THAT(asked_.calls, ElementsAre("load", "event", "kernel", "event"));
  EXPECT_TRUE(timed.ok());
}

TEST_F(Timing, EveryHoldHasItsOwnNumberAndTheKernelIsLoadedOnce) {
  StreamHold streams(driver_);
  for (int i = 0; i < 3; ++i) {
    StreamHold::Hold hold = streams.hold(nullptr);
    EXPECT_TRUE(asked_.is_held());
    hold.release();
    EXPECT_FALSE(asked_.is_held());
  }
  EXPECT_THAT(asked_.calls, ElementsAre("load", "wait", "wait", "wait"));
}

TEST_F(Timing, AHoldThatIsReleasedLeavesLaterOnesHeld) {
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
