// Sectors of accesses with unknown addresses, compared with the device's own counters.
#include <gtest/gtest.h>

#include <iterator>
#include <regex>

#include "tests/cod/lane_values_fixture.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

/// Bodies, and the number of sector comparisons of 32 and of 64 bits.
struct Gathers {
  const char* name;
  int near;
  int far;
  const char* body;
};
constexpr Gathers gathers[] = {
    // An index from memory, in a loop that lanes leave one after another; the loads of a block stay together.
    {"from memory", 2, 0,
     "and.b32 %r13, %r1, 7;\nL: mad.lo.s32 %r9, %r6, 977, %r1;\nmul.lo.u32 %r9, %r9, 2654435761;\nshr.u32 "
     "%r10, %r9, 23;\nmul.wide.u32 %rd3, %r10, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r11, "
     "[%rd4];\nmad.lo.s32 %r12, %r10, 3, %r11;\nmul.wide.u32 %rd5, %r12, 8;\nadd.s64 %rd6, %rd1, "
     "%rd5;\nld.global.u64 %rd7, [%rd6];\nadd.u32 %r6, %r6, 1;\nsetp.le.u32 %p2, %r6, %r13;\n@%p2 bra "
     "L;\nret;"},
    // The load overwrites its own address register.
    {"a chain of offsets", 0, 1,
     "and.b32 %r13, %r1, 3;\nxor.b32 %r9, %r1, 5;\nmul.wide.u32 %rd3, %r9, 24;\nL: add.s64 %rd4, %rd1, "
     "%rd3;\nld.global.u64 %rd4, [%rd4];\nmov.u64 %rd3, %rd4;\nadd.u32 %r6, %r6, 1;\nsetp.le.u32 %p2, %r6, "
     "%r13;\n@%p2 bra "
     "L;\nret;"},
    // Four accesses with one base that each lane advances by a different, initially ascending amount, and
    // three with another.
    {"rows of their own", 1, 7,
     "and.b32 %r13, %r1, 7;\nmul.wide.u32 %rd3, %r1, 20;\nadd.s64 %rd4, %rd1, %rd3;\nxor.b32 %r9, %r1, "
     "21;\nmul.wide.u32 %rd5, %r9, 12;\nadd.s64 %rd6, %rd1, %rd5;\nmul.wide.u32 %rd7, %r13, 36;\nL: "
     "ld.global.u32 %r10, [%rd4];\nld.global.u32 %r11, [%rd6+-8];\nmad.lo.s32 %r9, %r10, 5, "
     "%r13;\nmul.wide.u32 %rd8, %r9, 4;\nadd.s64 %rd9, %rd1, %rd8;\nld.global.u32 %r12, [%rd9];\n"
     "ld.global.u32 %r10, [%rd4+4];\nld.global.u32 %r11, [%rd4+12];\nld.global.u32 %r12, [%rd6+20];"
     "\nld.global.u32 %r10, [%rd4+36];\nld.global.u32 %r11, [%rd6];\nadd.s64 %rd4, %rd4, %rd7;\nsub.s64 "
     "%rd6, %rd6, %rd7;\nadd.u32 %r6, %r6, 1;\nsetp.le.u32 %p2, %r6, %r13;\n@%p2 bra L;\nret;"},
    // More lanes may be active after the barrier than before.
    {"a barrier in between", 0, 4,
     "and.b32 %r13, %r1, 7;\nmul.wide.u32 %rd3, %r13, 36;\nadd.s64 %rd4, %rd1, %rd3;\nL: ld.global.u32 %r10, "
     "[%rd4];\nld.global.u32 %r11, [%rd4+4];\nactivemask.b32 %r70;\nbar.warp.sync %r70;\nld.global.u32 %r10, "
     "[%rd4+28];\nld.global.u32 %r11, [%rd4+64];\nadd.s64 %rd4, %rd4, %rd3;\nadd.u32 %r6, %r6, "
     "1;\nsetp.le.u32 "
     "%p2, %r6, %r13;\n@%p2 bra L;\nret;"},
    // More than are kept at a time.
    {"many", 8, 6,
     "and.b32 %r13, %r1, 7;\nL: mad.lo.s32 %r9, %r6, 977, %r1;\nmul.lo.u32 %r9, %r9, 2654435761;\nshr.u32 "
     "%r10, %r9, 24;\n"
     "mul.wide.u32 %rd10, %r10, 4;\nadd.s64 %rd30, %rd1, %rd10;\nld.global.u32 %r11, [%rd30];\n"
     "mul.wide.u32 %rd11, %r10, 8;\nadd.s64 %rd31, %rd1, %rd11;\nld.global.u32 %r11, [%rd31];\n"
     "mul.wide.u32 %rd12, %r10, 12;\nadd.s64 %rd32, %rd1, %rd12;\nld.global.u32 %r11, [%rd32];\n"
     "mul.wide.u32 %rd13, %r10, 16;\nadd.s64 %rd33, %rd1, %rd13;\nld.global.u32 %r11, [%rd33];\n"
     "mul.wide.u32 %rd14, %r10, 20;\nadd.s64 %rd34, %rd1, %rd14;\nld.global.u32 %r11, [%rd34];\n"
     "mul.wide.u32 %rd15, %r10, 24;\nadd.s64 %rd35, %rd1, %rd15;\nld.global.u32 %r11, [%rd35];\n"
     "mul.wide.u32 %rd16, %r10, 28;\nadd.s64 %rd36, %rd1, %rd16;\nld.global.u32 %r11, [%rd36];\n"
     "mul.wide.u32 %rd17, %r10, 32;\nadd.s64 %rd37, %rd1, %rd17;\nld.global.u32 %r11, [%rd37+512];\n"
     "mul.wide.u32 %rd18, %r10, 36;\nadd.s64 %rd38, %rd1, %rd18;\nld.global.u32 %r11, [%rd38+516];\n"
     "mul.wide.u32 %rd19, %r10, 40;\nadd.s64 %rd39, %rd1, %rd19;\nld.global.u32 %r11, [%rd39+520];\n"
     "mul.wide.u32 %rd20, %r10, 44;\nadd.s64 %rd40, %rd1, %rd20;\nld.global.u32 %r11, [%rd40+524];\n"
     "mul.wide.u32 %rd21, %r10, 48;\nadd.s64 %rd41, %rd1, %rd21;\nld.global.u32 %r11, [%rd41+528];\n"
     "mul.wide.u32 %rd22, %r10, 52;\nadd.s64 %rd42, %rd1, %rd22;\nld.global.u32 %r11, [%rd42+532];\n"
     "mul.wide.u32 %rd23, %r10, 56;\nadd.s64 %rd43, %rd1, %rd23;\nld.global.u32 %r11, [%rd43+536];\n"
     "add.u32 %r6, %r6, 1;\nsetp.le.u32 %p2, %r6, %r13;\n@%p2 bra L;\nret;"},
};

/// Code that identifies comparisons: of each access, and of 64 bits. Handlers are compiled, and
/// their instructions never write what they read.
const std::regex one_by_one("setp\\.ne\\.or\\.u32 ");
const std::regex far_apart("shr\\.u64 (%\\w+), %\\w+, 5;\n\tmatch\\.any\\.sync\\.b64 %\\w+, \\1,");

int matches_of(const std::string& text, const std::regex& pattern) {
  return static_cast<int>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()));
}

TEST(SectorLanes, MatchTheDevicesCounters) {
  constexpr Shape some[] = {{32, 1, 1}, {100, 1, 1}, {7, 5, 1}, {16, 4, 1}};
  for (const Gathers& kernel : gathers) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : some) {
      MeasuredLaunch launch(access_module(kernel.body), shape);
      const std::string text = launch.check(true);
      if (HasFatalFailure()) return;
      EXPECT_EQ(matches_of(text, one_by_one), kernel.near + kernel.far) << text;
      EXPECT_EQ(matches_of(text, far_apart), kernel.far) << text;
      launch.check(false);
      if (HasFatalFailure()) return;
    }
    MeasuredLaunch launch(access_module(kernel.body), {100, 1, 1});
    launch.wide_counters = true;
    launch.check(true);
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(MeasuredLaunch(access_module(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// The upper halves of the lanes' addresses differ, and equal lower halves are not in one sector.
TEST(SectorLanes, AreDistinguishedAcross4GiB) {
  for (const Gathers& kernel : gathers) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : {Shape{32, 1, 1}, Shape{100, 1, 1}, Shape{16, 4, 1}}) {
      MeasuredLaunch launch(access_module(kernel.body), shape, MeasuredLaunch::Memory::across);
      launch.check(true);
      launch.check(false);
      if (HasFailure()) return;
    }
  }
}

/// All loads of a block are issued before the first comparison waits for an address.
TEST(SectorLanes, AreComparedAfterTheLoads) {
  const std::string text = MeasuredLaunch(access_module(gathers[0].body), {}).check(true);
  const std::size_t last_load = text.rfind("ld.global.u64");
  const std::size_t first_comparison = text.find("shfl.sync.idx.b32");
  ASSERT_NE(first_comparison, std::string::npos);
  EXPECT_LT(last_load, first_comparison) << text;
}

}  // namespace
}  // namespace lynxpp::cod
