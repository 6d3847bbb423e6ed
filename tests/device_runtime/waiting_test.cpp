// Blocks that wait for each other, and limits that running kernels obey.
#include <gmock/gmock.h>

#include "device/cpu/simt/execute/occupancy.h"
#include "tests/device_runtime/runtime_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

// meet:  every block waits for all others, `rounds` times, as in grid-wide barriers
// fill:  out[0] and out[1]: whether the heap provides 1000 and 2000 bytes; the former are freed
// sink:  calls itself `depth` times with a frame of 64 bytes
const char* const waiting_ptx = R"(.version 7.5
.target sm_75
.address_size 64

.extern .func (.param .b64 result) malloc(.param .b64 bytes);
.extern .func free(.param .b64 pointer);

.visible .entry meet(.param .u64 counter, .param .u32 rounds)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [counter];
  ld.param.u32 %r1, [rounds];
  mov.u32 %r2, %nctaid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, 0;
$round:
  add.u32 %r4, %r4, %r2;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra $joined;
  atom.global.add.u32 %r5, [%rd1], 1;
$spin:
  ld.volatile.global.u32 %r6, [%rd1];
  setp.lt.u32 %p2, %r6, %r4;
  @%p2 bra $spin;
$joined:
  bar.sync 0;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p3, %r1, 0;
  @%p3 bra $round;
  ret;
}

.visible .entry fill(.param .u64 out)
{
  .reg .pred %p<3>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [out];
  {
    .param .b64 bytes; .param .b64 result;
    st.param.b64 [bytes], 1000;
    call.uni (result), malloc, (bytes);
    ld.param.b64 %rd2, [result];
  }
  {
    .param .b64 bytes; .param .b64 result;
    st.param.b64 [bytes], 2000;
    call.uni (result), malloc, (bytes);
    ld.param.b64 %rd3, [result];
  }
  {
    .param .b64 pointer;
    st.param.b64 [pointer], %rd2;
    call.uni free, (pointer);
  }
  setp.ne.u64 %p1, %rd2, 0;
  setp.ne.u64 %p2, %rd3, 0;
  selp.u32 %r1, 1, 0, %p1;
  selp.u32 %r2, 1, 0, %p2;
  st.global.u32 [%rd1], %r1;
  st.global.u32 [%rd1+4], %r2;
  ret;
}

.func descend(.param .b32 left)
{
  .local .align 4 .b8 space[48];
  .reg .pred %p<2>;
  .reg .b32 %r<3>;
  ld.param.u32 %r1, [left];
  st.local.u32 [space], %r1;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra $end;
  sub.u32 %r2, %r1, 1;
  {
    .param .b32 next;
    st.param.b32 [next], %r2;
    call.uni descend, (next);
  }
$end:
  ret;
}

.visible .entry sink(.param .u32 depth)
{
  .reg .b32 %r<2>;
  ld.param.u32 %r1, [depth];
  {
    .param .b32 left;
    st.param.b32 [left], %r1;
    call.uni descend, (left);
  }
  ret;
}
)";

class WaitingTest : public RuntimeTest {
 protected:
  Program program_{waiting_ptx};
  const void* meet_ = program_.kernel("meet");
  const void* fill_ = program_.kernel("fill");
  const void* sink_ = program_.kernel("sink");

  cudaError_t sink(unsigned depth) {
    void* arguments[] = {&depth};
    const cudaError_t error = CUDA(cudaLaunchKernel)(sink_, 1, 32, arguments, 0, nullptr);
    return error != cudaSuccess ? error : CUDA(cudaDeviceSynchronize)();
  }
  std::vector<int> fill() {
    int* out = device_ints({-1, -1});
    void* arguments[] = {&out};
    EXPECT_EQ(CUDA(cudaLaunchKernel)(fill_, 1, 1, arguments, 0, nullptr), cudaSuccess);
    return host_ints(out, 2);
  }
  static std::size_t limit(cudaLimit which) {
    std::size_t value = 0;
    EXPECT_EQ(CUDA(cudaDeviceGetLimit)(&value, which), cudaSuccess);
    return value;
  }
};

TEST_F(WaitingTest, AllResidentBlocksMayWaitForEachOther) {
  int each = 0;
  ASSERT_EQ(CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor)(&each, meet_, 64, 0), cudaSuccess);
  EXPECT_EQ(each, 32);
  const unsigned blocks = static_cast<unsigned>(each) * multiprocessors();
  int* counter = device_ints({0});
  int rounds = 3;
  void* arguments[] = {&counter, &rounds};
  ASSERT_EQ(CUDA(cudaLaunchKernel)(meet_, blocks, 64, arguments, 0, nullptr), cudaSuccess);
  ASSERT_EQ(CUDA(cudaDeviceSynchronize)(), cudaSuccess);
  EXPECT_EQ(host_ints(counter, 1)[0], static_cast<int>(3 * blocks));
}

TEST_F(WaitingTest, HeapIsLimited) {
  EXPECT_EQ(limit(cudaLimitMallocHeapSize), std::size_t{8} << 20);
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitMallocHeapSize, 2500), cudaSuccess);
  EXPECT_EQ(limit(cudaLimitMallocHeapSize), 2500u);
  EXPECT_THAT(fill(), testing::ElementsAre(1, 0));
  EXPECT_THAT(fill(), testing::ElementsAre(1, 0)) << "the first launch freed its memory";
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitMallocHeapSize, 4000), cudaErrorInvalidValue)
      << "the size of a heap in use cannot change";
  EXPECT_EQ(limit(cudaLimitMallocHeapSize), 2500u);
  ASSERT_EQ(CUDA(cudaDeviceReset)(), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitMallocHeapSize, 3000), cudaSuccess);
  EXPECT_THAT(fill(), testing::ElementsAre(1, 1));
}

TEST_F(WaitingTest, StackIsLimited) {
  EXPECT_EQ(limit(cudaLimitStackSize), 1024u);
  EXPECT_EQ(sink(8), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitStackSize, 64 * 1024), cudaSuccess);
  EXPECT_EQ(limit(cudaLimitStackSize), 64u * 1024);
  EXPECT_EQ(sink(900), cudaSuccess);
  EXPECT_NE(sink(1200), cudaSuccess);
  ASSERT_EQ(CUDA(cudaDeviceReset)(), cudaSuccess);
  EXPECT_NE(sink(900), cudaSuccess) << "the default limit";
}

TEST_F(WaitingTest, LimitsOfUnsupportedFeaturesAreRejected) {
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitStackSize, std::size_t{1} << 20), cudaErrorInvalidValue);
  EXPECT_EQ(limit(cudaLimitStackSize), 1024u);
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitDevRuntimePendingLaunchCount, 16), cudaErrorUnsupportedLimit);
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitPersistingL2CacheSize, 16), cudaErrorUnsupportedLimit);
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitPrintfFifoSize, 5 << 20), cudaSuccess);
  EXPECT_EQ(limit(cudaLimitPrintfFifoSize), 5u << 20);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
