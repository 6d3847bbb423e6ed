// Initial values of arrays in device memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr Shape eight_threads{{2, 1, 1}, {4, 1, 1}};

TEST(InitialValues, ListInitialisesTheFirstElements) {
  const Measured measured = measure(
      "global unsigned long limits[] = {1, 2, 3 * 4};\n"
      "global int grid[2][3] = {{1, -2}, 4, 5};\n"
      "global double x[3] = {0.5, 1}, y = -2.5;\n"
      "global float z[2] = {0.25f};\n"
      "struct pair { short a; long b[2]; };\n"
      "global struct pair pairs[2] = {{7, {8, 9}}, 10, 11};\n"
      "global unsigned int of_lane[LANES] = {3, 4};\n"
      "global int seen;\n"
      "ON_KERNEL_EXIT: { if (limits[2] == 12 && grid[0][1] == -2 && grid[1][1] == 5 && x[0] == 0.5 && y == "
      "-2.5 &&"
      " z[0] == 0.25f && pairs[1].b[0] == 11 && of_lane[1] == 4 && of_lane[2] == 0) seen += 1; }\n"
      "ON_REPORT: { emit(\"limits\", limits); emit(\"grid\", grid); emit(\"x\", x); emit(\"y\", y); "
      "emit(\"z\", z);"
      " emit(\"a\", pairs.a); emit(\"b\", pairs.b); emit(\"lanes\", sum(of_lane)); emit(\"seen\", seen); }",
      eight_threads);
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["seen"], 8);
  EXPECT_THAT(measured.results.at("limits"), ElementsAre(1, 2, 12));
  EXPECT_THAT(measured.results.at("grid"), ElementsAre(1, -2, 0, 4, 5, 0));
  EXPECT_THAT(measured.results.at("x"), ElementsAre(0.5, 1, 0));
  EXPECT_EQ(measured["y"], -2.5);
  EXPECT_THAT(measured.results.at("z"), ElementsAre(0.25, 0));
  EXPECT_THAT(measured.results.at("a"), ElementsAre(7, 10));
  EXPECT_THAT(measured.results.at("b"), ElementsAre(8, 9, 11, 0));
  EXPECT_EQ(measured["lanes"], 7);
}

TEST(InitialValues, SingleValueInitialisesEveryElement) {
  const Measured measured = measure(
      "global unsigned int least[BLOCKS] = ~0u, unused[THREADS] = 5;\n"
      "global unsigned char bytes[3] = 0x1ff;\n"
      "ON_KERNEL_EXIT: atomicMin(&least[blockId()], 100 * (unsigned int)blockId() + blockThreadId() + 1);\n"
      "ON_REPORT: { emit(\"least\", least); emit(\"unused\", unused); emit(\"bytes\", bytes); }",
      eight_threads);
  ASSERT_EQ(measured.failure, "");
  EXPECT_THAT(measured.results.at("least"), ElementsAre(1, 101));
  EXPECT_EQ(measured.results.at("unused").size(), 8u);
  EXPECT_THAT(measured.results.at("unused"), Each(5));
  EXPECT_THAT(measured.results.at("bytes"), Each(255));
}

/// Statements that only count are added to it on the host.
TEST(InitialValues, CountsStartFromThem) {
  const Measured measured = measure(
      "global unsigned long loads = 1000;\nglobal unsigned long blocks[BASIC_BLOCKS] = 7;\n"
      "ON_INSTRUCTION: MEM_READ: GLOBAL: { loads++; }\nON_BASIC_BLOCK_ENTRY: { blocks[basicBlockId()]++; }\n"
      "ON_REPORT: { emit(\"loads\", loads); emit(\"blocks\", blocks); }",
      eight_threads);
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["loads"], 1008);
  EXPECT_THAT(measured.results.at("blocks"), Each(15));
}

}  // namespace
}  // namespace lynxpp::cod
