// The generated specifications; tests/end_to_end/band_test.py checks their effect on kernels.
#include "observe/added_arithmetic.h"

#include <gtest/gtest.h>

#include "cod/specification.h"

namespace lynxpp::observe {
namespace {

std::size_t additions(const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("+= 1.0f;"); at != std::string::npos; at = text.find("+= 1.0f;", at + 1))
    ++count;
  return count;
}

TEST(AddedArithmetic, HasTheRequestedNumberOfAdditions) {
  for (const std::uint32_t count : {1u, 2u, 5u, 257u})
    EXPECT_EQ(additions(added_arithmetic_specification(count)), count);
}

TEST(AddedArithmetic, SpecificationsCompile) {
  for (const std::string& text : {added_arithmetic_specification(9), access_counts_specification()}) {
    const auto program = cod::compile(text, "arithmetic.cod");
    EXPECT_TRUE(program) << (program ? "" : program.error().diagnostics.front().message);
  }
}

}  // namespace
}  // namespace lynxpp::observe
