// shared_memory_profile: accesses to values from device memory while they are in shared memory (live ranges).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/cod/conformance_fixture.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

std::string specification() {
  std::ifstream file(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs/shared_memory_profile.cod");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A kernel with 4 bytes of `tile` for each thread at %r2, of `in` at %rd3, of `out` at %rd4; %r1 is %tid.x.
std::string kernel(const std::string& body) {
  return R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<5>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<9>;
  .shared .align 4 .b8 tile[4096];
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd5, %r1, 4;
  add.s64 %rd3, %rd1, %rd5;
  add.s64 %rd4, %rd2, %rd5;
  mov.u32 %r2, tile;
  mad.lo.u32 %r2, %r1, 4, %r2;
)" + body +
         "\n  ret;\n}\n";
}

constexpr Shape one_block = {{1, 1, 1}, {64, 1, 1}};

struct Ranges {
  double ranges = 0, accesses = 0, reused = 0;
  bool operator==(const Ranges&) const = default;
};

void PrintTo(const Ranges& of, std::ostream* out) {
  *out << of.ranges << " ranges with " << of.accesses << " accesses, " << of.reused << " reused";
}

Ranges ranges_in(const Measured& measured) {
  EXPECT_EQ(measured.failure, "");
  EXPECT_EQ(measured.dropped, 0u);
  double counted = 0;
  if (measured.counters.words)
    for (const auto& [word, count] : measured.counters.words->shared) counted += static_cast<double>(count);
  EXPECT_EQ(measured["arrays.accesses"], counted);
  EXPECT_EQ(measured["arrays.per_range"], measured["arrays.range_accesses"]);  // over the ranges
  return {measured["arrays.ranges"], measured["arrays.range_accesses"], measured["arrays.reused_ranges"]};
}

/// The same by replay and by probes.
Ranges ranges_of(const std::string& body, const Shape& shape = one_block) {
  const Ranges replayed = ranges_in(measure_module(specification(), shape, kernel(body)));
  for (const CountedWith& how :
       {CountedWith{}, CountedWith{.initial_in_block = 0}, CountedWith{.in_line = false}}) {
    const Measured probed = measure_module_with_probes(specification(), shape, kernel(body), how);
    EXPECT_EQ(ranges_in(probed), replayed) << body;
  }
  return replayed;
}

/// GMProf's Jacobi (section 7.3) in short: a word holds three values, one after the other.
std::string tiles(const std::string& use) {
  return R"(
  mov.u32 %r9, 0;
again:
  ld.global.u32 %r3, [%rd3];
  st.shared.u32 [%r2], %r3;
  bar.sync 0;)" +
         use + R"(
  st.global.u32 [%rd4], %r4;
  bar.sync 0;
  add.u32 %r9, %r9, 1;
  setp.lt.u32 %p1, %r9, 3;
  @%p1 bra again;)";
}

TEST(Ranges, AValuePerTileIsUsedOnce) {
  const std::string body = tiles("ld.shared.u32 %r4, [%r2];");
  const Shape shape{{2, 1, 1}, {64, 1, 1}};
  EXPECT_EQ(ranges_of(body, shape), (Ranges{3 * 2 * 64, 2 * 3 * 2 * 64, 0}));
}

TEST(Ranges, AValuePerTileIsUsedTwice) {
  const std::string body = tiles("ld.shared.u32 %r4, [%r2];\n ld.shared.u32 %r5, [%r2];");
  const Shape shape{{2, 1, 1}, {64, 1, 1}};
  EXPECT_EQ(ranges_of(body, shape), (Ranges{3 * 2 * 64, 3 * 3 * 2 * 64, 3 * 2 * 64}));
}

TEST(Ranges, ComputedDataHaveNone) {
  EXPECT_EQ(ranges_of(R"(
  st.shared.u32 [%r2], %r1;
  bar.sync 0;
  ld.shared.u32 %r4, [%r2];
  st.global.u32 [%rd4], %r4;)"),
            (Ranges{0, 0, 0}));
}

/// All accesses to words that hold values from device memory count, and none to the others.
TEST(Ranges, OtherWordsOfTheArrayDoNotCount) {
  EXPECT_EQ(ranges_of(R"(
  st.shared.u32 [%r2], %r1;
  bar.sync 0;
  ld.shared.u32 %r4, [%r2];
  setp.lt.u32 %p1, %r1, 8;
  @%p1 ld.global.u32 %r3, [%rd3];
  @%p1 st.shared.u32 [%r2], %r3;)"),
            (Ranges{8, 24, 8}));
}

TEST(Ranges, IntermediateResultsStayInTheRange) {
  EXPECT_EQ(ranges_of(R"(
  ld.global.u32 %r3, [%rd3];
  st.shared.u32 [%r2], %r3;
  bar.sync 0;
  ld.shared.u32 %r4, [%r2];
  add.u32 %r4, %r4, 1;
  st.shared.u32 [%r2], %r4;
  bar.sync 0;
  ld.shared.u32 %r5, [%r2];
  st.global.u32 [%rd4], %r5;)"),
            (Ranges{64, 256, 64}));
}

TEST(Ranges, AtomicsThatUpdateAWordBeginNone) {
  EXPECT_EQ(ranges_of(R"(
  ld.global.u32 %r3, [%rd3];
  atom.shared.add.u32 %r4, [%r2], %r3;)"),
            (Ranges{0, 0, 0}));
  EXPECT_EQ(ranges_of(R"(
  ld.global.u32 %r3, [%rd3];
  atom.shared.exch.b32 %r4, [%r2], %r3;)"),
            (Ranges{64, 64, 0}));
}

/// The address is known only at the access.
TEST(Ranges, AddressesFromMemoryAreFollowed) {
  EXPECT_EQ(ranges_of(R"(
  ld.global.u32 %r3, [%rd3];
  and.b32 %r5, %r3, 4;
  add.u32 %r5, %r5, %r2;
  st.shared.u32 [%r5], %r3;
  ld.shared.u32 %r4, [%r5];
  ld.shared.u32 %r4, [%r5];)"),
            (Ranges{64, 192, 64}));
}

TEST(Ranges, VectorsBytesAndGenericAddressesAreSupported) {
  EXPECT_EQ(ranges_of(R"(
  setp.gt.u32 %p1, %r1, 0;
  @%p1 bra over;
  ld.global.v2.u32 {%r3, %r4}, [%rd1];
  st.shared.v2.u32 [tile+64], {%r3, %r4};
  st.shared.u8 [tile+65], %r3;
  ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%rd1];
  st.shared.v4.u32 [tile+128], {%r6, %r7, %r8, %r9};
  mov.u64 %rd6, tile;
  cvta.shared.u64 %rd7, %rd6;
  st.u32 [%rd7+256], %r4;
  ld.u32 %r5, [%rd7+128];
  ld.u32 %r5, [%rd7+128];
  st.global.u32 [%rd2], %r5;
over:)"),
            (Ranges{8, 10, 1}));
}

TEST(Ranges, NeedExactCounts) {
  const std::string body = tiles("ld.shared.u32 %r4, [%r2];");
  for (const char* scheme : {"threshold=2", "plain", "sample=2"}) {
    const Measured measured =
        measure_module_with_probes(specification(), one_block, kernel(body), {.scheme = scheme});
    EXPECT_EQ(measured.failure, "") << scheme;
    EXPECT_THAT(measured.results, Contains(Key("arrays.accesses"))) << scheme;
    EXPECT_THAT(measured.results, Not(Contains(Key("arrays.ranges")))) << scheme;
  }
}

TEST(Ranges, ArraysMustBeOfSharedWords) {
  const auto errors = [](const std::string& arguments) {
    return errors_of(
        "global unsigned long words[SHARED_WORDS];\nglobal unsigned int ranges[SHARED_WORDS];\n"
        "global unsigned int device[DEVICE_WORDS];\nglobal unsigned int other[BLOCKS];\n"
        "ON_REPORT: { emitWords(" +
        arguments + "); }");
  };
  EXPECT_EQ(errors("\"a\", words, \"accesses\", ranges"), "");
  EXPECT_THAT(errors("\"a\", words, \"accesses\", device"), HasSubstr("only in shared memory"));
  EXPECT_THAT(errors("\"a\", device, \"accesses\", ranges"), HasSubstr("only in shared memory"));
  EXPECT_THAT(errors("\"a\", words, \"accesses\", other"), HasSubstr("SHARED_WORDS or DEVICE_WORDS"));
}

/// Filters by transfer in handlers, on the device and in the report.
TEST(Ranges, TransferLabelsFilter) {
  const Measured measured = measure_module(R"(
    global unsigned long stores;
    global unsigned long loads;
    global unsigned long asked;
    ON_INSTRUCTION: MEM_WRITE: TRANSFER_IN: { stores++; }
    ON_INSTRUCTION: MEM_READ: SHARED: TRANSFER_OUT: { loads++; }
    ON_INSTRUCTION: MEM_WRITE: { if (instructionIs(TRANSFER_OUT)) atomicAdd(&asked, 1); }
    ON_REPORT: {
      unsigned long ends = 0;
      for (unsigned long i = 0; i < INSTRUCTIONS; ++i)
        ends += instructionIs(i, TRANSFER_IN) + 100 * instructionIs(i, TRANSFER_OUT);
      emit("stores", stores);
      emit("loads", loads);
      emit("asked", asked);
      emit("ends", ends);
    })",
                                           one_block, kernel(R"(
  ld.global.u32 %r3, [%rd3];
  st.shared.u32 [%r2], %r3;
  st.shared.u32 [%r2+512], %r1;
  ld.shared.u32 %r4, [%r2];
  ld.shared.u32 %r5, [%r2];
  st.global.u32 [%rd4], %r4;
  st.global.u32 [%rd4], %r1;)"));
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["stores"], 64);
  EXPECT_EQ(measured["loads"], 64);
  EXPECT_EQ(measured["asked"], 64);
  EXPECT_EQ(measured["ends"], 202);
}

}  // namespace
}  // namespace lynxpp::cod
