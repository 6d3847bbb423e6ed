// shared_memory_ranges: kernels with known ranges; no access is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>

#include "tests/cod/conformance_fixture.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string specification() {
  std::ifstream file(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs/shared_memory_ranges.cod");
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

struct Record {
  double block, begin, end, ending, words, accesses, least, greatest;
  bool operator==(const Record&) const = default;
};
constexpr double stored = 0, overwritten = 1, open_at_exit = 2;

void PrintTo(const Record& record, std::ostream* out) {
  *out << "block " << record.block << " from " << record.begin << " to " << record.end << " ending "
       << record.ending << " words " << record.words << " accesses " << record.accesses << " least "
       << record.least << " greatest " << record.greatest;
}

std::vector<Record> records_of(const Measured& measured) {
  const auto column = [&](const std::string& name) { return measured.results.at("arrays_records." + name); };
  std::vector<Record> records;
  for (std::size_t i = 0; i < column("block").size(); ++i) {
    records.push_back({column("block")[i], column("begin")[i], column("end")[i], column("ending")[i],
                       column("words")[i], column("accesses")[i], column("least")[i], column("greatest")[i]});
  }
  return records;
}

/// Runs the kernel; every access that the device counts belongs to a range or is outside of all ranges.
Measured ranges_of(const std::string& body, const Shape& shape = one_block,
                   const std::string& source = specification()) {
  Measured measured = measure_module(source, shape, kernel(body));
  EXPECT_EQ(measured.failure, "");
  EXPECT_EQ(measured.dropped, 0u);
  if (measured.failure.empty() && measured["dropped_ranges"] == 0) {
    double counted = 0;
    for (const auto& [word, count] : measured.counters.words->shared) counted += static_cast<double>(count);
    EXPECT_EQ(measured["arrays.accesses"] + measured["arrays.outside"], counted);
  }
  return measured;
}

TEST(Ranges, RepeatedLoadsAndStoresOfATileEndAsStored) {
  const Measured measured = ranges_of(R"(
  mov.u32 %r9, 0;
again:
  ld.global.u32 %r3, [%rd3];
  st.shared.u32 [%r2], %r3;
  bar.sync 0;
  ld.shared.u32 %r4, [%r2];
  st.global.u32 [%rd4], %r4;
  bar.sync 0;
  add.u32 %r9, %r9, 1;
  setp.lt.u32 %p1, %r9, 3;
  @%p1 bra again;)",
                                      {{2, 1, 1}, {64, 1, 1}});
  EXPECT_THAT(records_of(measured),
              ElementsAre(Record{0, 1, 2, stored, 64, 128, 2, 2}, Record{0, 3, 4, stored, 64, 128, 2, 2},
                          Record{0, 5, 6, stored, 64, 128, 2, 2}, Record{1, 1, 2, stored, 64, 128, 2, 2},
                          Record{1, 3, 4, stored, 64, 128, 2, 2}, Record{1, 5, 6, stored, 64, 128, 2, 2}));
  EXPECT_EQ(measured["arrays.ranges"], 384);
  EXPECT_EQ(measured["arrays.records"], 6);
  EXPECT_EQ(measured["arrays.stored"], 384);
  EXPECT_EQ(measured["arrays.accesses"], 768);
  EXPECT_EQ(measured["arrays.outside"], 0);
}

TEST(Ranges, DataThatIsNotStoredIsOverwrittenOrOpenAtExit) {
  const Measured measured = ranges_of(R"(
  ld.global.u32 %r3, [%rd3];
  st.shared.u32 [%r2], %r3;
  bar.sync 0;
  ld.shared.u32 %r4, [%r2];
  ld.shared.u32 %r5, [%r2];
  bar.sync 0;
  st.shared.u32 [%r2], %r3;
  ld.shared.u32 %r6, [%r2];)");
  EXPECT_THAT(records_of(measured), ElementsAre(Record{0, 1, 2, overwritten, 64, 192, 3, 3},
                                                Record{0, 2, 2, open_at_exit, 64, 128, 2, 2}));
  EXPECT_EQ(measured["arrays.overwritten"], 64);
  EXPECT_EQ(measured["arrays.open_at_exit"], 64);
}

TEST(Ranges, ComputedDataHaveNone) {
  const Measured measured = ranges_of(R"(
  st.shared.u32 [%r2], %r1;
  bar.sync 0;
  ld.shared.u32 %r4, [%r2];
  st.global.u32 [%rd4], %r4;
  bar.sync 0;
  setp.lt.u32 %p1, %r1, 8;
  @%p1 ld.global.u32 %r3, [%rd3];
  @%p1 st.shared.u32 [%r2], %r3;)");
  EXPECT_THAT(records_of(measured), ElementsAre(Record{0, 2, 2, open_at_exit, 8, 8, 1, 1}));
  EXPECT_EQ(measured["arrays.outside"], 128);
}

TEST(Ranges, IntermediateResultsStayInTheRange) {
  const Measured measured = ranges_of(R"(
  ld.global.u32 %r3, [%rd3];
  st.shared.u32 [%r2], %r3;
  bar.sync 0;
  ld.shared.u32 %r4, [%r2];
  add.u32 %r4, %r4, 1;
  st.shared.u32 [%r2], %r4;
  bar.sync 0;
  ld.shared.u32 %r5, [%r2];
  st.global.u32 [%rd4], %r5;)");
  EXPECT_THAT(records_of(measured), ElementsAre(Record{0, 1, 2, stored, 64, 256, 4, 4}));
}

TEST(Ranges, ThreadsThatStoreToOneWordShareARange) {
  const Measured measured = ranges_of(R"(
  ld.global.u32 %r3, [%rd1];
  st.shared.u32 [tile], %r3;
  bar.sync 0;
  ld.shared.u32 %r4, [tile];
  bar.sync 0;
  st.shared.u32 [tile], %r3;)");
  EXPECT_THAT(records_of(measured), ElementsAre(Record{0, 1, 2, overwritten, 1, 128, 128, 128},
                                                Record{0, 2, 2, open_at_exit, 1, 64, 64, 64}));
}

/// The first warp makes three transfers, the second one; after the barrier both continue with the later time.
TEST(Ranges, ABarrierSetsTheClocksOfTheBlock) {
  const Measured measured = ranges_of(R"(
  ld.global.u32 %r3, [%rd3];
  st.shared.u32 [%r2], %r3;
  setp.lt.u32 %p1, %r1, 32;
  @%p1 st.shared.u32 [%r2+512], %r3;
  @%p1 st.shared.u32 [%r2+1024], %r3;
  bar.sync 0;
  setp.ge.u32 %p2, %r1, 32;
  @%p2 st.shared.u32 [%r2], %r3;
  bar.sync 0;
  bar.sync 0;
  @%p1 st.shared.u32 [%r2], %r3;)");
  EXPECT_THAT(
      records_of(measured),
      ElementsAre(Record{0, 1, 4, overwritten, 32, 32, 1, 1}, Record{0, 1, 5, overwritten, 32, 32, 1, 1},
                  Record{0, 2, 5, open_at_exit, 32, 32, 1, 1}, Record{0, 3, 5, open_at_exit, 32, 32, 1, 1},
                  Record{0, 4, 5, open_at_exit, 32, 32, 1, 1}, Record{0, 5, 5, open_at_exit, 32, 32, 1, 1}));
}

TEST(Ranges, VectorsBytesAndGenericAddressesAreSupported) {
  const Measured measured = ranges_of(R"(
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
  st.global.u32 [%rd2], %r5;
over:)");
  EXPECT_THAT(
      records_of(measured),
      ElementsAre(Record{0, 1, 2, overwritten, 1, 1, 1, 1}, Record{0, 1, 5, open_at_exit, 1, 1, 1, 1},
                  Record{0, 2, 5, open_at_exit, 1, 1, 1, 1}, Record{0, 3, 5, stored, 1, 2, 2, 2},
                  Record{0, 3, 5, open_at_exit, 3, 3, 1, 1}, Record{0, 4, 5, open_at_exit, 1, 1, 1, 1}));
}

TEST(Ranges, DroppedRangesAreCounted) {
  std::string small = specification();
  const std::string room = "262144";
  const std::size_t at = small.find(room);
  ASSERT_NE(at, std::string::npos);
  small.replace(at, room.size(), "40");
  const Measured measured = ranges_of(R"(
  ld.global.u32 %r3, [%rd3];
  st.shared.u32 [%r2], %r3;
  st.shared.u32 [%r2], %r3;)",
                                      one_block, small);
  EXPECT_EQ(measured["dropped_ranges"], 24);
  EXPECT_EQ(measured["arrays.overwritten"], 40);
  EXPECT_EQ(measured["arrays.open_at_exit"], 64);
  EXPECT_THAT(measured.notes, testing::Contains(HasSubstr("24 ranges of words found no room")));
}

TEST(Ranges, ArraysMustMatch) {
  const std::string arrays =
      "struct range { unsigned int word; unsigned int block; unsigned int begin; unsigned int end;\n"
      "unsigned int left; unsigned int accesses; };\nglobal trace struct range closed[8];\n"
      "global unsigned long open[BLOCKS][SHARED_WORDS];\nglobal unsigned int left[BLOCKS][SHARED_WORDS];\n"
      "global unsigned int last[BLOCKS];\nglobal trace unsigned int other[8];\n";
  const auto errors = [&](const std::string& call) {
    return errors_of(arrays + "ON_REPORT: { " + call + "; }");
  };
  EXPECT_EQ(errors("emitRanges(\"r\", closed, open, left, last)"), "");
  EXPECT_THAT(errors("emitRanges(\"r\", other, open, left, last)"), HasSubstr("needs a trace of ranges"));
  EXPECT_THAT(errors("emitRanges(\"r\", closed, left, left, last)"),
              HasSubstr("declare 'global unsigned long open[BLOCKS][SHARED_WORDS];'"));
  EXPECT_THAT(errors("emitRanges(\"r\", closed, open, left, left)"),
              HasSubstr("declare 'global unsigned int last[BLOCKS];'"));
  EXPECT_THAT(errors("emitRanges(\"\", closed, open, left, last)"), HasSubstr("must be a non-empty string"));
  EXPECT_THAT(errors("emitRanges(\"r\", closed)"), HasSubstr("takes 5 arguments"));
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
