// The ready-made reuse_distance on kernels with known distances.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/cod/conformance_fixture.h"

namespace lynxpp::cod {
namespace {

using testing::Each;

Measured measure_body(const std::string& body, const Shape& shape) {
  std::string source;
  EXPECT_TRUE(read_file(std::string(LYNXPP_SOURCE_DIR) + "/examples/specs/reuse_distance.cod", source));
  return measure_module(
      source, shape,
      ".version 8.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
      "  .reg .b32 %r<8>;\n  .reg .b64 %rd<8>;\n"
      "  ld.param.u64 %rd1, [in];\n  ld.param.u64 %rd2, [out];\n  mov.u32 %r1, %tid.x;\n"
      "  mul.wide.u32 %rd3, %r1, 4;\n  add.u64 %rd1, %rd1, %rd3;\n  add.u64 %rd2, %rd2, %rd3;\n" +
          body + "  ret;\n}\n");
}

TEST(ReuseDistance, CountsSectorsAccessedSinceByOneWarp) {
  const Measured measured = measure_body(
      "  ld.global.u32 %r2, [%rd1];\n  st.global.u32 [%rd2], %r2;\n  ld.global.u32 %r3, [%rd1];\n",
      {{1, 1, 1}, {8, 1, 1}});
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured.dropped, 0u);
  // 32 bytes are one sector or parts of two.
  std::vector<double> sectors;
  for (const double each : measured.results.at("of_instruction.sectors")) {
    if (each != 0) sectors.push_back(each);
  }
  ASSERT_EQ(sectors.size(), 3u);
  EXPECT_EQ(sectors[0], sectors[2]);
  EXPECT_EQ(measured["first_accesses"], sectors[0] + sectors[1]);
  EXPECT_EQ(measured["of_other_sm"], 0);
  EXPECT_EQ(measured["reused_percent"], 100 * sectors[2]) << "the numerator";
  EXPECT_EQ(measured["reused_near_percent"], 100 * sectors[2]);
  const double distance = sectors[0] + sectors[1];
  EXPECT_EQ(measured.results.at("distance")[distance < 4 ? 1 : 2], sectors[2]);
}

TEST(ReuseDistance, IsAbsentWithoutReuse) {
  const Measured measured =
      measure_body("  ld.global.u32 %r2, [%rd1];\n  st.global.u32 [%rd2], %r2;\n", {{1, 1, 1}, {32, 1, 1}});
  ASSERT_EQ(measured.failure, "");
  EXPECT_EQ(measured["first_accesses"], measured["sectors"]);
  EXPECT_THAT(measured.results.at("distance"), Each(0));
  EXPECT_EQ(measured["reused_percent"], 0);
}

}  // namespace
}  // namespace lynxpp::cod
