// Words of accesses that traverse memory in equal steps match the device's counts, for any steps and any exit
// from the loop.
#include <gtest/gtest.h>

#include "tests/cod/conformance_fixture.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

using Counts = std::map<std::uint64_t, std::uint64_t>;

/// The body of a loop that continues while %p_again holds. `in` contains 5 everywhere, which the code does
/// not know: %r_trips is 5 to 9, %rd_five is 5, %rd_at an address in `in` that depends on it, %rd_low an
/// address 100 words lower.
std::string kernel(const std::string& before, const std::string& body, const std::string& behind = {}) {
  return R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {
  .reg .pred %p<8>, %p_again;
  .reg .b32 %r<16>, %r_trips;
  .reg .b64 %rd<32>, %rd_at, %rd_low, %rd_five, %rd_in, %rd_out;
  .reg .f32 %f<8>;
  ld.param.u64 %rd_in, [in];
  cvta.to.global.u64 %rd_in, %rd_in;
  ld.param.u64 %rd_out, [out];
  cvta.to.global.u64 %rd_out, %rd_out;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r3, %r2, 32, %r1;
  mul.wide.u32 %rd1, %r3, 4;
  add.s64 %rd2, %rd_in, %rd1;
  add.s64 %rd_out, %rd_out, %rd1;
  ld.global.u32 %r4, [%rd2];
  rem.u32 %r5, %r3, 5;
  add.u32 %r_trips, %r4, %r5;
  cvt.u64.u32 %rd_five, %r4;
  mul.lo.s64 %rd3, %rd_five, 80;
  rem.u32 %r6, %r3, 64;
  mul.wide.u32 %rd4, %r6, 16;
  add.s64 %rd_low, %rd_in, %rd4;
  add.s64 %rd_at, %rd_low, %rd3;
  mov.u32 %r10, 0;
)" + before +
         R"(
again:
)" + body +
         R"(
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p_again, %r10, %r_trips;
  @%p_again bra again;
)" + behind +
         R"(
  st.global.u32 [%rd_out], %r_trips;
  ret;
}
)";
}

struct Case {
  const char* name;
  std::string module;
};

/// The body ends after the loop's branch, without a return instruction.
std::string without_end(std::string module) {
  const std::size_t store = module.rfind("  st.global.u32 [%rd_out]");
  return module.erase(store, module.rfind('}') - store);
}

const std::vector<Case> cases = {
    {"words", kernel("", R"(
  ld.global.f32 %f1, [%rd_at];
  add.s64 %rd_at, %rd_at, 4;)")},
    {"downwards", kernel("", R"(
  ld.global.f32 %f1, [%rd_at+4];
  add.s64 %rd_at, %rd_at, -4;)")},
    {"four_at_once", kernel("", R"(
  ld.global.f32 %f1, [%rd_at+-8];
  ld.global.f32 %f2, [%rd_at+-4];
  ld.global.f32 %f3, [%rd_at];
  ld.global.f32 %f4, [%rd_at+4];
  add.s64 %rd_at, %rd_at, 16;)")},
    {"in_another_order", kernel("", R"(
  ld.global.f32 %f1, [%rd_at+4];
  ld.global.f32 %f2, [%rd_at];
  add.s64 %rd_at, %rd_at, 8;)")},
    {"overlapping", kernel("", R"(
  ld.global.f32 %f1, [%rd_at];
  ld.global.f32 %f2, [%rd_at+4];
  ld.global.f32 %f3, [%rd_at+8];
  add.s64 %rd_at, %rd_at, 4;)")},
    {"distance_found_out", kernel("mul.lo.s64 %rd5, %rd_five, 4;", R"(
  ld.global.f32 %f1, [%rd_low];
  add.s64 %rd_low, %rd_low, %rd5;)")},
    {"distance_found_out_is_a_word", kernel("sub.s64 %rd5, %rd_five, 1;", R"(
  ld.global.f32 %f1, [%rd_low];
  add.s64 %rd_low, %rd_low, %rd5;)")},
    {"distance_found_out_is_none", kernel("sub.s64 %rd5, %rd_five, 5;", R"(
  ld.global.f32 %f1, [%rd_low];
  add.s64 %rd_low, %rd_low, %rd5;)")},
    {"distance_found_out_downwards", kernel("mul.lo.s64 %rd5, %rd_five, -8;", R"(
  ld.global.f32 %f1, [%rd_at];
  add.s64 %rd_at, %rd_at, %rd5;)")},
    {"distance_of_two", kernel("mul.lo.s64 %rd5, %rd_five, 4;", R"(
  ld.global.f32 %f1, [%rd_low];
  add.s64 %rd6, %rd_low, %rd5;
  ld.global.f32 %f2, [%rd6];
  add.s64 %rd_low, %rd6, %rd5;)")},
    {"one_iteration", kernel("mov.u32 %r_trips, 1; mul.lo.s64 %rd5, %rd_five, 4;", R"(
  ld.global.f32 %f1, [%rd_at];
  add.s64 %rd_at, %rd_at, %rd5;
  ld.global.f32 %f2, [%rd_low];
  add.s64 %rd6, %rd_low, %rd5;
  ld.global.f32 %f3, [%rd6];
  add.s64 %rd_low, %rd6, %rd5;)")},
    {"several_distances", kernel("mul.lo.s64 %rd5, %rd_five, 4;", R"(
  ld.global.f32 %f1, [%rd_low];
  add.s64 %rd_low, %rd_low, %rd5;
  ld.global.f32 %f2, [%rd_at];
  add.s64 %rd_at, %rd_at, 12;)")},
    {"pairs", kernel("", R"(
  ld.global.v2.f32 {%f1, %f2}, [%rd_at];
  add.s64 %rd_at, %rd_at, 8;
  ld.global.u64 %rd6, [%rd_low];
  add.s64 %rd_low, %rd_low, 16;)")},
    {"fours", kernel("", R"(
  ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd_at];
  add.s64 %rd_at, %rd_at, 16;)")},
    {"one_place", kernel("", R"(
  ld.global.f32 %f1, [%rd_at];
  ld.global.v2.f32 {%f2, %f3}, [%rd_low];)")},
    {"left_in_the_middle", kernel("", R"(
  ld.global.f32 %f1, [%rd_at];
  setp.eq.u32 %p1, %r10, %r5;
  @%p1 ret;
  ld.global.f32 %f2, [%rd_low];
  add.s64 %rd_at, %rd_at, 4;
  add.s64 %rd_low, %rd_low, 4;)")},
    {"with_two_exits", kernel("", R"(
  ld.global.f32 %f1, [%rd_at];
  add.s64 %rd_at, %rd_at, 4;
  setp.eq.u32 %p1, %r10, %r5;
  @%p1 bra done;
  ld.global.f32 %f2, [%rd_low];
  add.s64 %rd_low, %rd_low, 8;)",
                              "done:")},
    {"in_a_loop_of_loops", kernel("mov.u32 %r12, 0;\nouter:\nmov.u32 %r10, 0;", R"(
  ld.global.f32 %f1, [%rd_at];
  add.s64 %rd_at, %rd_at, 4;)",
                                  R"(
  add.u32 %r12, %r12, 1;
  setp.lt.u32 %p2, %r12, %r4;
  @%p2 bra outer;)")},
    {"guarded_beside", kernel("", R"(
  setp.lt.u32 %p1, %r10, 3;
  @%p1 ld.global.f32 %f1, [%rd_at];
  ld.global.f32 %f2, [%rd_at];
  add.s64 %rd_at, %rd_at, 4;)")},
    {"off_the_end", without_end(kernel("", R"(
  ld.global.f32 %f1, [%rd_at];
  add.s64 %rd_at, %rd_at, 4;)"))},
};

/// Elements that are not zero.
Counts counts_of(const std::vector<std::uint64_t>& words) {
  Counts counts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != 0) counts[i] = words[i];
  }
  return counts;
}

std::string counting(const char* type) {
  return "global unsigned " + std::string(type) +
         " words[DEVICE_WORDS];\nON_INSTRUCTION: MEM_READ: MEM_WRITE: GLOBAL: { countWords(words); }\n";
}

constexpr Shape shape = {{64, 1, 1}, {32, 1, 1}};

/// Inline counters with and without contiguous counts for the accessed words.
class StridedWords : public testing::TestWithParam<std::uint64_t> {};

TEST_P(StridedWords, MatchTheDevicesCounts) {
  const CountedWith how{.bytes_in_window = GetParam()};
  for (const auto& [name, module] : cases) {
    const Measured wide = measure_module_with_probes(counting("long"), shape, module, how);
    ASSERT_EQ(wide.failure, "") << name;
    EXPECT_FALSE(wide.device_words.empty());
    EXPECT_EQ(counts_of(wide.arrays[0]), wide.device_words) << name;
    EXPECT_EQ(wide.dropped, 0u);
    const Measured narrow = measure_module_with_probes(counting("int"), shape, module, how);
    ASSERT_EQ(narrow.failure, "") << name;
    Counts halves;
    for (const auto& [i, both] : counts_of(narrow.arrays[0])) {
      if ((both & 0xffffffff) != 0) halves[2 * i] = both & 0xffffffff;
      if (both >> 32 != 0) halves[2 * i + 1] = both >> 32;
    }
    EXPECT_EQ(halves, narrow.device_words) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(BytesInWindow, StridedWords, testing::Values(0, ~std::uint64_t{0}),
                         [](const auto& each) { return std::string(each.param == 0 ? "none" : "all"); });

TEST(StridedWordsOfGrids, SupportThreeDimensions) {
  const Measured measured =
      measure_module_with_probes(counting("long"), {{4, 3, 2}, {8, 2, 4}}, cases[0].module, {});
  ASSERT_EQ(measured.failure, "");
  EXPECT_FALSE(measured.device_words.empty());
  EXPECT_EQ(counts_of(measured.arrays[0]), measured.device_words);
}

/// Each specification has its own counts.
TEST(StridedWordsOfTwoSpecifications, AreSeparate) {
  const std::string source = counting("long");
  const std::vector<Measured> measured =
      measure_together({source, source}, {{3, 1, 1}, {45, 1, 1}}, "divergent");
  for (const Measured& each : measured) {
    ASSERT_EQ(each.failure, "");
    EXPECT_EQ(counts_of(each.arrays[0]), each.device_words);
  }
}

}  // namespace
}  // namespace lynxpp::cod
