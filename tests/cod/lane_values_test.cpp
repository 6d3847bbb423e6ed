// Sectors and wavefronts from hoisted differences of addresses, compared with the device's own counters.
#include <gtest/gtest.h>

#include <random>

#include "tests/cod/lane_values_fixture.h"
#include "tests/cod/test_support.h"

namespace lynxpp::cod {
namespace {

/// Bodies whose accesses all have lane patterns, and how many registers these need.
struct Known {
  const char* name;
  int registers;
  const char* body;
};
constexpr Known known[] = {
    {"copy", 1,
     "mul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r10, [%rd4];\n"
     "st.global.u32 [%rd4+4096], %r10;\nret;"},
    {"one_address", 0,
     "ld.global.u32 %r10, [%rd1];\nld.global.u32 %r11, [%rd1+4];\nst.global.u32 [%rd1+64], %r10;\nret;"},
    {"descending", 1,
     "mul.wide.u32 %rd3, %r1, 8;\nsub.s64 %rd4, %rd1, %rd3;\nld.global.u64 %rd5, [%rd4];\n"
     "ld.global.u32 %r11, [%rd4+20];\nret;"},
    {"transposed", 1,
     "mad.lo.s32 %r10, %r1, 40, %r2;\nmad.lo.s32 %r10, %r3, 3, %r10;\nmul.wide.s32 %rd3, %r10, 4;\nadd.s64 "
     "%rd4, %rd1, %rd3;\nld.global.u32 %r11, [%rd4];\nld.global.u32 %r12, [%rd4+12];\nret;"},
    {"gathered", 1,
     "mul.lo.u32 %r9, %r1, 2654435761;\nshr.u32 %r10, %r9, 23;\nmul.wide.u32 %rd3, %r10, 4;\nadd.s64 %rd4, "
     "%rd1, %rd3;\nld.global.u32 %r11, [%rd4];\nld.global.u32 %r12, [%rd4+16];\nret;"},
    {"loop", 1,
     "setp.gt.u32 %p1, %r1, 40;\n@%p1 bra E;\nmul.lo.s32 %r10, %r1, %r4;\nmul.wide.s32 %rd3, %r10, 16;\n"
     "add.s64 %rd4, %rd1, %rd3;\nL: ld.global.v2.u32 {%r11, %r12}, [%rd4];\nadd.s64 %rd4, %rd4, 24;\n"
     "add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 5;\n@%p2 bra L;\nE: ret;"},
    {"wrapping", 1,
     "add.s32 %r10, %r1, -5;\nand.b32 %r11, %r10, 1023;\nmul.wide.s32 %rd3, %r11, 4;\nadd.s64 %rd4, %rd1, "
     "%rd3;\nld.global.u32 %r12, [%rd4];\nld.global.u32 %r13, [%rd4+4];\nret;"},
    {"banks", 2,
     "mul.lo.s32 %r10, %r1, 24;\nadd.s32 %r11, %r5, %r10;\nL: st.shared.u32 [%r11], %r1;\nst.shared.u64 "
     "[%r11+8], %rd1;\nadd.s32 %r11, %r11, 8;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 3;\n@%p2 bra "
     "L;\nret;"},
};

TEST(LaneValues, AreHoistedWhereTheyAreKnown) {
  for (const Known& kernel : known) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : shapes) {
      MeasuredLaunch launch(access_module(kernel.body), shape);
      const std::string with = launch.check(true);
      if (HasFatalFailure()) return;
      EXPECT_EQ(launch.lane_registers, kernel.registers) << with;
      launch.check(false);
      EXPECT_EQ(launch.lane_registers, 0);
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(MeasuredLaunch(access_module(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// Bodies in which any lanes make accesses whose addresses are linear in the lane number. `registers`: the
/// number of accesses that nevertheless need a comparison in launches with whole rows.
constexpr Known stepped[] = {
    {"guards", 0,
     "and.b32 %r12, %r1, 5;\nsetp.eq.u32 %p1, %r12, 4;\nsetp.lt.u32 %p2, %r1, 13;\nsetp.gt.u32 %p3, %r1, "
     "9;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\n@%p1 ld.global.u32 %r10, [%rd4];\n@%p2 "
     "ld.global.u32 %r10, [%rd4+20];\n@!%p3 st.global.u32 [%rd4+2048], %r10;\nret;"},
    {"widths", 0,
     "and.b32 %r12, %r1, 9;\nsetp.ne.u32 %p1, %r12, 8;\nmul.wide.u32 %rd3, %r1, 2;\nadd.s64 %rd4, %rd1, "
     "%rd3;\n@%p1 ld.global.u16 %rs1, [%rd4+6];\nmul.wide.u32 %rd5, %r1, 16;\nadd.s64 %rd6, %rd1, "
     "%rd5;\n@%p1 ld.global.v4.u32 {%r10, %r11, %r13, %r14}, [%rd6+16];\nmul.wide.u32 %rd7, %r1, "
     "12;\nadd.s64 %rd8, %rd1, %rd7;\n@%p1 ld.global.u32 %r10, [%rd8+4];\nmul.wide.u32 %rd9, %r1, "
     "40;\nadd.s64 %rd10, %rd1, %rd9;\n@%p1 ld.global.u64 %rd11, [%rd10];\nret;"},
    {"branches_in_a_loop", 0,
     "mul.wide.u32 %rd3, %r1, 8;\nadd.s64 %rd4, %rd1, %rd3;\nL: and.b32 %r12, %r1, 6;\nsetp.gt.u32 %p1, "
     "%r12, %r6;\n@%p1 bra N;\nld.global.u64 %rd5, [%rd4+8];\nN: add.s64 %rd4, %rd4, 20;\nadd.s64 %rd4, "
     "%rd4, 4;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 7;\n@%p2 bra L;\nret;"},
    {"masked_index", 0,
     "shl.b32 %r9, %r1, 2;\nand.b32 %r10, %r9, 124;\nmov.u32 %r11, %ctaid.x;\nshl.b32 %r11, %r11, "
     "10;\nor.b32 %r12, %r11, 256;\nor.b32 %r12, %r12, %r10;\nsetp.lt.u32 %p1, %r1, 21;\nmul.wide.s32 "
     "%rd3, %r12, 4;\nadd.s64 %rd4, %rd1, %rd3;\n@%p1 ld.global.u32 %r13, [%rd4];\ncvt.s64.s32 %rd5, "
     "%r11;\ncvt.u64.u32 %rd6, %r10;\nor.b64 %rd7, %rd5, %rd6;\nadd.s64 %rd8, %rd1, %rd7;\n@!%p1 "
     "ld.global.u32 %r13, [%rd8];\nret;"},
    {"one_address", 0,
     "and.b32 %r12, %r1, 3;\nsetp.eq.u32 %p1, %r12, 2;\n@%p1 ld.global.u32 %r10, [%rd1+4];\nret;"},
    // Only the copies' banks are compared.
    {"selected_copies", 1,
     "and.b32 %r12, %r1, 6;\nsetp.eq.u32 %p1, %r12, 2;\nselp.b32 %r13, 16, 0, %p1;\nmul.wide.u32 %rd3, %r1, "
     "16;\nadd.s64 %rd4, %rd1, %rd3;\nmad.lo.u32 %r14, %r1, 16, %r5;\ncp.async.cg.shared.global [%r14], "
     "[%rd4+16], 16, %r13;\ncp.async.wait_all;\nret;"},
    // Bits 1 and 3 of the lane alone, and addresses that descend.
    {"other_patterns", 2,
     "and.b32 %r10, %r1, 10;\nsetp.lt.u32 %p1, %r1, 21;\nmul.wide.u32 %rd3, %r10, 4;\nadd.s64 %rd4, %rd1, "
     "%rd3;\n@%p1 ld.global.u32 %r13, [%rd4];\nmul.wide.u32 %rd5, %r1, 4;\nsub.s64 %rd6, %rd1, %rd5;\n@%p1 "
     "ld.global.u32 %r13, [%rd6];\nret;"},
};

TEST(LaneValues, FollowFromTheDistanceOfAnyLanes) {
  for (const Known& kernel : stepped) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : shapes) {
      MeasuredLaunch launch(access_module(kernel.body), shape);
      const std::string with = launch.check(true);
      if (HasFatalFailure()) return;
      if (shape.x % 32 == 0) {
        EXPECT_EQ(count_of(with, "match.any"), kernel.registers) << with;
      }
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(MeasuredLaunch(access_module(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// Bodies in which partial warps access shared memory, and for how many of these accesses the conflicting
/// lanes are known. Lanes that access together have executed the same iterations unless stated otherwise.
constexpr Known parted[] = {
    // Loads and stores one row apart: of all different words, of pairs and more at one word where %tid.y
    // counts, and of one word for all.
    {"branch", 6,
     "mul.lo.s32 %r10, %r1, 68;\nadd.s32 %r11, %r5, %r10;\nmul.lo.s32 %r13, %r1, 64;\nadd.s32 %r14, %r5, "
     "%r13;\nL: setp.gt.u32 %p1, %r1, %r6;\n@%p1 bra N;\nld.shared.u32 %r12, [%r11+4];\nst.shared.u32 "
     "[%r11+68], %r12;\nld.shared.u32 %r12, [%r14];\nst.shared.v2.u32 [%r14+8], {%r12, %r1};\nst.shared.u64 "
     "[%r14+16], %rd1;\nred.shared.add.u32 [%r14+4], 1;\nN: add.u32 %r6, %r6, 3;\nsetp.lt.u32 %p2, %r6, "
     "40;\n@%p2 bra L;\nret;"},
    {"guard", 3,
     "mul.lo.s32 %r10, %r1, 48;\nadd.s32 %r11, %r5, %r10;\nand.b32 %r12, %r1, 5;\nL: setp.eq.u32 %p1, %r12, "
     "%r6;\n@%p1 st.shared.v4.u32 [%r11], {%r1, %r2, %r3, %r4};\n@!%p1 st.shared.u32 [%r11+16], "
     "%r1;\n@!%p1 atom.shared.add.u64 %rd5, [%r11+8], 1;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, "
     "6;\n@%p2 bra L;\nret;"},
    {"permuted", 1,
     "xor.b32 %r9, %r1, 21;\nshl.b32 %r10, %r9, 6;\nadd.s32 %r11, %r5, %r10;\nL: setp.gt.u32 %p1, %r1, "
     "29;\n@%p1 bra N;\nld.shared.u32 %r12, [%r11+128];\nN: add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, "
     "4;\n@%p2 bra L;\nret;"},
    // Each lane leaves the loop in a different iteration, and the address depends on the iteration.
    {"divergent_loop", 1,
     "shl.b32 %r10, %r1, 5;\nadd.s32 %r11, %r5, %r10;\nL: ld.shared.u32 %r12, [%r11+64];\nadd.s32 %r11, "
     "%r11, "
     "4;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, %r1;\n@%p2 bra L;\nret;"},
    // Wide loads by few lanes are served differently.
    {"wide_loads", 0,
     "shl.b32 %r10, %r1, 4;\nadd.s32 %r11, %r5, %r10;\nL: setp.gt.u32 %p1, %r1, %r6;\n@%p1 bra "
     "N;\nld.shared.v2.u32 {%r12, %r13}, [%r11];\nld.shared.v4.u32 {%r12, %r13, %r14, %r15}, [%r11];\nN: "
     "add.u32 %r6, %r6, 3;\nsetp.lt.u32 %p2, %r6, 40;\n@%p2 bra L;\nret;"},
    // Lanes from different paths add different numbers.
    {"paths_that_join", 0,
     "mov.u32 %r10, 64;\nand.b32 %r12, %r1, 1;\nsetp.eq.u32 %p1, %r12, 0;\n@%p1 bra W;\nmov.u32 %r10, "
     "192;\nW: "
     "mad.lo.s32 %r11, %r1, 4, %r10;\nadd.s32 %r11, %r11, %r5;\nL: setp.gt.u32 %p3, %r1, %r6;\n@%p3 bra "
     "N;\nst.shared.u32 [%r11], %r1;\nN: add.u32 %r6, %r6, 3;\nsetp.lt.u32 %p2, %r6, 40;\n@%p2 bra L;\nret;"},
    // After a loop that lanes leave at different times, the address differs between lanes.
    {"behind_a_loop", 0,
     "mov.u32 %r10, %r5;\nL: add.s32 %r10, %r10, 4;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, %r1;\n@%p1 "
     "bra L;\nmov.u32 %r7, 0;\nM: setp.gt.u32 %p3, %r1, %r7;\n@%p3 bra N;\nmad.lo.s32 %r11, %r1, 60, "
     "%r10;\nst.shared.u32 [%r11], %r1;\nN: add.u32 %r7, %r7, 5;\nsetp.lt.u32 %p2, %r7, 40;\n@%p2 bra "
     "M;\nret;"},
};

TEST(LaneValues, AreThoseOfTheActiveLanes) {
  for (const Known& kernel : parted) {
    SCOPED_TRACE(kernel.name);
    for (const Shape& shape : shapes) {
      MeasuredLaunch launch(access_module(kernel.body), shape);
      const std::string with = launch.check(true);
      if (HasFatalFailure()) return;
      EXPECT_EQ(launch.banks_of_some, kernel.registers) << with;
    }
    if (has_ptxas()) {
      EXPECT_EQ(ptxas_errors(MeasuredLaunch(access_module(kernel.body), {}).check(true), 80), "");
    }
  }
}

/// Random accesses under random control flow.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::string body() {
    text_.clear();
    index();
    if (chance(3)) text_ += "setp.gt.u32 %p1, %r1, " + number(20) + ";\n@%p1 bra END;\n";
    statements(2);
    return text_ + "END: ret;";
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }
  bool chance(std::uint32_t of) { return below(of) == 0; }
  std::string number(std::uint32_t limit) { return std::to_string(below(limit)); }
  std::string fresh(const char* prefix, int& next) { return prefix + std::to_string(next++); }

  /// An index below 512 in %r10: affine, gathered, or identical for all lanes.
  void index() {
    text_ += "mov.u32 %r10, " + number(9) + ";\n";
    for (const char* tid : {"%r1", "%r2", "%r3"})
      if (!chance(3)) text_ += std::string("mad.lo.s32 %r10, ") + tid + ", " + number(4) + ", %r10;\n";
    if (chance(4)) text_ += "mul.lo.u32 %r10, %r10, 2654435761;\nshr.u32 %r10, %r10, 24;\n";
    text_ += "and.b32 %r11, %r10, 511;\n";
    for (const std::uint32_t shift : {2u, 3u, 4u}) {
      const std::string reg = std::to_string(20 + shift);
      text_ += "mul.wide.u32 %rd" + reg + ", %r11, " + std::to_string(1u << shift) + ";\nadd.s64 %rd" + reg +
               ", %rd1, %rd" + reg + ";\nshl.b32 %r" + reg + ", %r1" + (chance(2) ? "1" : "0") + ", " +
               std::to_string(shift) + ";\nand.b32 %r" + reg + ", %r" + reg + ", 8191;\nadd.s32 %r" + reg +
               ", %r5, %r" + reg + ";\n";
    }
  }

  void access() {
    const std::uint32_t shift = 2 + below(3);
    const std::string offset = "+" + std::to_string((1u << shift) * below(20));
    const std::string moved = chance(3) ? step(shift) : "%rd" + std::to_string(20 + shift);
    static constexpr const char* types[] = {"u32", "u64", "v2.u64"};
    static constexpr const char* values[] = {"%r60", "%rd60", "{%rd60, %rd61}"};
    const std::string guard = chance(5) ? (chance(2) ? "@%p3 " : "@%p4 ") : "";
    const std::string type = types[shift - 2];
    const std::string value = values[shift - 2];
    const std::string shared = "[%r" + std::to_string(20 + shift) + offset + "]";
    switch (below(4)) {
      case 0: text_ += guard + "ld.global." + type + " " + value + ", [" + moved + offset + "];\n"; break;
      case 1: text_ += guard + "ld.shared." + type + " " + value + ", " + shared + ";\n"; break;
      case 2: text_ += guard + "st.shared." + type + " " + shared + ", " + value + ";\n"; break;
      default: text_ += guard + "ld.global.nc." + type + " " + value + ", [" + moved + offset + "];\n"; break;
    }
  }

  /// An address that depends on the iteration.
  std::string step(std::uint32_t shift) {
    const std::string reg = fresh("%rd", next_wide_);
    if (next_wide_ > 58) next_wide_ = 30;
    text_ += "mul.wide.u32 " + reg + ", %r6, " + std::to_string(1u << shift) + ";\nadd.s64 " + reg + ", " +
             reg + ", %rd" + std::to_string(20 + shift) + ";\n";
    return reg;
  }

  void statements(int depth) {
    text_ += "setp.lt.u32 %p3, %r6, 2;\nsetp.lt.u32 %p4, %r1, " + number(30) + ";\n";
    for (std::uint32_t i = 0; i < 2 + below(3); ++i) access();
    if (depth == 0) return;
    const std::string label = fresh("L", next_label_);
    switch (below(4)) {
      case 0: {  // a loop whose lanes stay converged, or not
        const std::string counter = "%r" + std::to_string(40 + depth);
        text_ += "mov.u32 " + counter + ", 0;\n" + label + ":\n";
        statements(depth - 1);
        text_ += "add.u32 " + counter + ", " + counter + ", 1;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p5, " +
                 counter + ", " + (chance(2) ? "3" : "%r2") + ";\n@%p5 bra " + label + ";\n";
        break;
      }
      case 1:
        text_ += "setp.lt.u32 %p6, " + std::string(chance(2) ? "%r4" : "%r1") + ", " + number(40) +
                 ";\n@%p6 bra " + label + ";\n";
        statements(depth - 1);
        text_ += label + ":\n";
        break;
      case 2: text_ += "activemask.b32 %r70;\nbar.warp.sync %r70;\n"; [[fallthrough]];
      default: statements(depth - 1);
    }
    for (std::uint32_t i = 0; i < below(3); ++i) access();
  }

  std::mt19937 random_;
  std::string text_;
  int next_label_ = 0;
  int next_wide_ = 30;
};

TEST(LaneValues, MatchTheDevicesCountersForRandomKernels) {
  int used = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Generator generator(seed);
    MeasuredLaunch launch(access_module(generator.body()), shapes[seed % std::size(shapes)]);
    launch.check(true);
    used += launch.lane_registers != 0 ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(used, 10) << "of 20";
}

TEST(LaneValues, WorkInDeviceFunctions) {
  const std::string function =
      ".func f(.param .u64 a)\n{\n.reg .pred %p;\n.reg .b32 %a<9>;\n.reg .b64 %b<9>;\nld.param.u64 %b1, "
      "[a];\nmov.u32 %a1, %tid.x;\nmul.wide.u32 %b2, %a1, 12;\nadd.s64 %b3, %b1, %b2;\nsetp.gt.u32 %p, %a1, "
      "9;\n@%p bra E;\nld.global.u32 %a2, [%b3];\nst.global.u32 [%b3+8], %a2;\nld.global.u32 %a3, "
      "[%b3+4];\nE: "
      "ret;\n}\n";
  const std::string body =
      "and.b32 %r10, %r1, 3;\nL: add.u32 %r6, %r6, 1;\n{\n.param .u64 x;\nst.param.u64 [x], %rd1;\ncall f, "
      "(x);\n}\nsetp.lt.u32 %p1, %r6, %r10;\n@%p1 bra L;\nret;";
  for (const Shape& shape : shapes) {
    MeasuredLaunch launch(access_module(body, function), shape);
    launch.check(true);
    if (HasFatalFailure()) return;
    EXPECT_NE(launch.lane_registers, 0);
  }
}

/// The lanes that query are not the lanes of the access.
TEST(LaneValues, ExcludeHandlersThatQueryUnderACondition) {
  const auto can = [](const std::string& code) {
    return compiled("global unsigned long n; ON_INSTRUCTION: GLOBAL: {" + code + "}")
        ->handlers()[0]
        .can_use_lane_values;
  };
  EXPECT_TRUE(can("int first = firstInSector(); if (first) atomicAdd(&n, 1);"));
  EXPECT_FALSE(can("if (laneId() < 7) { int first = firstInSector(); if (first) atomicAdd(&n, 1); }"));
  EXPECT_FALSE(can("if (laneId() < 7) return; int first = firstInSector(); if (first) atomicAdd(&n, 1);"));
  EXPECT_FALSE(can("atomicAdd(&n, laneId() < 7 ? firstInSector() : 0);"));
  EXPECT_FALSE(can("atomicAdd(&n, 1);"));
}

}  // namespace
}  // namespace lynxpp::cod
