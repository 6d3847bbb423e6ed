// Memory that is saved for repeated launches, and waiting for the device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "tests/device_cuda/device_driver.h"

namespace lynxpp::device::cuda {
namespace {

using ::testing::ElementsAre;

CUstream const programs_stream = reinterpret_cast<CUstream>(0x5);

struct Calls {
  std::vector<std::string> made;
  CUresult synchronized = CUDA_SUCCESS;
  std::mutex mutex;  ///< guards the members below
  std::condition_variable changed;
  bool is_busy = false;    ///< the device's work does not end
  bool has_ended = false;  ///< cuCtxSynchronize has returned
};
Calls* calls = nullptr;

Driver fake_driver() {
  Driver driver = device_driver();
  driver.cuMemAllocAsync = [](CUdeviceptr* address, std::size_t, CUstream) {
    *address = 0x1000;
    return CUDA_SUCCESS;
  };
  driver.cuMemsetD8Async = [](CUdeviceptr, unsigned char value, std::size_t bytes, CUstream stream) {
    EXPECT_EQ(stream, programs_stream);
    calls->made.push_back("set " + std::to_string(bytes) + " to " + std::to_string(value));
    return CUDA_SUCCESS;
  };
  driver.cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    EXPECT_EQ(stream, programs_stream);
    calls->made.push_back("copy " + std::to_string(bytes) + " from " + std::to_string(from) + " to " +
                          std::to_string(to));
    return CUDA_SUCCESS;
  };
  driver.cuCtxSynchronize = [] {
    std::unique_lock lock(calls->mutex);
    calls->changed.wait(lock, [] { return !calls->is_busy; });
    calls->has_ended = true;
    calls->changed.notify_all();
    return calls->synchronized;
  };
  return driver;
}

class Replay : public testing::Test {
 protected:
  void SetUp() override {
    calls = &calls_;
    launch_.stream = programs_stream;
    launch_.may_be_captured = false;
    device_ = std::move(*make_device(driver_));
  }
  bool is_idle() { return device_->is_idle_within(std::chrono::milliseconds(patience_), launch_); }

  Calls calls_;
  Driver driver_ = fake_driver();
  std::unique_ptr<Device> device_;
  Launch launch_;
  int patience_ = 60'000;
};

TEST_F(Replay, KeptMemoryIsZeroedAndReused) {
  Result<std::unique_ptr<Buffer>> kept = device_->allocate_kept(5000, launch_);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ((*kept)->address(), 0x1000u);
  kept->reset();
  driver_.cuMemAllocAsync = [](CUdeviceptr*, std::size_t, CUstream) { return CUDA_ERROR_OUT_OF_MEMORY; };
  EXPECT_TRUE(device_->allocate_kept(4097, launch_).ok()) << "it has been kept";
  EXPECT_FALSE(device_->allocate_kept(1 << 20, launch_).ok());
  EXPECT_THAT(calls_.made, ElementsAre("set 5000 to 0", "set 4097 to 0"));
}

TEST_F(Replay, CopiesAreOrderedOnTheStream) {
  EXPECT_TRUE(device_->copy(64, 32, 16, launch_).ok());
  EXPECT_THAT(calls_.made, ElementsAre("copy 16 from 32 to 64"));
  driver_.cuMemcpyDtoDAsync = nullptr;
  EXPECT_FALSE(device_->copy(64, 32, 16, launch_).ok());
}

TEST_F(Replay, WaitsForTheDevice) {
  EXPECT_TRUE(is_idle());
  calls_.synchronized = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_FALSE(is_idle());
}

TEST_F(Replay, GivesUpWaiting) {
  calls_.is_busy = true;
  patience_ = 1;
  EXPECT_FALSE(is_idle());
  std::unique_lock lock(calls_.mutex);
  calls_.is_busy = false;
  calls_.changed.notify_all();
  calls_.changed.wait(lock, [&] { return calls_.has_ended; });
}

TEST_F(Replay, NeverWaitsDuringACapture) {
  launch_.may_be_captured = true;
  EXPECT_FALSE(is_idle());
  EXPECT_FALSE(calls_.has_ended);
}

}  // namespace
}  // namespace lynxpp::device::cuda
