#include "ptx/analysis/values/lane_pattern.h"

#include "tests/analysis/analysed.h"

namespace lynxpp::ptx {
namespace {

/// For the access whose text contains `text`: "V before the instruction at P", or "none".
enum class Of { address, some_lanes, index };
std::string pattern_at(const std::string& body, const std::string& text, Of of = Of::address) {
  Analysed analysed(body);
  const std::uint32_t at = analysed.at(text);
  for (const Operand& operand : analysed.body().instructions[at].operands) {
    if (operand.kind != OperandKind::address) continue;
    const LanePatterns& patterns = analysed->lane_patterns();
    std::optional<LanePattern> pattern =
        of == Of::some_lanes ? patterns.of_some_lanes(at, operand) : patterns.of_address(at, operand);
    std::string checks;
    if (of == Of::index) {
      const std::optional<IndexPattern> index = patterns.of_index(at, operand);
      pattern = index ? std::optional(index->pattern) : std::nullopt;
      for (const IndexCheck& check : index ? index->checks : std::vector<IndexCheck>())
        checks += ", " + std::string(analysed->registers().registers()[check.reg].name) +
                  (check.is_signed ? " >= " : " < ") +
                  std::to_string(check.is_signed ? static_cast<std::int32_t>(check.bound())
                                                 : std::int64_t{check.bound()});
    }
    if (!pattern) return "none";
    const Instruction& place = analysed.body().instructions[pattern->instruction];
    return to_string(*pattern, analysed->registers()) + " before " + std::string(place.opcode) + " " +
           std::string(place.operands.empty() ? "" : place.operands[0].name) + checks;
  }
  return "no address";
}

/// i = ctaid.x * ntid.x + tid.x in %r4; A in %rd1 and B in %rd2, n in %r5.
const std::string start =
    "ld.param.u64 %rd1, [A];\nld.param.u64 %rd2, [B];\nld.param.u32 %r5, [n];\nmov.u32 %r1, %ntid.x;\n"
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %tid.x;\nmad.lo.s32 %r4, %r2, %r1, %r3;\n";
const std::string early_exit = "setp.ge.s32 %p1, %r4, %r5;\n@%p1 bra END;\n";

TEST(LanePattern, ThreadIndicesAreKnownAtTheEntry) {
  const std::string body =
      start + "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.f32 %f1, [%rd4+8];\nret;";
  EXPECT_EQ(pattern_at(body, "ld.global"), "4*tid.x before ld.param.u64 %rd1");
}

TEST(LanePattern, EarlyExitMovesThePointAfterIt) {
  const std::string body = start + early_exit +
                           "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\n"
                           "ld.global.f32 %f1, [%rd4];\nadd.s64 %rd5, %rd2, %rd3;\n"
                           "st.global.f32 [%rd5], %f1;\nEND: ret;";
  EXPECT_EQ(pattern_at(body, "ld.global"), "4*tid.x before mul.wide.s32 %rd3");
  EXPECT_EQ(pattern_at(body, "st.global"), "4*tid.x before mul.wide.s32 %rd3") << "another array, the same V";
}

TEST(LanePattern, IndexThatMayWrapAroundUsesItsRegister) {
  const std::string body =
      start + early_exit +
      "mov.u32 %r6, %tid.y;\nmad.lo.s32 %r7, %r6, %r5, %r4;\nmul.wide.s32 %rd3, %r7, 4;\n"
      "add.s64 %rd4, %rd1, %rd3;\nld.global.f32 %f1, [%rd4];\nEND: ret;";
  EXPECT_EQ(pattern_at(body, "ld.global"), "4*s(%r7) before mul.wide.s32 %rd3");
}

TEST(LanePattern, FindsTwoDimensionalPatterns) {
  const std::string body =
      "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nshl.b32 %r3, %r2, 7;\nmad.lo.s32 %r4, %r1, 4, %r3;\n"
      "mov.u32 %r5, tile;\nadd.s32 %r6, %r5, %r4;\nst.shared.u32 [%r6], %r1;\nret;";
  EXPECT_EQ(pattern_at(body, "st.shared"), "4*tid.x + 128*tid.y before mov.u32 %r1");
}

TEST(LanePattern, UniformAddressHasEmptyPattern) {
  EXPECT_EQ(pattern_at("ld.param.u64 %rd1, [A];\nld.global.f32 %f1, [%rd1];\nret;", "ld.global"),
            "0 before ld.param.u64 %rd1");
}

/// A loop to `bound` in which the address of A grows by 16 per iteration.
std::string loop_to(const std::string& bound) {
  return start + early_exit +
         "mul.wide.s32 %rd3, %r4, %r5;\nmul.wide.s32 %rd6, %r4, 4;\nadd.s64 %rd4, %rd1, %rd6;\n"
         "mov.u32 %r8, 0;\n"
         "LOOP: ld.global.f32 %f1, [%rd4];\nadd.s64 %rd4, %rd4, 16;\nadd.s32 %r8, %r8, 1;\n"
         "setp.lt.s32 %p2, %r8, " +
         bound + ";\n@%p2 bra LOOP;\nEND: ret;";
}

TEST(LanePattern, LeavesUniformLoops) {
  EXPECT_EQ(pattern_at(loop_to("%r5"), "ld.global"), "4*tid.x before mul.wide.s32 %rd3");
}

TEST(LanePattern, StaysInDivergentLoops) {
  EXPECT_EQ(pattern_at(loop_to("%r3"), "ld.global"), "4*tid.x before ld.global.f32 %f1")
      << "lanes in the loop have iterated equally often";
}

TEST(LanePattern, FollowsIndicesThroughWidening) {
  const std::string index = start + early_exit +
                            "mov.u32 %r6, %tid.y;\nmad.lo.s32 %r7, %r5, %r5, %r4;\nmad.lo.s32 %r7, %r6, -32, "
                            "%r7;\nmul.wide.";
  const std::string access =
      " %rd3, %r7, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.f32 %f1, [%rd4];\nEND: ret;";
  const std::string pattern = "4*tid.x - 128*tid.y before mov.u32 %r6, %r7 ";
  EXPECT_EQ(pattern_at(index + "s32" + access, "ld.global", Of::index), pattern + ">= -2147449889");
  EXPECT_EQ(pattern_at(index + "u32" + access, "ld.global", Of::index), pattern + "< 4294933537");
}

TEST(LanePattern, DoesNotFollowLoadedIndices) {
  const std::string body = start + early_exit +
                           "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r7, "
                           "[%rd4];\nadd.s32 %r8, %r7, %r3;\nmul.wide.s32 %rd5, %r8, 4;\nadd.s64 %rd6, %rd2, "
                           "%rd5;\nld.global.f32 %f1, [%rd6];\nEND: ret;";
  EXPECT_EQ(pattern_at(body, "ld.global.f32", Of::index), "4*s(%r8) before mul.wide.s32 %rd5");
}

TEST(LanePattern, RewrittenRegistersHaveNoPattern) {
  const std::string body = start + early_exit +
                           "mul.lo.s32 %r7, %r4, %r5;\nmul.wide.s32 %rd3, %r7, 4;\nmov.u32 %r7, 5;\n"
                           "add.s64 %rd4, %rd1, %rd3;\nld.global.f32 %f1, [%rd4];\nst.global.u32 [%rd2], "
                           "%r7;\nEND: ret;";
  EXPECT_EQ(pattern_at(body, "ld.global"), "none");
}

TEST(LanePattern, LoadedAddressIsATerm) {
  const std::string body =
      start + early_exit +
      "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\nld.global.u32 %r7, [%rd4];\n"
      "mul.wide.s32 %rd5, %r7, 4;\nadd.s64 %rd6, %rd2, %rd5;\nld.global.f32 %f1, "
      "[%rd6];\nEND: ret;";
  EXPECT_EQ(pattern_at(body, "ld.global.f32"), "4*s(%r7) before mul.wide.s32 %rd5");
}

TEST(LanePattern, StaysInsideDivergentBranches) {
  const std::string address = "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\n";
  const std::string body = start + address +
                           "setp.lt.u32 %p1, %r3, 7;\n@%p1 bra SKIP;\nadd.s32 %r9, %r3, 1;\n"
                           "ld.global.f32 %f1, [%rd4];\nSKIP: add.s32 %r10, %r3, 2;\nst.global.f32 [%rd4], "
                           "%f2;\nret;";
  EXPECT_EQ(pattern_at(body, "ld.global"), "4*tid.x before add.s32 %r9");
  EXPECT_EQ(pattern_at(body, "st.global"), "4*tid.x before add.s32 %r10") << "not before the branch";
}

TEST(LanePattern, DivergentGuardsHaveNoPattern) {
  const std::string address =
      start + "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\nsetp.lt.s32 %p1, ";
  EXPECT_EQ(pattern_at(address + "%r4, 5;\n@%p1 ld.global.f32 %f1, [%rd4];\nret;", "ld.global"), "none");
  EXPECT_EQ(pattern_at(address + "%r5, 5;\n@%p1 ld.global.f32 %f1, [%rd4];\nret;", "ld.global"),
            "4*tid.x before ld.param.u64 %rd1");
}

TEST(LanePattern, DoesNotCrossCalls) {
  const std::string body =
      start +
      "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\ncall f;\nld.global.f32 %f1, [%rd4];\nret;";
  EXPECT_EQ(pattern_at(body, "ld.global"), "4*tid.x before ld.global.f32 %f1");
}

TEST(LanePattern, CrossesBarriersOnlyInConvergedWarps) {
  const std::string address = "mul.wide.s32 %rd3, %r4, 4;\nadd.s64 %rd4, %rd1, %rd3;\n";
  const std::string behind = "bar.sync 0;\nld.global.f32 %f1, [%rd4];\n";
  EXPECT_EQ(pattern_at(start + address + behind + "ret;", "ld.global"), "4*tid.x before ld.param.u64 %rd1");
  EXPECT_EQ(pattern_at(start + early_exit + address + behind + "END: ret;", "ld.global"),
            "4*tid.x before ld.global.f32 %f1");
}

TEST(LanePattern, SomeLanesPatternIsWhereWarpsAreConverged) {
  const std::string body = start + early_exit +
                           "setp.gt.u32 %p2, %r3, 7;\n@%p2 bra END;\nmul.wide.s32 %rd3, %r4, 4;\n"
                           "add.s64 %rd4, %rd1, %rd3;\nld.global.f32 %f1, [%rd4];\nEND: ret;";
  EXPECT_EQ(pattern_at(body, "ld.global"), "4*tid.x before mul.wide.s32 %rd3");
  EXPECT_EQ(pattern_at(body, "ld.global", Of::some_lanes), "4*tid.x before ld.param.u64 %rd1");
}

TEST(LanePattern, SomeLanesPatternFollowsDivergentLoops) {
  EXPECT_EQ(pattern_at(loop_to("%r3"), "ld.global", Of::some_lanes), "4*tid.x before ld.param.u64 %rd1");
}

/// After the loop, each lane adds its number of iterations.
TEST(LanePattern, SomeLanesPatternDoesNotLeaveDivergentLoops) {
  const std::string body = start +
                           "mul.wide.s32 %rd6, %r4, 4;\nadd.s64 %rd4, %rd1, %rd6;\nmov.u32 %r8, 0;\n"
                           "LOOP: add.s64 %rd4, %rd4, 16;\nadd.s32 %r8, %r8, 1;\nsetp.lt.s32 %p2, %r8, ";
  const std::string end = ";\n@%p2 bra LOOP;\nld.global.f32 %f1, [%rd4];\nret;";
  EXPECT_EQ(pattern_at(body + "%r3" + end, "ld.global", Of::some_lanes), "none");
  EXPECT_EQ(pattern_at(body + "%r5" + end, "ld.global", Of::some_lanes), "4*tid.x before ld.param.u64 %rd1");
}

TEST(LanePattern, SomeLanesPatternRejectsDivergentJoins) {
  const auto body = [](const std::string& condition) {
    return start + "mul.wide.s32 %rd6, %r4, 4;\nadd.s64 %rd4, %rd1, %rd6;\nsetp.gt.u32 %p2, " + condition +
           ", 7;\n@%p2 bra OVER;\nadd.s64 %rd4, %rd4, 64;\nOVER: ld.global.f32 %f1, [%rd4];\nret;";
  };
  EXPECT_EQ(pattern_at(body("%r3"), "ld.global", Of::some_lanes), "none");
  EXPECT_EQ(pattern_at(body("%r5"), "ld.global", Of::some_lanes), "4*tid.x before ld.param.u64 %rd1");
}

TEST(LanePattern, MergesPathsWithEqualDifferences) {
  const std::string paths = start +
                            "mul.wide.s32 %rd3, %r4, 4;\nsetp.lt.s32 %p1, %r5, 9;\n@%p1 bra ELSE;\n"
                            "add.s64 %rd4, %rd1, %rd3;\nbra JOIN;\nELSE: add.s64 %rd4, %rd2, ";
  EXPECT_EQ(pattern_at(paths + "%rd3;\nJOIN: ld.global.f32 %f1, [%rd4];\nret;", "ld.global"),
            "4*tid.x before ld.param.u64 %rd1");
  EXPECT_EQ(pattern_at(paths + "16;\nJOIN: ld.global.f32 %f1, [%rd4];\nret;", "ld.global"), "none");
}

}  // namespace
}  // namespace lynxpp::ptx
