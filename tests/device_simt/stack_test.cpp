// Dynamic stack allocation in functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/device_simt/kernel_fixture.h"

namespace lynxpp::device::cpu::test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint32_t threads = 64;

std::string run(const std::string& body, std::vector<std::uint32_t>& out) {
  out.assign(threads, 0);
  const auto module = load(body);
  const Arguments arguments(reinterpret_cast<std::uint64_t>(out.data()));
  return text_of(module->launch("test", {{1, 1, 1}, {threads, 1, 1}, 0}, arguments.bytes(), nullptr));
}

constexpr const char* prologue = R"(
  .reg .pred %p<4>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<20>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd1, %rd1, %rd2;
)";

/// Each lane allocates a different number of bytes, fills them, calls a function that does the same, and sums
/// what it has written.
TEST(Stack, LanesAndCalleesKeepTheirOwnMemory) {
  std::vector<std::uint32_t> out;
  EXPECT_EQ(run(std::string(R"(
.func fill(.reg .u32 count, .reg .u32 value)
{
  .reg .pred %p;
  .reg .b32 %i;
  .reg .b64 %rd<4>;
  mul.wide.u32 %rd1, count, 4;
  alloca.u64 %rd2, %rd1;
  mov.u32 %i, 0;
$L_fill:
  st.local.u32 [%rd2], value;
  add.u64 %rd2, %rd2, 4;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, count;
  @%p bra $L_fill;
  ret;
}
.visible .entry test(.param .u64 out)
{)") + prologue + R"(
  and.b32 %r2, %r1, 7;
  add.u32 %r2, %r2, 1;
  mul.wide.u32 %rd3, %r2, 4;
  alloca.u64 %rd4, %rd3, 16;
  and.b64 %rd5, %rd4, 15;
  mov.u64 %rd6, %rd4;
  mov.u32 %r3, 0;
$L_store:
  mad.lo.u32 %r4, %r1, 100, %r3;
  st.local.u32 [%rd6], %r4;
  add.u64 %rd6, %rd6, 4;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, %r2;
  @%p1 bra $L_store;
  mov.u32 %r5, 4096;
  call.uni fill, (%r2, %r5);
  mov.u32 %r6, 0;
  cvt.u32.u64 %r6, %rd5;
  mul.lo.u32 %r6, %r6, 1000000;
  mov.u32 %r3, 0;
  mov.u64 %rd6, %rd4;
$L_sum:
  ld.local.u32 %r7, [%rd6];
  add.u32 %r6, %r6, %r7;
  add.u64 %rd6, %rd6, 4;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, %r2;
  @%p1 bra $L_sum;
  st.global.u32 [%rd1], %r6;
  ret;
})",
                out),
            "");
  for (std::uint32_t i = 0; i < threads; ++i) {
    std::uint32_t sum = 0;
    for (std::uint32_t j = 0; j <= i % 8; ++j) sum += i * 100 + j;
    ASSERT_EQ(out[i], sum) << "thread " << i;
  }
}

/// 4096 rounds that allocate and release 256 bytes.
TEST(Stack, ReleasedMemoryIsReused) {
  std::vector<std::uint32_t> out;
  EXPECT_EQ(run(std::string(".visible .entry test(.param .u64 out)\n{") + prologue + R"(
  mov.u32 %r3, 0;
  mov.u32 %r6, 0;
$L_round:
  stacksave.u64 %rd3;
  alloca.u64 %rd4, 256;
  st.local.u32 [%rd4+252], %r3;
  ld.local.u32 %r7, [%rd4+252];
  add.u32 %r6, %r6, %r7;
  stackrestore.u64 %rd3;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p1, %r3, 4096;
  @%p1 bra $L_round;
  st.global.u32 [%rd1], %r6;
  ret;
})",
                out),
            "");
  for (std::uint32_t i = 0; i < threads; ++i) ASSERT_EQ(out[i], 4096u * 4095 / 2) << "thread " << i;
}

TEST(Stack, OverflowsAtItsLimit) {
  std::vector<std::uint32_t> out;
  EXPECT_THAT(run(std::string(".visible .entry test(.param .u64 out)\n{") + prologue + R"(
  mov.u64 %rd3, 1073741824;
  alloca.u64 %rd4, %rd3;
  ret;
})",
                  out),
              HasSubstr("stack overflow: alloca extends the stack to 1073741824 bytes, past the "));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
