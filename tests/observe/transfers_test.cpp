// Fetches and references derived from a kernel's code.
#include "observe/transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lynxpp::observe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

/// The body's lines are numbered from 1.
Transfers transfers_of(const std::string& body) {
  const std::string head =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
      ".reg .f32 %f<20>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .pred %p<9>;\n.shared .align 16 .b8 "
      "s[4096];\n";
  Result<Transfers> found = find_transfers(head + body + "ret;\n}\n", "k.ptx");
  EXPECT_TRUE(found) << (found ? "" : found.error().diagnostics[0].message);
  if (!found) return {};
  constexpr std::uint32_t before = 10;
  Transfers result;
  for (const auto& [line, other] : found->fetched_by) result.fetched_by[line - before] = other - before;
  for (const auto& [line, other] : found->reference) result.reference[line - before] = other - before;
  return result;
}

TEST(Transfers, StoringALoadedValueIsAFetch) {
  EXPECT_THAT(transfers_of("ld.global.f32 %f1, [%rd1];\nst.shared.f32 [s], %f1;\n").fetched_by,
              ElementsAre(Pair(2, 1)));
  EXPECT_THAT(
      transfers_of("ld.global.v2.f32 {%f1, %f2}, [%rd1];\nst.shared.v2.f32 [s], {%f2, %f1};\n").fetched_by,
      ElementsAre(Pair(2, 1)));
}

TEST(Transfers, FollowsMovesSelectionsAndJoins) {
  EXPECT_THAT(
      transfers_of("ld.global.f32 %f1, [%rd1];\nmov.f32 %f2, %f1;\nst.shared.f32 [s], %f2;\n").fetched_by,
      ElementsAre(Pair(3, 1)));
  EXPECT_THAT(
      transfers_of(
          "ld.global.f32 %f1, [%rd1];\nselp.f32 %f2, %f1, 0f00000000, %p1;\nst.shared.f32 [s], %f2;\n")
          .fetched_by,
      ElementsAre(Pair(3, 1)));
  EXPECT_THAT(transfers_of("mov.f32 %f1, 0f00000000;\n@%p1 bra L;\nld.global.f32 %f1, [%rd1];\nL:\n"
                           "st.shared.f32 [s], %f1;\n")
                  .fetched_by,
              ElementsAre(Pair(5, 3)));
  EXPECT_THAT(
      transfers_of("mov.f32 %f1, 0f00000000;\n@%p1 ld.global.f32 %f1, [%rd1];\nst.shared.f32 [s], %f1;\n")
          .fetched_by,
      ElementsAre(Pair(3, 2)));
}

TEST(Transfers, ComputedValueIsNotAFetch) {
  EXPECT_THAT(transfers_of("ld.global.f32 %f1, [%rd1];\nadd.f32 %f2, %f1, %f1;\nst.shared.f32 [s], %f2;\n")
                  .fetched_by,
              IsEmpty());
  EXPECT_THAT(transfers_of("ld.global.u32 %r1, [%rd1];\nst.shared.u32 [%r1], %r2;\n").fetched_by, IsEmpty());
  EXPECT_THAT(transfers_of("ld.shared.f32 %f1, [s];\nst.shared.f32 [s+4], %f1;\n").fetched_by, IsEmpty());
  EXPECT_THAT(transfers_of("ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd2], %f1;\n").fetched_by, IsEmpty());
}

TEST(Transfers, CopyIsItsOwnFetch) {
  EXPECT_THAT(
      transfers_of("cp.async.ca.shared.global [%r1], [%rd1], 16;\ncp.async.commit_group;\n").fetched_by,
      ElementsAre(Pair(1, 1)));
}

TEST(Transfers, MergedLoadsAreOneReference) {
  EXPECT_THAT(
      transfers_of("@%p1 bra A;\nld.global.f32 %f1, [%rd1];\nbra.uni B;\nA:\nld.shared.f32 %f1, [s];\nB:\n"
                   "st.global.f32 [%rd2], %f1;\n")
          .reference,
      ElementsAre(Pair(2, 2), Pair(5, 2)));
  EXPECT_THAT(
      transfers_of("ld.shared.f32 %f1, [s];\n@%p1 ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd2], %f1;\n")
          .reference,
      ElementsAre(Pair(1, 1), Pair(2, 1)));
  EXPECT_THAT(
      transfers_of("ld.shared.f32 %f1, [s];\nld.global.f32 %f2, [%rd1];\nselp.f32 %f3, %f1, %f2, %p1;\n"
                   "st.global.f32 [%rd2], %f3;\n")
          .reference,
      ElementsAre(Pair(1, 1), Pair(2, 1)));
}

TEST(Transfers, LoadsOfOneMemoryAreSeparate) {
  EXPECT_THAT(
      transfers_of("@%p1 bra A;\nld.global.f32 %f1, [%rd1];\nbra.uni B;\nA:\nld.global.f32 %f1, [%rd3];\nB:\n"
                   "st.global.f32 [%rd2], %f1;\n")
          .reference,
      IsEmpty());
}

TEST(Transfers, SyntaxErrorsHaveLocations) {
  const Result<Transfers> found =
      find_transfers(".version 8.0\n.target sm_80\n.visible .entry k() {\n ld.global.f32 [;\n}\n", "k.ptx");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().diagnostics[0].location.line, 5u);  // where the bracket is missing
}

}  // namespace
}  // namespace lynxpp::observe
