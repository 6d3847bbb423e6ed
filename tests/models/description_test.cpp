#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/cumapz/description.h"

namespace lynxpp::models::cumapz {
namespace {

using testing::ElementsAre;
using testing::Pair;

/// "line:column message" of the first error, with the hint in parentheses.
std::string error_of(const std::string& text, const std::map<std::string, std::int64_t>& given = {}) {
  const Result<Description> description = parse_description(text, "d.access");
  const Diagnostics found = [&] {
    if (!description) return description.error().diagnostics;
    const auto variants = variants_of(*description, given);
    return variants ? Diagnostics() : variants.error().diagnostics;
  }();
  if (found.empty()) return "";
  const Diagnostic& first = found.front();
  EXPECT_EQ(first.location.file, "d.access");
  return std::to_string(first.location.line) + ":" + std::to_string(first.location.column) + " " +
         first.message + (first.hint.empty() ? "" : " (" + first.hint + ")");
}

TEST(Description, ErrorsHaveLocations) {
  EXPECT_EQ(error_of("block (16)\narray a of 4;"), "2:1 unexpected 'array' (expected ';')");
  EXPECT_EQ(error_of("block (16);\nlet x = thredIdx.x;"),
            "2:9 there is no name 'thredIdx' (did you mean 'threadIdx'?)");
  EXPECT_EQ(error_of("block (16); let x = threadIdx.w;"),
            "1:31 there is no dimension 'w' (they are x, y and z)");
  EXPECT_EQ(error_of("block (16); read b[0];"),
            "1:18 there is no array 'b' (declare arrays before their use: array b of 4;)");
  EXPECT_EQ(error_of("block (16); array a of 4; array a of 8;"), "1:33 there is an array 'a' already");
  EXPECT_EQ(
      error_of("block (16); array a of 4; fetch a[0] = a[1];"),
      "1:27 a fetch goes from global to shared memory (write fetch tile[…] = in[…]; with a shared array "
      "on the left)");
  EXPECT_EQ(
      error_of("block (16); array a of 4; store a[0] = a[1];"),
      "1:27 a store goes from shared to global memory (write store out[…] = tile[…]; with a shared array "
      "on the right)");
  EXPECT_EQ(error_of("block (16); texture t of 4; write t[0];"),
            "1:29 textures and constants are only read (write array t of …;)");
  EXPECT_EQ(error_of("block (16); constant c of 4; shared s[1] of 4; store c[0] = s[0];"),
            "1:48 textures and constants are only read (write array c of …;)");
  EXPECT_EQ(
      error_of("block (16); order (threadIdx.x);"),
      "1:20 the order of thread blocks cannot depend on threads (only blockIdx, blockDim, gridDim, constants "
      "and choices are allowed here)");
  EXPECT_EQ(error_of("block (16); order (0); order (0);"), "1:24 this is declared twice");
  EXPECT_EQ(error_of("const n = 1; let n = 2; block (16);"), "1:18 'n' is a constant");
  EXPECT_EQ(error_of("block (16); for (i = 0; i < 4; j += 1) { }"), "1:32 the loop counts 'i'");
  EXPECT_EQ(error_of("block (blockIdx.x);"),
            "1:8 the launch is not known here (only constants and choices are allowed here)");
  EXPECT_EQ(error_of("block (99999999999999999999);"), "1:8 this number does not fit 64 bits");
  EXPECT_THAT(error_of("grid (4);"), testing::HasSubstr("the size of a block is missing"));
  EXPECT_THAT(error_of("block (" + std::string(1000, '(') + "1" + std::string(1000, ')') + ");"),
              testing::HasSubstr("nested too deeply"));
  const auto chain = [](int additions) {
    std::string text = "block (0";
    for (int i = 0; i < additions; ++i) text += "+1";
    return error_of(text + ");");
  };
  EXPECT_EQ(chain(399), "");
  EXPECT_EQ(chain(400), "1:8 the text is nested too deeply here");
  EXPECT_EQ(chain(100000).substr(0, 2), "1:");
}

TEST(Description, ValuesAreChecked) {
  EXPECT_EQ(error_of("block (32, 33);"), "1:8 a block can have at most 1024 threads; this one has 1056");
  EXPECT_EQ(error_of("block (0);"), "1:8 the block's size is 0 (from 1 to 1024)");
  EXPECT_EQ(error_of("const n = 4; block (8 / (n - 4));"), "1:21 this divides by zero");
  EXPECT_EQ(error_of("grid (65536, 65535, 65535); block (1);"), "1:7 the grid has 2^31 blocks or more");
  EXPECT_EQ(error_of("const size = 4; block (size);", {{"sise", 8}}),
            "0:0 there is no constant or choice 'sise' (did you mean 'size'?)");
  EXPECT_EQ(error_of("choice a = 1, 2; block (a);", {{"a", 0}}),
            "1:25 the block's size is 0 (from 1 to 1024)");
}

TEST(Description, ChoicesYieldEveryCombination) {
  const Result<Description> description =
      parse_description("choice a = 1, 2; const n = a * 10; choice b = n, n + 1; block (n, b);", "d");
  ASSERT_TRUE(description);
  const auto variants = variants_of(*description, {});
  ASSERT_TRUE(variants);
  ASSERT_EQ(variants->size(), 4u);
  EXPECT_THAT((*variants)[0].choices, ElementsAre(Pair("a", 1), Pair("b", 10)));
  EXPECT_THAT((*variants)[3].choices, ElementsAre(Pair("a", 2), Pair("b", 21)));
  EXPECT_EQ((*variants)[3].threads(), 20 * 21);
  const auto given = variants_of(*description, {{"a", 3}});
  ASSERT_TRUE(given);
  EXPECT_THAT((*given)[1].choices, ElementsAre(Pair("b", 31)));
}

TEST(Expression, FollowsCArithmetic) {
  const auto value = [](const std::string& text) {
    const Result<Description> description = parse_description("const v = " + text + "; block (1);", "d");
    EXPECT_TRUE(description) << text;
    const auto variants = variants_of(*description, {});
    EXPECT_TRUE(variants) << text;
    return variants->front().constants.front();
  };
  EXPECT_EQ(value("2 + 3 * 4 - 10 / 3 % 2"), 2 + 3 * 4 - 10 / 3 % 2);
  EXPECT_EQ(value("-7 / 2 * 2 + -7 % 2"), -7);
  EXPECT_EQ(value("1 << 4 | 3 & 6 ^ 1"), (1 << 4 | ((3 & 6) ^ 1)));
  EXPECT_EQ(value("(1 < 2) + (2 <= 2) * 10 + (3 > 4) * 100 + (4 >= 4) * 1000 + (1 == 1) * 10000"), 11011);
  EXPECT_EQ(value("!0 + ~0 + 0x1F"), 31);
  EXPECT_EQ(value("0 ? 1 : 1 ? 2 : 3"), 2);
  EXPECT_EQ(value("0 && 1 / 0 || 1"), 1) << "unneeded operands are not evaluated";
  EXPECT_EQ(value("0 ? 1 / 0 : 5"), 5);
  EXPECT_EQ(value("(-9223372036854775807 - 1) / -1"), std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace lynxpp::models::cumapz
