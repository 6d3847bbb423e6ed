// Kernels that nvcc compiled (tests/device_simt/ptx/kernels.cu): divergence, barriers, warps, atomics, calls,
// address spaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "device/cpu/simt/execute/device_output.h"
#include "kernel_fixture.h"
#include "support/text.h"

namespace lynxpp::device::cpu::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class Kernel : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    ASSERT_TRUE(read_file(LYNXPP_SOURCE_DIR "/tests/device_simt/ptx/kernels.ptx", text));
    Result<std::shared_ptr<LoadedModule>> loaded = load_module(text, "kernels.ptx");
    ASSERT_TRUE(loaded) << render(loaded.error().diagnostics);
    module_ = *loaded;
  }

  /// The failure's text; empty for success.
  template <typename... T>
  std::string launch(const std::string& kernel, LaunchShape shape, const T&... arguments) {
    return text_of(module_->launch(kernel, shape, Arguments(arguments...).bytes(), nullptr));
  }
  static LaunchShape blocks(std::uint32_t grid, std::uint32_t block, std::uint32_t shared = 0) {
    return {{grid, 1, 1}, {block, 1, 1}, shared};
  }

  std::shared_ptr<LoadedModule> module_;
};

TEST_F(Kernel, RunsLoopsWithDifferentTripCounts) {
  std::vector<int> out(300, -1);
  ASSERT_EQ(launch("loops", blocks(3, 100), out.data(), 100), "");
  for (int thread = 0; thread < 300; ++thread) {
    int sum = 0;
    for (int i = 0; i < thread % 37; ++i) {
      if (i & 1) continue;
      if (sum > 100) break;
      sum += i;
    }
    EXPECT_EQ(out[thread], sum) << thread;
  }
}

TEST_F(Kernel, RunsNestedBranchesAndEarlyReturns) {
  std::vector<int> out(70, 5);
  ASSERT_EQ(launch("nested", blocks(1, 70), out.data()), "");
  for (int t = 0; t < 70; ++t) {
    int r = 0;
    bool returned = false;
    if (t & 1) {
      r = t & 2 ? std::countl_zero(static_cast<unsigned>(t)) * 3 : t * t;
      if (t & 4) {
        returned = t > 20;
        r += 7;
      }
    } else {
      for (int i = 0; i < (t & 7); ++i) r += i & 2 ? t : 1;
    }
    EXPECT_EQ(out[t], returned ? -1 : r + 1) << t;
  }
}

TEST_F(Kernel, Switches) {
  std::vector<int> out(150);
  std::iota(out.begin(), out.end(), 1000);
  ASSERT_EQ(launch("select_case", blocks(1, 50), out.data()), "");
  for (int t = 0; t < 50; ++t) {
    const int expected[] = {1100 + t, t * 3,    t / 3, std::popcount(static_cast<unsigned>(t)),
                            t << 3,   t - 1000, 77};
    EXPECT_EQ(out[t], expected[t % 7]) << t;
  }
}

TEST_F(Kernel, ReducesBlocksOfEverySize) {
  for (const unsigned size : {1u, 31u, 32u, 33u, 96u, 1000u, 1024u}) {
    std::vector<unsigned> out(5);
    ASSERT_EQ(launch("reduce_block", blocks(5, size, size * 4), out.data()), "") << size;
    EXPECT_THAT(out, ::testing::Each(size * (size + 1) / 2)) << size;
  }
}

TEST_F(Kernel, CompletesABarrierThatExitedThreadsDoNotReach) {
  for (const int limit : {1, 20, 32, 40, 96}) {
    std::vector<int> out(128, -1);
    ASSERT_EQ(launch("leave_early", blocks(1, 128), out.data(), limit), "") << limit;
    for (int t = 0; t < 128; ++t) EXPECT_EQ(out[t], t < limit ? limit - 1 - t : -1);
  }
}

TEST_F(Kernel, ReducesPredicatesAtBarriers) {
  for (const int size : {1, 18, 40, 41, 100}) {
    std::vector<int> out(static_cast<std::size_t>(size) * 3);
    ASSERT_EQ(launch("vote_barrier", blocks(1, static_cast<unsigned>(size)), out.data()), "");
    for (int t = 0; t < size; ++t) {
      EXPECT_EQ(out[t * 3], (size + 2) / 3);
      EXPECT_EQ(out[t * 3 + 1] != 0, size > 17);
      EXPECT_EQ(out[t * 3 + 2] != 0, size <= 40);
    }
  }
}

TEST_F(Kernel, MultipliesTiles) {
  constexpr int n = 24;
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = static_cast<float>(i % 7) * 0.25f;
    b[i] = static_cast<float>(i % 5) - 2.0f;
  }
  ASSERT_EQ(launch("matmul", {{3, 3, 1}, {8, 8, 1}, 0}, c.data(), a.data(), b.data(), n), "");
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      float sum = 0;  // every product and sum is exact
      for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
      ASSERT_EQ(c[row * n + column], sum) << row << ", " << column;
    }
  }
}

TEST_F(Kernel, ShufflesWholeWarps) {
  std::vector<int> out(96);
  ASSERT_EQ(launch("warp_sum", blocks(1, 96), out.data()), "");
  for (int t = 0; t < 96; ++t) EXPECT_EQ(out[t], t / 32 * 32 * 32 + 496) << t;
}

TEST_F(Kernel, VotesInPartialWarps) {
  constexpr unsigned size = 45;
  std::vector<unsigned> out(size * 8);
  ASSERT_EQ(launch("warp_votes", blocks(1, size), out.data()), "");
  for (unsigned t = 0; t < size; ++t) {
    const unsigned begin = t / 32 * 32;
    const unsigned end = std::min(begin + 32, size);
    unsigned members = 0, thirds = 0, equal = 0, sum = 0;
    for (unsigned u = begin; u < end; ++u) {
      members |= 1u << (u - begin);
      thirds |= u % 3 == 0 ? 1u << (u - begin) : 0;
      equal |= u % 5 == t % 5 ? 1u << (u - begin) : 0;
      sum += u;
    }
    const unsigned* const o = &out[t * 8];
    EXPECT_EQ(o[0], members);
    EXPECT_EQ(o[1], thirds);
    EXPECT_EQ(o[2] != 0, begin == 0);
    EXPECT_EQ(o[3] != 0, end <= 33);
    EXPECT_EQ(o[4], equal);
    EXPECT_EQ(o[5], sum);
    EXPECT_EQ(o[6], t % 8 >= 3 ? t - 3 : t);
    EXPECT_EQ(static_cast<int>(o[7]), static_cast<int>(end) - 101);
  }
}

TEST_F(Kernel, AddsAtomicallyAcrossBlocks) {
  constexpr int threads = 20 * 64;
  std::vector<int> i = {0, 0, 0, 0, 0};
  std::vector<unsigned> u = {0, 0, 0, ~0u, 0};
  std::vector<std::uint64_t> l = {0, 7, 0};
  float f = 0;
  double d = 0;
  ASSERT_EQ(launch("atomics", blocks(20, 64), i.data(), u.data(), l.data(), &f, &d), "");
  EXPECT_EQ(i[0], threads * (threads - 1) / 2);
  EXPECT_EQ(i[1], -50);
  EXPECT_EQ(i[2], threads - 1);
  EXPECT_EQ(i[3], -2 * threads);
  EXPECT_EQ(i[4], threads);
  EXPECT_EQ(u[0], threads % 10);
  EXPECT_EQ(u[1], 6u - (threads - 1) % 7);
  EXPECT_EQ(u[2], ~0u);
  EXPECT_EQ(u[3], 0u);
  unsigned all = 0;
  for (unsigned t = 0; t < threads; ++t) all ^= t;
  EXPECT_EQ(u[4], all);
  EXPECT_EQ(l[0], static_cast<std::uint64_t>(threads) << 33);
  EXPECT_EQ(l[1], 8u);
  EXPECT_EQ(l[2], 42u);
  EXPECT_EQ(f, threads * 0.5f);
  EXPECT_EQ(d, threads * 0.25);
}

TEST_F(Kernel, Recurses) {
  std::vector<int> out(40);
  ASSERT_EQ(launch("recursion", blocks(1, 40), out.data()), "");
  const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (int t = 0; t < 40; ++t) EXPECT_EQ(out[t], fibonacci[t % 12]);
}

TEST_F(Kernel, CallsThroughVirtualTables) {
  std::vector<int> out(64);
  for (int t = 0; t < 64; ++t) out[t] = t / 3;
  ASSERT_EQ(launch("virtual_calls", blocks(1, 64), out.data()), "");
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], t / 3 % 2 == 0 ? t * t : 2 * t) << t;
}

TEST_F(Kernel, SuspendsAFunctionAtABarrier) {
  std::vector<int> out(200);
  ASSERT_EQ(launch("barrier_in_function", blocks(1, 200), out.data()), "");
  for (int t = 0; t < 200; ++t) EXPECT_EQ(out[t], (199 - t) * 2);
}

TEST_F(Kernel, PassesStructuresByValue) {
  struct Block {
    int words[12];
  } block;
  std::iota(std::begin(block.words), std::end(block.words), 3);
  std::vector<int> out(33);
  ASSERT_EQ(launch("structures", blocks(1, 33), block, out.data()), "");
  for (int t = 0; t < 33; ++t) {
    int sum = 0;
    for (int i = 0; i < 12; ++i) {
      const int at = (i + t) % 12;
      sum += (block.words[at] + (at == t % 12 ? 100 : 0)) * (i + 1);
    }
    EXPECT_EQ(out[t], sum) << t;
  }
}

TEST_F(Kernel, SharesVariablesWithTheHost) {
  int out[3] = {};
  const auto counter = module_->variable("counter");
  const auto coefficients = module_->variable("coefficients");
  ASSERT_TRUE(counter && coefficients);
  EXPECT_EQ(counter->bytes, 4u);
  EXPECT_EQ(coefficients->bytes, 16u);
  EXPECT_FALSE(module_->variable("nothing"));
  static_cast<int*>(coefficients->address)[0] = 11;
  ASSERT_EQ(launch("variables", blocks(1, 1), &out[0]), "");
  EXPECT_THAT(out, ::testing::ElementsAre(11, 5, 3));
  EXPECT_EQ(*static_cast<int*>(counter->address), 99);
}

TEST_F(Kernel, NumbersBlocksAndThreadsInThreeDimensions) {
  std::vector<unsigned> out(2 * 3 * 2 * 5 * 3 * 4);
  ASSERT_EQ(launch("grid3", {{2, 3, 2}, {5, 3, 4}, 0}, out.data()), "");
  std::size_t at = 0;
  for (unsigned block = 0; block < 12; ++block) {
    for (unsigned thread = 0; thread < 60; ++thread, ++at) {
      const unsigned expected = thread % 5 | thread / 5 % 3 << 4 | thread / 15 << 8 | block % 2 << 12 |
                                block / 2 % 3 << 16 | block / 6 << 20;
      ASSERT_EQ(out[at], expected) << at;
    }
  }
}

TEST_F(Kernel, MakesProgressUnderLocks) {
  int count = 0;
  ASSERT_EQ(launch("spin_lock", blocks(4, 96), &count), "");
  EXPECT_EQ(count, 4 * 96);
  count = 0;
  ASSERT_EQ(launch("naive_lock", blocks(1, 40), &count), "");
  EXPECT_EQ(count, 40);
}

TEST_F(Kernel, PrintsLikeTheDevice) {
  ::testing::internal::CaptureStdout();
  const std::string failed = launch("print", blocks(1, 2), std::uint64_t{0});
  device_output().flush();
  std::fflush(stdout);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "text -7  3.14|8   |123456789ab z%\n");
  EXPECT_EQ(failed, "");
}

TEST_F(Kernel, KnowsTheSpaceOfAnAddress) {
  std::vector<int> out = {0, 1, 2, 3, 3, 2, 1, 0};
  int global = 0;
  ASSERT_EQ(launch("spaces", blocks(1, 8), out.data(), &global), "");
  EXPECT_THAT(out, ::testing::ElementsAre(1, 2, 4, 8, 8, 4, 2, 1));
}

TEST_F(Kernel, ReportsFaultsWithTheirLine) {
  int index = 4;
  const std::string overrun = launch("shared_overrun", blocks(1, 1, 16), &index);
  EXPECT_THAT(overrun, StartsWith("kernels.ptx:"));
  EXPECT_THAT(overrun, HasSubstr("shared memory access out of range: address 0x10, the block has 16 bytes"));
  index = 3;
  EXPECT_EQ(launch("shared_overrun", blocks(1, 1, 16), &index), "");
  EXPECT_THAT(launch("null_store", blocks(1, 1), std::uint64_t{0}), HasSubstr("null pointer"));
  std::vector<int> out(32);
  EXPECT_THAT(launch("stop", blocks(1, 32), out.data()),
              HasSubstr("kernel 'stop': the kernel executed trap"));
  EXPECT_EQ(launch("stop", blocks(1, 5), out.data()), "");
}

TEST_F(Kernel, ReadsSpecialRegisters) {
  std::vector<unsigned> out(40 * 6);
  ASSERT_EQ(launch("registers_and_ids", blocks(1, 40, 100), out.data()), "");
  for (unsigned t = 0; t < 40; ++t) {
    const unsigned lane = t % 32;
    const unsigned* const o = &out[t * 6];
    EXPECT_EQ(o[0], lane);
    EXPECT_EQ(o[1], t / 32);
    EXPECT_EQ(o[2], (1u << lane) - 1);
    EXPECT_EQ(o[3], ~((1u << lane) - 1));
    EXPECT_EQ(o[4], 100u);
    EXPECT_LT(o[5], multiprocessors());
  }
}

TEST_F(Kernel, RefusesLaunchesThatCannotBe) {
  int out = 0;
  EXPECT_THAT(launch("nothing", blocks(1, 1), &out), HasSubstr("no kernel 'nothing'"));
  EXPECT_THAT(launch("nested", blocks(1, 1025), &out),
              HasSubstr("cannot be launched; the kernel takes 1 to 1024"));
  EXPECT_THAT(launch("nested", blocks(0, 1), &out), HasSubstr("cannot be launched"));
  EXPECT_THAT(launch("nested", blocks(1, 1)), HasSubstr("its parameters take 8 bytes, 0 were given"));
}

TEST_F(Kernel, IndexesArraysByRegisters) {
  const auto module = load(
      ".global .u32 squares[4] = {0, 1, 4, 9};\n"
      ".visible .entry k(.param .u64 out)\n{\n  .reg .b32 %r<6>;\n  .reg .b64 %rd<5>;\n  .reg .f64 %fd<2>;\n"
      "  .shared .b32 tile[8];\n  ld.param.u64 %rd1, [out];\n  mov.u32 %r1, %tid .x;\n"
      "  ld.global.u32 %r2, squares[%r1+1];\n  st.shared.u32 tile[%r1], %r2;\n  cvt.u64.u32 %rd2, %r1;\n"
      "  mov.u64 %rd3, squares[%rd2];\n  ld.global.u32 %r3, [%rd3];\n  ld.shared.u32 %r4, tile[%rd2];\n"
      "  mad.lo.u32 %r3, %r3, 100, %r4;\n  mov.f64 %fd1, 1.5*4.0+0d3FF0000000000000;\n"
      "  cvt.rni.u32.f64 %r5, %fd1;\n  mad.lo.u32 %r3, %r5, 10000, %r3;\n"
      "  shl.b64 %rd2, %rd2, 2;\n  add.u64 %rd1, %rd1, %rd2;\n  st.global.u32 [%rd1], %r3;\n  ret;\n}\n");
  ASSERT_TRUE(module);
  std::vector<std::uint32_t> out(3);
  ASSERT_EQ(text_of(module->launch("k", blocks(1, 3), Arguments(out.data()).bytes(), nullptr)), "");
  EXPECT_THAT(out, ::testing::ElementsAre(70001U, 70104U, 70409U));
}

TEST_F(Kernel, DescribesItself) {
  const auto names = module_->kernel_names();
  EXPECT_NE(std::find(names.begin(), names.end(), "matmul"), names.end());
  const Result<KernelInfo> info = module_->kernel("matmul");
  ASSERT_TRUE(info);
  ASSERT_EQ(info->parameters.size(), 4u);
  EXPECT_EQ(info->parameters[3].offset, 24u);
  EXPECT_EQ(info->parameters[3].bytes, 4u);
  EXPECT_EQ(info->parameter_bytes, 28u);
  EXPECT_EQ(info->static_shared_bytes, 512u);
  EXPECT_EQ(info->local_bytes, 0u);
}

/// ptxas refuses such modules; the host gives no more parameters, so none beyond them may be read.
TEST(Kernels, MoreMemoryThanAGpuHasIsRefused) {
  const auto launch_of = [](const std::string& body) {
    const auto module = load(body);
    return text_of(module->launch("k", {{1, 1, 1}, {1, 1, 1}, 0}, {}, nullptr));
  };
  const auto with_parameter = [&](const char* extent) {
    return launch_of(".visible .entry k(.param .align 4 .b8 p[" + std::string(extent) + "])\n{\n  ret;\n}\n");
  };
  EXPECT_THAT(with_parameter("32764"), HasSubstr("32764 bytes, 0 were given"));
  EXPECT_THAT(
      with_parameter("32768"),
      HasSubstr("test.ptx:4:1: error: kernel 'k' declares 32768 bytes of parameters; the limit is 32764"));
  EXPECT_THAT(with_parameter("4294967300"), HasSubstr("bytes of parameters; the limit is 32764"));
  EXPECT_THAT(
      launch_of(
          ".visible .entry k()\n{\n  .local .b8 a[4294967295];\n  .local .b8 b[4294967295];\n  ret;\n}\n"),
      HasSubstr("bytes of local memory; the limit is 524288"));
  EXPECT_THAT(
      launch_of(".shared .b64 a[72057594037927935];\n.shared .b64 b[72057594037927935];\n"
                ".visible .entry k()\n{\n  .reg .b64 %r;\n  mov.u64 %r, a;\n  mov.u64 %r, b;\n  ret;\n}\n"),
      HasSubstr("declares too much shared memory"));
}

/// A chain of calls is followed without recursion, each function looked up once.
/// Global memory flushes subnormal operands and sums of single precision, shared memory does not; NaN is
/// canonical in both. Values as measured on an H200.
TEST(Kernels, AddSingleFloatsAtomicallyAsTheMemoryDoes) {
  const auto module = load(R"(
.visible .entry add(.param .u64 out, .param .u32 old, .param .u32 value) {
  .reg .f32 %f<4>;
  .reg .u64 %a<4>;
  .reg .u32 %r<2>;
  .shared .align 4 .b8 tile[12];
  ld.param.u64 %a1, [out];
  ld.param.f32 %f1, [old];
  ld.param.f32 %f2, [value];
  st.global.f32 [%a1], %f1;
  st.global.f32 [%a1+4], %f1;
  st.global.f32 [%a1+8], %f1;
  st.global.f32 [%a1+12], %f1;
  mov.u32 %r1, tile;
  st.shared.f32 [%r1], %f1;
  st.shared.f32 [%r1+4], %f1;
  cvt.u64.u32 %a2, %r1;
  cvta.shared.u64 %a3, %a2;
  red.global.add.f32 [%a1], %f2;
  atom.add.f32 %f3, [%a1+4], %f2;
  red.global.add.v2.f32 [%a1+8], {%f2, %f2};
  atom.shared.add.f32 %f3, [%r1], %f2;
  red.add.f32 [%a3+4], %f2;
  ld.shared.f32 %f3, [%r1];
  st.global.f32 [%a1+16], %f3;
  ld.shared.f32 %f3, [%r1+4];
  st.global.f32 [%a1+20], %f3;
  ret;
}
)");
  constexpr std::uint32_t normal = 0x0080'0000, subnormal = 1, negative = 0x8000'0001, nan = 0xffff'ffff;
  struct Sum {
    std::uint32_t old, value, in_global, in_shared;
  };
  for (const Sum& sum :
       {Sum{normal, subnormal, normal, normal + 1}, Sum{subnormal, normal, normal, normal + 1},
        Sum{subnormal, 0, 0, subnormal}, Sum{negative, negative, 0x8000'0000, 0x8000'0002},
        Sum{normal, nan, 0x7fff'ffff, 0x7fff'ffff}}) {
    alignas(8) std::array<std::uint32_t, 6> out{};
    const Arguments arguments(out.data(), sum.old, sum.value);
    ASSERT_EQ(text_of(module->launch("add", {{1, 1, 1}, {1, 1, 1}}, arguments.bytes(), nullptr)), "");
    EXPECT_THAT(out, ::testing::ElementsAre(sum.in_global, sum.in_global, sum.in_global, sum.in_global,
                                            sum.in_shared, sum.in_shared))
        << sum.old << " + " << sum.value;
  }
}

TEST(Kernels, FollowsLongChainsOfCalls) {
  constexpr int functions = 20000;
  std::string body = ".func f0()\n{\n  ret;\n}\n";
  for (int i = 1; i < functions; ++i)
    body += ".func f" + std::to_string(i) + "()\n{\n  call f" + std::to_string(i - 1) + ";\n  ret;\n}\n";
  body += ".visible .entry k()\n{\n  call f" + std::to_string(functions - 1) + ";\n  ret;\n}\n";
  const Result<KernelInfo> info = load(body)->kernel("k");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->local_bytes, 0u);
}

/// Where cooperative groups keep the barriers of tiles of several warps: not the program's, zero when
/// a block begins.
TEST(Kernels, ReservedSharedMemoryIsNoneOfTheProgram) {
  const auto module = load(R"(
.extern .shared .align 4 .b8 own[];
.visible .entry test(.param .u64 out) {
  .reg .b32 %r<12>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %reserved_smem_offset_1;
  mov.u32 %r1, %reserved_smem_offset_end;
  mov.u32 %r2, %reserved_smem_offset_cap;
  sub.u32 %r1, %r1, %r0;
  sub.u32 %r2, %r2, %r0;
  ld.shared.u32 %r3, [%r0];
  mov.u32 %r4, 7;
  st.shared.u32 [%r0], %r4;
  st.shared.u32 [%r0+284], %r4;
  mov.u32 %r5, own;
  mov.u32 %r6, 9;
  st.shared.u32 [%r5+96], %r6;
  ld.shared.u32 %r7, [%r0];
  mov.u32 %r8, %total_smem_size;
  mov.u32 %r9, %ctaid.x;
  mul.wide.u32 %rd1, %r9, 20;
  add.s64 %rd0, %rd0, %rd1;
  st.global.u32 [%rd0], %r1;
  st.global.u32 [%rd0+4], %r2;
  st.global.u32 [%rd0+8], %r3;
  st.global.u32 [%rd0+12], %r7;
  st.global.u32 [%rd0+16], %r8;
  ret;
}
)");
  ASSERT_NE(module, nullptr);
  std::vector<std::uint32_t> out(20);
  ASSERT_EQ(
      text_of(module->launch("test", {{4, 1, 1}, {1, 1, 1}, 100}, Arguments(out.data()).bytes(), nullptr)),
      "");
  for (int block = 0; block < 4; ++block)
    EXPECT_EQ(std::vector(out.begin() + 5 * block, out.begin() + 5 * block + 5),
              (std::vector<std::uint32_t>{288, 1024, 0, 7, 100}));
}

}  // namespace
}  // namespace lynxpp::device::cpu::test
