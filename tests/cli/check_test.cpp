#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "instrumentors/catalogue.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;

constexpr const char* counter =
    "// Counts block executions.\n"
    "global unsigned long counts[BASIC_BLOCKS];\n"
    "ON_BASIC_BLOCK_ENTRY: {\n"
    "  atomicAdd(&counts[basicBlockId()], 1);\n"
    "}\n";

TEST(Check, AGoodSpecificationIsSummarised) {
  const TemporaryFolder folder;
  const std::string path = folder.write("good.cod", counter);
  const Outcome outcome = lynxpp({"check", path});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, testing::StartsWith(path + ": ok, 1 handler, 1 array, 0 per-thread variables"));
  EXPECT_EQ(outcome.err, "");
}

TEST(Check, AnErrorHasItsPlaceALineAndACaret) {
  const TemporaryFolder folder;
  const std::string path = folder.write("bad.cod",
                                        "global unsigned long counts[BASIC_BLOCKS];\n"
                                        "ON_BASIC_BLOCK_ENTRY: {\n"
                                        "  atomicAdd(&counts[basicBlockIdd()], 1);\n"
                                        "}\n");
  const Outcome outcome = lynxpp({"check", path});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, testing::StartsWith(path + ":3:21: error: "));
  EXPECT_THAT(
      outcome.err,
      HasSubstr("\n    atomicAdd(&counts[basicBlockIdd()], 1);\n                      ^~~~~~~~~~~~~\n"));
  EXPECT_THAT(outcome.err, HasSubstr("basicBlockId"));
}

TEST(Check, OneBadFileAmongSeveralIsEnough) {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.cod", counter);
  const std::string bad = folder.write("bad.cod", "ON_KERNEL_ENTRY: { int x = ; }\n");
  const Outcome outcome = lynxpp({"check", bad, good, "./absent.cod"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out, testing::StartsWith(good + ": ok"));
  EXPECT_THAT(outcome.err, testing::StartsWith(bad + ":1:"));
  EXPECT_THAT(outcome.err,
              HasSubstr("lynxpp: error: cannot read specification './absent.cod': no such file\n"));
}

TEST(Check, EmitsThePtxOfEveryHandler) {
  const TemporaryFolder folder;
  const Outcome outcome = lynxpp({"check", "--emit-ptx", "--sm", "80", folder.write("good.cod", counter)});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("// good: ON_BASIC_BLOCK_ENTRY of line 3\n"));
  EXPECT_THAT(outcome.out, HasSubstr(".target sm_80"));
  EXPECT_THAT(outcome.out, HasSubstr("__lynxpp_site_basic_block_id"));
}

TEST(Check, EveryReadyMadeSpecificationIsGood) {
  std::vector<std::string> arguments{"check"};
  for (const instrumentors::ReadyMade& entry : instrumentors::ready_made())
    arguments.emplace_back(entry.name);
  ASSERT_GT(arguments.size(), 1u);
  const Outcome outcome = lynxpp(arguments);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const instrumentors::ReadyMade& entry : instrumentors::ready_made()) {
    EXPECT_THAT(outcome.out, HasSubstr("ready-made/" + std::string(entry.name) + ".cod: ok, "));
  }
}

}  // namespace
}  // namespace lynxpp::cli
