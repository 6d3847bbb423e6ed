// Launches and copies that are pending after the call returns, and their order.
#include <gmock/gmock.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "device/cpu/simt/execute/launch_control.h"
#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

// await: waits until the flag is not 0, then adds `value` to *out
const char* const order_ptx = R"(.version 7.5
.target sm_75
.address_size 64

.visible .entry await(.param .u64 flag, .param .u64 out, .param .u32 value)
{
  .reg .pred %p<2>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [value];
$wait:
  ld.volatile.global.u32 %r2, [%rd1];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra $wait;
  ld.global.u32 %r3, [%rd2];
  add.u32 %r4, %r3, %r1;
  st.global.u32 [%rd2], %r4;
  ret;
}
)";

/// Captures stderr while it lives.
class Listener {
 public:
  Listener() : stderr_(dup(STDERR_FILENO)) {
    EXPECT_EQ(pipe(ends_), 0);
    EXPECT_GE(dup2(ends_[1], STDERR_FILENO), 0);
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener() {
    EXPECT_GE(dup2(stderr_, STDERR_FILENO), 0);
    for (const int file : {stderr_, ends_[0], ends_[1]}) close(file);
  }

  std::string line() const {
    std::string text;
    for (char next = 0; read(ends_[0], &next, 1) == 1 && next != '\n';) text += next;
    return text;
  }

 private:
  int stderr_;
  int ends_[2] = {};
};

class OrderTest : public RuntimeTest {
 protected:
  OrderTest() {
    EXPECT_EQ(CUDA(cudaHostAlloc)(reinterpret_cast<void**>(&flag_), sizeof *flag_, 0), cudaSuccess);
    EXPECT_EQ(CUDA(cudaHostAlloc)(reinterpret_cast<void**>(&pinned_), 16, 0), cudaSuccess);
    *flag_ = 0;
    std::memset(pinned_, 0, 16);
    out_ = device_ints({10});
    for (cudaStream_t* stream : {&stream_, &other_})
      EXPECT_EQ(CUDA(cudaStreamCreateWithFlags)(stream, cudaStreamNonBlocking), cudaSuccess);
  }
  ~OrderTest() override { open(); }

  cudaError_t await(cudaStream_t stream, unsigned value, int* flag, int* out) {
    void* arguments[] = {&flag, &out, &value};
    return CUDA(cudaLaunchKernel)(await_, 1, 1, arguments, 0, stream);
  }
  cudaError_t await(cudaStream_t stream, unsigned value = 1) { return await(stream, value, flag_, out_); }
  /// Releases the waiting kernels.
  void open() { std::atomic_ref(*flag_).store(1); }

  Program program_{order_ptx};
  const void* await_ = program_.kernel("await");
  int* flag_ = nullptr;
  int* pinned_ = nullptr;
  int* out_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaStream_t other_ = nullptr;
};

TEST_F(OrderTest, KernelMayWaitForTheHost) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(CUDA(cudaEventCreate)(&event), cudaSuccess);
  ASSERT_EQ(await(stream_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventRecord)(event, stream_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamQuery)(stream_), cudaErrorNotReady);
  EXPECT_EQ(CUDA(cudaEventQuery)(event), cudaErrorNotReady);
  float milliseconds = 0;
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, event, event), cudaErrorNotReady);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(other_), cudaSuccess) << "the other stream is independent";
  open();
  EXPECT_EQ(CUDA(cudaEventSynchronize)(event), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaStreamQuery)(stream_), cudaSuccess);
  EXPECT_EQ(host_ints(out_, 1)[0], 11);
}

TEST_F(OrderTest, StreamKeepsItsOrder) {
  std::vector<int> seen;
  struct Call {
    std::vector<int>* seen;
    const int* pinned;
  } call{&seen, pinned_};
  unsigned value = 5;
  int* out = out_;
  void* arguments[] = {&flag_, &out, &value};
  ASSERT_EQ(CUDA(cudaLaunchKernel)(await_, 1, 1, arguments, 0, stream_), cudaSuccess);
  value = 7;  // launches use the parameters' values at the call
  out = nullptr;
  ASSERT_EQ(CUDA(cudaMemcpyAsync)(pinned_, out_, 4, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  const auto note = [](void* data) {
    auto* to = static_cast<Call*>(data);
    to->seen->push_back(*to->pinned);
  };
  ASSERT_EQ(CUDA(cudaLaunchHostFunc)(stream_, note, &call), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemsetAsync)(out_, 0, 4, stream_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemcpyAsync)(pinned_, out_, 4, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaLaunchHostFunc)(stream_, note, &call), cudaSuccess);
  EXPECT_THAT(seen, testing::IsEmpty());
  open();
  ASSERT_EQ(CUDA(cudaStreamSynchronize)(stream_), cudaSuccess);
  EXPECT_THAT(seen, testing::ElementsAre(15, 0));
}

TEST_F(OrderTest, EventsOrderStreamsAndTheDefaultStreamOrdersBlockingOnes) {
  cudaStream_t blocking = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&blocking), cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventCreateWithFlags)(&event, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(await(stream_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaEventRecord)(event, stream_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamWaitEvent)(blocking, event, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemcpyAsync)(pinned_, out_, 4, cudaMemcpyDeviceToHost, blocking), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemsetAsync)(out_, 0, 4, nullptr), cudaSuccess) << "waits for the work in `blocking`";
  ASSERT_EQ(CUDA(cudaMemcpyAsync)(pinned_ + 1, out_, 4, cudaMemcpyDeviceToHost, blocking), cudaSuccess);
  pinned_[2] = 99;
  ASSERT_EQ(CUDA(cudaMemcpyAsync)(pinned_ + 3, pinned_ + 2, 4, cudaMemcpyHostToHost, other_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamSynchronize)(other_), cudaSuccess);
  EXPECT_EQ(pinned_[3], 99) << "independent";
  EXPECT_EQ(pinned_[0], 0);
  open();
  ASSERT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(pinned_[0], 11);
  EXPECT_EQ(pinned_[1], 0);
}

TEST_F(OrderTest, PageableMemoryIsReadBeforeTheCallReturns) {
  ASSERT_EQ(await(stream_), cudaSuccess);
  int value = 77;
  ASSERT_EQ(CUDA(cudaMemcpyAsync)(out_, &value, 4, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  value = 78;
  open();
  ASSERT_EQ(CUDA(cudaMemcpyAsync)(&value, out_, 4, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  EXPECT_EQ(value, 77) << "a copy to pageable memory completes before the call returns";
}

TEST_F(OrderTest, MemoryIsFreedInTheStreamsOrder) {
  std::size_t before = 0, meanwhile = 0, after = 0, total = 0;
  ASSERT_EQ(CUDA(cudaMemGetInfo)(&before, &total), cudaSuccess);
  ASSERT_EQ(await(stream_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaFreeAsync)(out_, stream_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeAsync)(out_, stream_), cudaErrorInvalidValue) << "the free is pending";
  ASSERT_EQ(CUDA(cudaMemGetInfo)(&meanwhile, &total), cudaSuccess);
  EXPECT_EQ(meanwhile, before);
  open();
  ASSERT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  ASSERT_EQ(CUDA(cudaMemGetInfo)(&after, &total), cudaSuccess);
  EXPECT_EQ(after, before + 4);
}

TEST_F(OrderTest, PendingFreesMakeRoom) {
  std::size_t free = 0, total = 0;
  ASSERT_EQ(CUDA(cudaMemGetInfo)(&free, &total), cudaSuccess);
  void* first = nullptr;
  void* second = nullptr;
  if (CUDA(cudaMallocAsync)(&first, free / 5 * 3, stream_) != cudaSuccess)
    GTEST_SKIP() << "the system does not overcommit memory";
  ASSERT_EQ(await(stream_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaFreeAsync)(first, stream_), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMalloc)(&second, free / 5 * 3), cudaErrorMemoryAllocation) << "cudaMalloc does not wait";
  std::thread opener([this] {
    // By now the call below has probably failed to find memory; otherwise it finds some at once.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    open();
  });
  EXPECT_EQ(CUDA(cudaMallocAsync)(&second, free / 5 * 3, other_), cudaSuccess);
  opener.join();
  EXPECT_EQ(CUDA(cudaFree)(second), cudaSuccess);
}

TEST_F(OrderTest, WorkAfterAFailedKernelIsSkipped) {
  Program program{test_ptx};
  ASSERT_EQ(await(stream_), cudaSuccess);
  ASSERT_EQ(CUDA(cudaLaunchKernel)(program.kernel("dies"), 1, 1, nullptr, 0, stream_), cudaSuccess);
  pinned_[0] = 5;
  ASSERT_EQ(CUDA(cudaMemcpyAsync)(pinned_, out_, 4, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
  cudaError_t told = cudaSuccess;
  const auto note = [](cudaStream_t, cudaError_t status, void* data) {
    *static_cast<cudaError_t*>(data) = status;
  };
  ASSERT_EQ(CUDA(cudaStreamAddCallback)(stream_, note, &told, 0), cudaSuccess);
  open();
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream_), cudaErrorLaunchFailure);
  EXPECT_EQ(pinned_[0], 5);
  EXPECT_EQ(told, cudaErrorLaunchFailure);
}

TEST_F(OrderTest, ResultsOfVariantsArriveWhenTheLaunchIsOver) {
  Launch launch;
  launch.stream = stream_;
  unsigned value = 1;
  void* arguments[] = {&flag_, &out_, &value};
  launch.parameters = arguments;
  auto variant = cpu_device().load(order_ptx, "await", launch, {});
  ASSERT_TRUE(variant.ok());
  auto buffer = cpu_device().allocate_zeroed(4, launch);
  ASSERT_TRUE(buffer.ok());
  auto* words = reinterpret_cast<int*>((*buffer)->address());
  arguments[1] = &words;
  const ParameterSlot slots[] = {{0, 8}, {8, 8}, {16, 4}};
  ASSERT_TRUE(cpu_device().launch(**variant, launch, slots, {}, **buffer).ok());
  variant->reset();
  auto readback = cpu_device().read_back(std::move(*buffer), launch);
  ASSERT_TRUE(readback.ok());
  EXPECT_FALSE((*readback)->ready());
  open();
  const auto bytes = (*readback)->wait();
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE((*readback)->ready());
  EXPECT_EQ(*reinterpret_cast<const int*>(bytes->data()), 1);
}

TEST_F(OrderTest, EndlessKernelIsNamed) {
  const Listener listener;
  first_running_report() = std::chrono::milliseconds(1);
  ASSERT_EQ(await(stream_), cudaSuccess);
  const std::string said = listener.line();
  open();
  EXPECT_EQ(CUDA(cudaStreamSynchronize)(stream_), cudaSuccess);
  first_running_report() = std::chrono::seconds(10);
  EXPECT_THAT(said, testing::HasSubstr("kernel await has been running for "));
  EXPECT_THAT(said, testing::HasSubstr(" s; block (0, 0, 0) is at <module of await>:"));
}

TEST_F(OrderTest, StreamAttributesAreKept) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreateWithPriority)(&stream, cudaStreamNonBlocking, -3), cudaSuccess);
  cudaLaunchAttributeValue value{};
  ASSERT_EQ(CUDA(cudaStreamGetAttribute)(stream, cudaLaunchAttributePriority, &value), cudaSuccess);
  EXPECT_EQ(value.priority, -3);
  value = {};
  value.accessPolicyWindow.num_bytes = 4096;
  ASSERT_EQ(CUDA(cudaStreamSetAttribute)(stream, cudaLaunchAttributeAccessPolicyWindow, &value), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamCopyAttributes)(stream_, stream), cudaSuccess);
  value = {};
  ASSERT_EQ(CUDA(cudaStreamGetAttribute)(stream_, cudaLaunchAttributeAccessPolicyWindow, &value),
            cudaSuccess);
  EXPECT_EQ(value.accessPolicyWindow.num_bytes, 4096u);
  EXPECT_EQ(CUDA(cudaStreamGetAttribute)(stream, cudaLaunchAttributeCooperative, &value),
            cudaErrorInvalidValue);
}

using OrderDeathTest = OrderTest;

TEST_F(OrderDeathTest, ProcessEndsDespiteAnEndlessKernel) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        await(stream_);
        await(stream_);
        finish_work(std::chrono::milliseconds(20));
        CUDA(cudaDeviceSynchronize)();
        std::exit(0);
      },
      testing::ExitedWithCode(0), "the program ends while the cpu device is still running");
}

TEST_F(OrderTest, CancelledThreadsLeaveCallsFirst) {
  static std::atomic<bool> may_end{false};
  may_end = false;
  ASSERT_EQ(CUDA(cudaLaunchHostFunc)(
                nullptr,
                [](void*) {
                  while (!may_end) std::this_thread::yield();
                },
                nullptr),
            cudaSuccess);
  pthread_t waiting{};
  const auto wait = [](void*) -> void* {
    static_cast<void>(CUDA(cudaDeviceSynchronize)());
    for (;;) pthread_testcancel();
  };
  ASSERT_EQ(pthread_create(&waiting, nullptr, wait, nullptr), 0);
  ASSERT_EQ(pthread_cancel(waiting), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // most likely, it waits inside the call now
  may_end = true;
  void* result = nullptr;
  ASSERT_EQ(pthread_join(waiting, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
