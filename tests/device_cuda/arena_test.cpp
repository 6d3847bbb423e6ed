// Memory shared by many launches: cleared, copied and released together, against a driver whose launches end
// when the test says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "tests/device_cuda/device_driver.h"

namespace lynxpp::device::cuda {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

/// A driver whose memory is host memory. Enqueued work happens at once, but events complete only when
/// released.
struct Simulation {
  std::vector<std::unique_ptr<std::byte[]>> memory;
  std::vector<std::size_t> allocated;
  std::map<CUevent, CUstream> recorded;
  std::set<CUevent> over;
  std::vector<std::size_t> copies;
  std::vector<CUstream> waiting;  ///< streams that wait for an event
  std::uintptr_t next_handle = 16;
  bool clearing_is_slow = false;
  CUresult copy = CUDA_SUCCESS;
  std::function<void()> while_copying;
  CUresult record = CUDA_SUCCESS;
  float clock = 0;              ///< milliseconds that the stream has worked
  std::map<CUevent, float> at;  ///< when the stream reached an event
  float duration = 1;           ///< of the next kernels
  CUresult capture_query = CUDA_SUCCESS;
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  CUresult stream_query = CUDA_ERROR_NOT_READY;

  bool is_programs(CUevent event) const {
    return recorded.at(event) == CU_STREAM_LEGACY || recorded.at(event) == CU_STREAM_PER_THREAD;
  }
  CUresult state(CUevent event) const {
    if (over.contains(event)) return CUDA_SUCCESS;
    return is_programs(event) || clearing_is_slow ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
  }
  std::vector<CUevent> programs_events() const {
    std::vector<CUevent> events;
    for (const auto& [event, stream] : recorded) {
      if (is_programs(event)) events.push_back(event);
    }
    return events;
  }
  void end_launches() {
    for (const CUevent event : programs_events()) over.insert(event);
  }
};
Simulation* simulation = nullptr;

void simulate_memory(Driver& driver) {
  driver.cuMemAllocAsync = [](CUdeviceptr* address, std::size_t bytes, CUstream) {
    simulation->memory.push_back(std::make_unique<std::byte[]>(bytes));
    simulation->allocated.push_back(bytes);
    std::memset(simulation->memory.back().get(), 0xee, bytes);
    *address = reinterpret_cast<CUdeviceptr>(simulation->memory.back().get());
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeAsync = [](CUdeviceptr, CUstream) { return CUDA_SUCCESS; };
  driver.cuMemHostAlloc = [](void** address, std::size_t bytes, unsigned) {
    simulation->memory.push_back(std::make_unique<std::byte[]>(bytes));
    *address = simulation->memory.back().get();
    return CUDA_SUCCESS;
  };
  driver.cuMemFreeHost = [](void*) { return CUDA_SUCCESS; };
  driver.cuMemsetD8Async = [](CUdeviceptr address, unsigned char value, std::size_t bytes, CUstream) {
    std::memset(reinterpret_cast<void*>(address), value, bytes);
    return CUDA_SUCCESS;
  };
  driver.cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    if (simulation->copy != CUDA_SUCCESS) return simulation->copy;
    if (simulation->while_copying) simulation->while_copying();
    std::memcpy(to, reinterpret_cast<void*>(from), bytes);
    simulation->copies.push_back(bytes);
    return CUDA_SUCCESS;
  };
}

void simulate_kernels(Driver& driver) {
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
  driver.cuLaunchKernelEx = [](const CUlaunchConfig*, CUfunction, void**, void**) {
    simulation->clock += simulation->duration;
    return CUDA_SUCCESS;
  };
}

Driver simulating_driver() {
  Driver driver = device_driver();
  simulate_memory(driver);
  driver.cuStreamCreate = [](CUstream* stream, unsigned flags) {
    EXPECT_EQ(flags, CU_STREAM_NON_BLOCKING) << "the program's legacy stream must not wait for it";
    *stream = reinterpret_cast<CUstream>(simulation->next_handle++);
    return CUDA_SUCCESS;
  };
  driver.cuStreamWaitEvent = [](CUstream stream, CUevent, unsigned) {
    simulation->waiting.push_back(stream);
    return CUDA_SUCCESS;
  };
  driver.cuEventCreate = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(simulation->next_handle++);
    return CUDA_SUCCESS;
  };
  driver.cuEventRecord = [](CUevent event, CUstream stream) {
    if (simulation->record != CUDA_SUCCESS) return simulation->record;
    simulation->recorded[event] = stream;
    simulation->at[event] = simulation->clock;
    simulation->over.erase(event);
    return CUDA_SUCCESS;
  };
  driver.cuStreamIsCapturing = [](CUstream, CUstreamCaptureStatus* status) {
    *status = simulation->capture;
    return simulation->capture_query;
  };
  driver.cuStreamQuery = [](CUstream stream) {
    EXPECT_EQ(stream, CU_STREAM_LEGACY);
    return simulation->stream_query;
  };
  driver.cuEventQuery = [](CUevent event) { return simulation->state(event); };
  driver.cuEventSynchronize = [](CUevent event) {
    simulation->over.insert(event);
    return CUDA_SUCCESS;
  };
  driver.cuEventElapsedTime = [](float* milliseconds, CUevent begin, CUevent end) {
    *milliseconds = simulation->at.at(end) - simulation->at.at(begin);
    return CUDA_SUCCESS;
  };
  simulate_kernels(driver);
  return driver;
}

class ArenaTest : public testing::Test {
 protected:
  void SetUp() override {
    simulation = &simulation_;
    device_ = std::move(*make_device(driver_));
  }

  std::unique_ptr<Buffer> allocate(std::size_t bytes = 1024) {
    return std::move(*device_->allocate_zeroed(bytes, launch_));
  }
  /// Launches a kernel that fills its memory with `value`.
  std::unique_ptr<Readback> launched(int value, std::size_t bytes = 1024) {
    auto buffer = allocate(bytes);
    std::memset(reinterpret_cast<void*>(buffer->address()), value, bytes);
    return std::move(*device_->read_back(std::move(buffer), launch_));
  }
  static std::vector<std::byte> bytes_of(const std::unique_ptr<Readback>& readback) {
    const Result<std::span<std::byte>> bytes = readback->wait();
    return bytes ? std::vector(bytes->begin(), bytes->end()) : std::vector<std::byte>();
  }
  static bool is_zero(const Buffer& buffer, std::size_t bytes) {
    const auto* const begin = reinterpret_cast<const char*>(buffer.address());
    return std::all_of(begin, begin + bytes, [](char byte) { return byte == 0; });
  }

  Simulation simulation_;
  Launch launch_;
  Driver driver_ = simulating_driver();
  std::unique_ptr<Device> device_;
};

TEST_F(ArenaTest, LaunchesShareOneAllocation) {
  const auto first = allocate(1000);
  const auto second = allocate(1000);
  EXPECT_EQ(second->address() - first->address(), 1024u) << "launches must not share an L2 cache line";
  EXPECT_TRUE(is_zero(*first, 1000));
  EXPECT_THAT(simulation_.allocated, SizeIs(1));
  EXPECT_THAT(simulation_.waiting, SizeIs(0)) << "the memory was cleared before the first launch";
}

TEST_F(ArenaTest, FinishedLaunchesShareOneCopy) {
  std::vector<std::unique_ptr<Readback>> made;
  for (const int value : {1, 2, 3}) made.push_back(launched(value));
  EXPECT_FALSE(made[0]->ready());
  simulation_.end_launches();
  made.push_back(launched(4));  // this one is still running
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(made[i]->ready()) << i;
  EXPECT_THAT(simulation_.copies, ElementsAre(3 * 1024u));
  EXPECT_FALSE(made[3]->ready());
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_THAT(bytes_of(made[i]), testing::AllOf(SizeIs(1024), Each(std::byte(i + 1)))) << i;
  EXPECT_THAT(simulation_.copies, ElementsAre(3 * 1024u, 1024u));
}

/// Buffers that launches share, and that are read back later.
class SharedBufferTest : public ArenaTest {
 protected:
  std::unique_ptr<Buffer> shared(CUstream stream) {
    launch_.stream = stream;
    EXPECT_TRUE(device_->may_share(launch_));
    auto buffer = allocate();
    std::memset(reinterpret_cast<void*>(buffer->address()), 5, 1024);
    return buffer;
  }
  std::unique_ptr<Readback> read(std::unique_ptr<Buffer>& buffer, bool after_launch = false) {
    return std::move(*device_->read_back_shared(buffer, after_launch));
  }
  std::size_t events_on(CUstream stream) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(simulation_.recorded, [&](const auto& each) { return each.second == stream; }));
  }
  const CUstream stream_ = reinterpret_cast<CUstream>(0x1230);
};

TEST_F(SharedBufferTest, AnEventIsAfterTheLastLaunch) {
  auto buffer = shared(stream_);
  const auto other = launched(1);
  EXPECT_EQ(events_on(stream_), 1u) << "the other launch's";
  const auto readback = read(buffer);
  ASSERT_NE(readback, nullptr);
  EXPECT_EQ(buffer, nullptr);
  EXPECT_EQ(events_on(stream_), 2u);
  EXPECT_THAT(bytes_of(readback), testing::AllOf(SizeIs(1024), Each(std::byte{5})));
}

/// An event there would order the blocking streams.
TEST_F(SharedBufferTest, TheLegacyStreamGetsNoEventExceptAfterALaunch) {
  auto buffer = shared(nullptr);
  EXPECT_EQ(read(buffer), nullptr);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(events_on(CU_STREAM_LEGACY), 0u);
  simulation_.stream_query = CUDA_SUCCESS;
  auto idle = read(buffer);
  ASSERT_NE(idle, nullptr);
  EXPECT_EQ(events_on(CU_STREAM_LEGACY), 0u);
  EXPECT_TRUE(idle->ready());
  EXPECT_THAT(bytes_of(idle), testing::AllOf(SizeIs(1024), Each(std::byte{5})));
  EXPECT_EQ(idle->max_milliseconds(), std::nullopt);
  simulation_.stream_query = CUDA_ERROR_NOT_READY;
  auto busy = shared(CU_STREAM_LEGACY);
  EXPECT_EQ(read(busy), nullptr);
  EXPECT_NE(read(busy, true), nullptr);
  EXPECT_EQ(events_on(CU_STREAM_LEGACY), 1u);
}

TEST_F(SharedBufferTest, CapturedStreamsGetNoEvent) {
  auto buffer = shared(stream_);
  simulation_.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  EXPECT_EQ(read(buffer), nullptr);
  simulation_.capture = CU_STREAM_CAPTURE_STATUS_NONE;
  simulation_.capture_query = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  EXPECT_EQ(read(buffer, true), nullptr);
  EXPECT_EQ(events_on(stream_), 0u);
  simulation_.capture_query = CUDA_SUCCESS;
  EXPECT_NE(read(buffer), nullptr);
}

TEST_F(SharedBufferTest, AFailedContextIsReported) {
  auto buffer = shared(stream_);
  simulation_.capture_query = CUDA_ERROR_LAUNCH_FAILED;
  EXPECT_FALSE(device_->read_back_shared(buffer, false).ok());
  simulation_.capture_query = CUDA_SUCCESS;
  simulation_.stream_query = CUDA_ERROR_LAUNCH_FAILED;
  auto legacy = shared(nullptr);
  EXPECT_FALSE(device_->read_back_shared(legacy, false).ok());
}

TEST_F(SharedBufferTest, PerThreadStreamsCannotBeReadFromOtherThreads) {
  EXPECT_TRUE(device_->may_share(launch_));
  launch_.per_thread_stream = true;
  EXPECT_FALSE(device_->may_share(launch_));
  launch_.per_thread_stream = false;
  launch_.stream = CU_STREAM_PER_THREAD;
  EXPECT_FALSE(device_->may_share(launch_));
  launch_.stream = nullptr;
  device_->measure_kernels(KernelTimes::running);
  EXPECT_FALSE(device_->may_share(launch_));
}

TEST_F(ArenaTest, RunningLaunchDoesNotDelayOthers) {
  const auto slow = launched(1);
  simulation_.over.clear();
  const auto quick = launched(2);
  for (const auto& [event, stream] : simulation_.recorded) {
    if (event == std::prev(simulation_.recorded.end())->first) simulation_.over.insert(event);
  }
  EXPECT_TRUE(quick->ready());
  EXPECT_FALSE(slow->ready());
  EXPECT_THAT(bytes_of(quick), Each(std::byte{2}));
  EXPECT_THAT(bytes_of(slow), Each(std::byte{1}));
}

TEST_F(ArenaTest, CopyInProgressDoesNotDelayLaunches) {
  const auto first = launched(1);
  simulation_.end_launches();
  std::future<std::unique_ptr<Buffer>> other;
  std::future_status status = std::future_status::timeout;
  simulation_.while_copying = [&] {
    other = std::async(std::launch::async, [&] { return allocate(); });
    status = other.wait_for(std::chrono::seconds(5));
  };
  EXPECT_TRUE(first->ready());
  EXPECT_EQ(status, std::future_status::ready) << "the launch waits for the copy";
  EXPECT_TRUE(is_zero(*other.get(), 1024));
}

TEST_F(ArenaTest, ArenaIsClearedAndReusedAfterItsLastReadback) {
  // Arenas grow, but a launch of this size always needs its own.
  constexpr std::size_t large = 8u << 20;
  auto first = launched(7, large);
  const auto second = launched(8, large);
  EXPECT_THAT(simulation_.allocated, ElementsAre(large, large));
  simulation_.end_launches();
  bytes_of(first);
  first.reset();
  const auto third = allocate(large);
  EXPECT_TRUE(is_zero(*third, large));
  EXPECT_THAT(simulation_.allocated, SizeIs(2)) << "the first arena's memory is reused";
}

TEST_F(ArenaTest, StreamsWaitUntilMemoryIsCleared) {
  simulation_.clearing_is_slow = true;
  const auto first = allocate();
  launch_.per_thread_stream = true;
  const auto second = allocate();
  EXPECT_THAT(simulation_.waiting, ElementsAre(CU_STREAM_LEGACY, CU_STREAM_PER_THREAD));
  simulation_.clearing_is_slow = false;
  const auto third = allocate();
  EXPECT_THAT(simulation_.waiting, SizeIs(2));
}

TEST_F(ArenaTest, ArenaIsAbandonedIfTheEndOfALaunchIsUnknown) {
  constexpr std::size_t large = 8u << 20;
  auto buffer = allocate(large);
  simulation_.record = CUDA_ERROR_INVALID_HANDLE;
  EXPECT_FALSE(device_->read_back(std::move(buffer), launch_).ok());
  simulation_.record = CUDA_SUCCESS;
  const auto other = launched(1, large);  // in another arena, which is open now
  const auto next = allocate(large);
  EXPECT_THAT(simulation_.allocated, SizeIs(3));
}

TEST_F(ArenaTest, UnusedPartDoesNotPreventReuse) {
  constexpr std::size_t large = 8u << 20;
  auto first = allocate(large);
  simulation_.record = CUDA_ERROR_INVALID_HANDLE;
  first.reset();
  simulation_.record = CUDA_SUCCESS;
  const auto second = allocate(large);
  const auto third = allocate(large);
  EXPECT_THAT(simulation_.allocated, SizeIs(2)) << "the first arena's memory was reused";
}

TEST_F(ArenaTest, RejectedCopyFailsTheReadback) {
  const auto readback = launched(1);
  simulation_.end_launches();
  simulation_.copy = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_TRUE(readback->ready()) << "no copy to wait for";
  EXPECT_FALSE(readback->wait().ok());
}

/// Launches variants whose counts may overflow.
class TimeBoundTest : public ArenaTest {
 protected:
  void SetUp() override {
    ArenaTest::SetUp();
    variant_ = load(true);
  }
  std::unique_ptr<Variant> load(bool wants_time_bound) {
    return std::move(*device_->load(".version 8.0", "k", launch_,
                                    {.may_wait_for_blocks = false, .wants_time_bound = wants_time_bound}));
  }
  std::unique_ptr<Readback> ran(float milliseconds, Variant& variant, std::size_t bytes = 1024) {
    auto buffer = allocate(bytes);
    simulation_.duration = milliseconds;
    EXPECT_TRUE(device_->launch(variant, launch_, {}, {}, *buffer).ok());
    return std::move(*device_->read_back(std::move(buffer), launch_));
  }

  std::unique_ptr<Variant> variant_;
};

TEST_F(TimeBoundTest, TimeInTheStreamIsNotTheLaunchs) {
  for (const bool is_per_thread : {false, true}) {
    launch_.per_thread_stream = is_per_thread;
    simulation_.clock += 5000;  // a kernel of the program
    std::vector<std::unique_ptr<Readback>> queue;
    for (int i = 0; i < 200; ++i) queue.push_back(ran(2, *variant_));
    queue.push_back(ran(2, *variant_, 8u << 20));  // in an arena of its own
    simulation_.end_launches();
    for (const auto& each : queue) EXPECT_EQ(each->max_milliseconds(), 2.0);
  }
}

TEST_F(TimeBoundTest, LongLaunchIsLong) {
  const auto first = ran(2, *variant_);
  const auto second = ran(5000, *variant_);
  const auto third = ran(2, *variant_);
  simulation_.end_launches();
  EXPECT_EQ(first->max_milliseconds(), 2.0);
  EXPECT_EQ(second->max_milliseconds(), 5000.0);
  EXPECT_EQ(third->max_milliseconds(), 2.0);
}

TEST_F(TimeBoundTest, IsKnownOnlyIfItIsWanted) {
  const auto unwanted = ran(2, *load(false));
  EXPECT_THAT(simulation_.programs_events(), SizeIs(1)) << "the end";
  EXPECT_EQ(unwanted->max_milliseconds(), std::nullopt);
  simulation_.record = CUDA_ERROR_INVALID_HANDLE;
  auto buffer = allocate();
  EXPECT_TRUE(device_->launch(*variant_, launch_, {}, {}, *buffer).ok());
  simulation_.record = CUDA_SUCCESS;
  const auto unknown = std::move(*device_->read_back(std::move(buffer), launch_));
  EXPECT_EQ(unknown->max_milliseconds(), std::nullopt);
}

TEST_F(TimeBoundTest, EventsAreReused) {
  const auto run_large = [&] {
    const auto readback = ran(2, *variant_, 8u << 20);
    simulation_.end_launches();
    EXPECT_TRUE(readback->wait().ok());
  };
  for (int i = 0; i < 10; ++i) run_large();
  const std::size_t events = simulation_.recorded.size();
  for (int i = 0; i < 100; ++i) run_large();
  EXPECT_EQ(simulation_.recorded.size(), events);
}

}  // namespace
}  // namespace lynxpp::device::cuda
