// When the memory of a measured launch is reused, and how many driver calls launches need, against a driver
// with preset results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "tests/device_cuda/device_driver.h"

namespace lynxpp::device::cuda {
namespace {

using ::testing::IsEmpty;

struct Answers {
  CUresult query = CUDA_SUCCESS;
  CUresult synchronize = CUDA_SUCCESS;
  CUresult copy = CUDA_SUCCESS;
  CUresult record = CUDA_SUCCESS;
  std::uint64_t next_address = 0x10000;
  std::uintptr_t next_event = 1;
  std::array<std::byte, 4096> pinned{};
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;  ///< of the calling thread
  CUcontext current = reinterpret_cast<CUcontext>(1);
  std::set<std::string> unsafe;   ///< calls that would invalidate a capture of another thread
  std::set<std::string> strange;  ///< calls about a launch made in a context that is not its own

  void look(const char* call) {
    if (mode != CU_STREAM_CAPTURE_MODE_RELAXED) unsafe.insert(call);
    if (current != reinterpret_cast<CUcontext>(1)) strange.insert(call);
  }
};
Answers* answers = nullptr;

void answer_for_memory(Driver& driver) {
  driver.cuMemAllocAsync = [](CUdeviceptr* address, std::size_t, CUstream) {
    answers->look("cuMemAllocAsync");
    *address = answers->next_address;
    answers->next_address += 0x10000;
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeAsync = [](CUdeviceptr, CUstream) { return CUDA_SUCCESS; };
  driver.cuMemsetD8Async = [](CUdeviceptr, unsigned char, std::size_t, CUstream) { return CUDA_SUCCESS; };
  driver.cuMemHostAlloc = [](void** memory, std::size_t, unsigned) {
    answers->look("cuMemHostAlloc");
    *memory = answers->pinned.data();
    return CUDA_SUCCESS;
  };
  driver.cuMemcpyDtoHAsync = [](void*, CUdeviceptr, std::size_t, CUstream) { return answers->copy; };
}

Driver answering_driver() {
  Driver driver = device_driver();
  answer_for_memory(driver);
  driver.cuCtxPushCurrent = [](CUcontext context) {
    answers->current = context;
    return CUDA_SUCCESS;
  };
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) {
    std::swap(*mode, answers->mode);
    return CUDA_SUCCESS;
  };
  driver.cuEventCreate = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(answers->next_event++);
    return CUDA_SUCCESS;
  };
  driver.cuEventRecord = [](CUevent, CUstream) { return answers->record; };
  driver.cuStreamCreate = [](CUstream*, unsigned) { return CUDA_SUCCESS; };
  driver.cuStreamWaitEvent = [](CUstream, CUevent, unsigned) { return CUDA_SUCCESS; };
  driver.cuEventQuery = [](CUevent) {
    answers->look("cuEventQuery");
    return answers->query;
  };
  driver.cuEventSynchronize = [](CUevent) {
    answers->look("cuEventSynchronize");
    return answers->synchronize;
  };
  driver.cuEventElapsedTime = [](float* milliseconds, CUevent, CUevent) {
    answers->look("cuEventElapsedTime");
    *milliseconds = 1;
    return CUDA_SUCCESS;
  };
  return driver;
}

int calls = 0;
Driver* counted = nullptr;

template <auto member, typename Function>
struct Counted;
template <auto member, typename... Arguments>
struct Counted<member, DriverFunction<CUresult (*)(Arguments...)>> {
  static CUresult call(Arguments... arguments) {
    ++calls;
    return (counted->*member)(arguments...);
  }
};

/// Returns a driver that counts every call and forwards it to `answering`, which must outlive it.
Driver counting_driver(Driver& answering) {
  counted = &answering;
  Driver driver;
#define LYNXPP_COUNT(name) driver.name = &Counted<&Driver::name, decltype(Driver::name)>::call;
  LYNXPP_DRIVER_FUNCTIONS(LYNXPP_COUNT)
#undef LYNXPP_COUNT
  return driver;
}

void answer_for_kernels(Driver& driver) {
  driver.cuModuleLoadDataEx = [](CUmodule*, const void*, unsigned, CUjit_option*, void**) {
    return CUDA_SUCCESS;
  };
  driver.cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
  driver.cuModuleGetFunction = [](CUfunction*, CUmodule, const char*) { return CUDA_SUCCESS; };
  driver.cuFuncGetAttribute = [](int*, CUfunction_attribute, CUfunction) { return CUDA_ERROR_INVALID_VALUE; };
  driver.cuFuncSetAttribute = [](CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; };
  driver.cuOccupancyMaxActiveBlocksPerMultiprocessor = [](int*, CUfunction, int, std::size_t) {
    return CUDA_ERROR_INVALID_VALUE;
  };
  driver.cuLaunchKernelEx = [](const CUlaunchConfig*, CUfunction, void**, void**) { return CUDA_SUCCESS; };
  driver.cuStreamIsCapturing = [](CUstream, CUstreamCaptureStatus* status) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
}

class Readbacks : public testing::Test {
 protected:
  void SetUp() override {
    answers = &answers_;
    device_ = std::move(*make_device(driver_));
    device_->measure_kernels(KernelTimes::running);
  }

  std::unique_ptr<Buffer> allocate() { return std::move(*device_->allocate_zeroed(64, {})); }
  Result<std::unique_ptr<Readback>> read_back(std::unique_ptr<Buffer> buffer) {
    return device_->read_back(std::move(buffer), {});
  }

  Answers answers_;
  Driver driver_ = answering_driver();
  std::unique_ptr<Device> device_;
};

TEST_F(Readbacks, ReturnMemoryWhenTheLaunchIsOver) {
  auto buffer = allocate();
  const std::uint64_t first = buffer->address();
  { const auto readback = read_back(std::move(buffer)); }
  EXPECT_EQ(allocate()->address(), first);
}

TEST_F(Readbacks, AreNotReadyIfTheQueryFails) {
  const auto readback = read_back(allocate());
  for (const CUresult failed :
       {CUDA_ERROR_NOT_READY, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_ILLEGAL_ADDRESS}) {
    answers_.query = failed;
    EXPECT_FALSE((*readback)->ready()) << failed;
  }
  answers_.query = CUDA_SUCCESS;
  EXPECT_TRUE((*readback)->ready());
}

TEST_F(Readbacks, KeepMemoryIfTheEndIsUnknown) {
  auto buffer = allocate();
  const std::uint64_t first = buffer->address();
  {
    const auto readback = read_back(std::move(buffer));
    answers_.synchronize = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    EXPECT_FALSE((*readback)->wait().ok());
  }
  EXPECT_NE(allocate()->address(), first);
}

TEST_F(Readbacks, KeepMemoryIfNoEventFollowsTheLaunch) {
  auto buffer = allocate();
  const std::uint64_t first = buffer->address();
  { const auto once = read_back(std::move(buffer)); }  // leaves an event that reports completion
  buffer = allocate();
  ASSERT_EQ(buffer->address(), first);
  answers_.record = CUDA_ERROR_INVALID_HANDLE;
  EXPECT_FALSE(read_back(std::move(buffer)).ok());
  EXPECT_NE(allocate()->address(), first);
}

TEST_F(Readbacks, ReportARejectedCopyAfterTheKernel) {
  auto buffer = allocate();
  const std::uint64_t first = buffer->address();
  answers_.copy = CUDA_ERROR_INVALID_VALUE;
  answers_.query = CUDA_ERROR_NOT_READY;
  {
    const auto refused = read_back(std::move(buffer));
    ASSERT_TRUE(refused.ok()) << "the launching thread must not wait";
    EXPECT_FALSE((*refused)->ready());
    EXPECT_NE(allocate()->address(), first) << "the kernel may be running";
    EXPECT_FALSE((*refused)->wait().ok());
  }
  EXPECT_EQ(allocate()->address(), first) << "the event after the kernel has completed";
}

TEST_F(Readbacks, PreserveCapturesAndQueryInTheirOwnContext) {
  {
    const auto readback = read_back(allocate());
    answers_.current = reinterpret_cast<CUcontext>(2);
    (*readback)->ready();
    (void)(*readback)->wait();
    (*readback)->max_milliseconds();
    (*readback)->buffer_milliseconds();
  }
  EXPECT_THAT(answers_.unsafe, IsEmpty());
  EXPECT_THAT(answers_.strange, IsEmpty());
  EXPECT_EQ(answers_.mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "the program's mode is restored";
}

TEST_F(Readbacks, PreserveCapturesForUntimedLaunches) {
  answer_for_kernels(driver_);
  device_->measure_kernels(KernelTimes::off);
  const auto variant = std::move(*device_->load("", "k", {}, {}));
  for (int i = 0; i < 1000; ++i) {
    auto buffer = allocate();
    EXPECT_TRUE(device_->launch(*variant, {}, {}, {}, *buffer).ok());
    const auto readback = read_back(std::move(buffer));
    EXPECT_TRUE((*readback)->ready());
    EXPECT_TRUE((*readback)->wait().ok());
  }
  EXPECT_THAT(answers_.unsafe, IsEmpty());
  EXPECT_EQ(answers_.mode, CU_STREAM_CAPTURE_MODE_GLOBAL) << "the program's mode is restored";
}

/// Makes the calls of a launch in the order of a launch session.
std::unique_ptr<Readback> launched(Device& device, Variant& variant) {
  EXPECT_FALSE(*device.capturing({}));
  auto buffer = std::move(*device.allocate_zeroed(64, {}));
  EXPECT_TRUE(device.launch(variant, {}, {}, {}, *buffer).ok());
  return std::move(*device.read_back(std::move(buffer), {}));
}

void settle(std::unique_ptr<Readback> readback) {
  EXPECT_TRUE(readback->ready());
  EXPECT_TRUE(readback->wait().ok());
  readback->kernel_milliseconds();
  readback->buffer_milliseconds();
}

TEST_F(Readbacks, CallTheDriverSeldom) {
  answer_for_kernels(driver_);
  const Driver driver = counting_driver(driver_);
  const auto device = std::move(*make_device(driver));
  const auto variant = std::move(*device->load("", "k", {}, {.may_wait_for_blocks = false}));
  // The first launches create memory and events for later ones.
  for (int i = 0; i < 1000; ++i) settle(launched(*device, *variant));

  calls = 0;
  std::vector<std::unique_ptr<Readback>> made;
  made.push_back(launched(*device, *variant));
  EXPECT_EQ(calls, 3) << "capture query, kernel, event";

  settle(launched(*device, *variant));
  made.push_back(launched(*device, *variant));
  made.push_back(launched(*device, *variant));
  calls = 0;
  settle(std::move(made[0]));
  EXPECT_EQ(calls, 8) << "twice the capture mode and the context; the event, a copy and its event";

  calls = 0;
  {
    const auto group = made[1]->call_group();
    settle(std::move(made[1]));
    settle(std::move(made[2]));
  }
  EXPECT_EQ(calls, 9) << "one more event";
}

}  // namespace
}  // namespace lynxpp::device::cuda
