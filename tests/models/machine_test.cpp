#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/machine.h"

namespace lynxpp::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Machine machine(const std::string& name) {
  Result<Machine> found = find_machine(name);
  EXPECT_TRUE(found);
  return *found;
}

TEST(Machines, AreBuiltIn) {
  EXPECT_THAT(machine_names(), ElementsAre("compute_1_3", "compute_1_3_six", "compute_9_0", "h100"));
  for (const std::string& name : machine_names()) EXPECT_EQ(machine(name).name, name);
}

TEST(Machines, UnknownNamesAreReported) {
  const Result<Machine> found = find_machine("compute_1_2");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().diagnostics[0].hint, "did you mean 'compute_1_3'?");
  EXPECT_FALSE(find_machine("./absent.json"));
}

// Calculated by hand from the limits in models/machines.
TEST(Occupancy, IsExactForComputeCapability13) {
  const Machine old = machine("compute_1_3");
  EXPECT_EQ(occupancy(old, {256, 10, 1024}).blocks, 4u);
  EXPECT_EQ(occupancy(old, {256, 10, 1024}).share, 1.0);
  EXPECT_EQ(occupancy(old, {256, 17, 0}).blocks, 3u) << "4352 registers become 4608";
  EXPECT_EQ(occupancy(old, {64, 0, 0}).blocks, 8u);
  EXPECT_EQ(occupancy(old, {64, 0, 0}).share, 0.5);
  EXPECT_EQ(occupancy(old, {64, 0, 4096}).blocks, 3u) << "16 bytes of parameters increase 4096 to 4608";
  EXPECT_EQ(occupancy(old, {513, 0, 0}).blocks, 0u);
}

TEST(Occupancy, IsExactForComputeCapability90) {
  const Machine now = machine("compute_9_0");
  EXPECT_EQ(occupancy(now, {256, 32, 0}).share, 1.0);
  EXPECT_EQ(occupancy(now, {256, 33, 0}).blocks, 6u) << "40 registers per thread";
  EXPECT_EQ(occupancy(now, {32, 32, 0}).blocks, 32u);
  EXPECT_EQ(occupancy(now, {128, 32, 100 * 1024}).blocks, 2u);
  EXPECT_EQ(occupancy(now, {128, 32, 228 * 1024}).blocks, 0u) << "a block reserves another 1 KB";
}

TEST(Terms, AreAdvisedUnlessTheyAreKnownNotToFollowGains) {
  const Machine measured = machine("compute_9_0");
  EXPECT_TRUE(measured.advises("shm_eff"));
  EXPECT_FALSE(measured.advises("lat_hiding"));
  EXPECT_TRUE(measured.advises("ch_skew")) << "not compared";
  EXPECT_TRUE(machine("compute_1_3").advises("lat_hiding"));
  Machine edge;
  edge.correlations = {{"bw_util", Machine::least_correlation}, {"shm_eff", 0.49}};
  EXPECT_TRUE(edge.advises("bw_util"));
  EXPECT_FALSE(edge.advises("shm_eff"));
}

TEST(MachineFile, ErrorsAreReported) {
  EXPECT_EQ(render(parse_machine("{", "m.json").error().diagnostics).substr(0, 26),
            "m.json:1:2: error: syntax ");
  const Result<Machine> machine =
      parse_machine(R"({"name": "m", "warp_size": 64, "residensy": {}})", "m.json");
  ASSERT_FALSE(machine);
  std::vector<std::string> messages;
  for (const Diagnostic& each : machine.error().diagnostics) {
    messages.push_back(each.message + "; " + each.hint);
    EXPECT_EQ(each.location.file, "m.json");
  }
  EXPECT_THAT(messages, testing::IsSupersetOf({"'warp_size' must be an integer from 32 to 32; ",
                                               "'residency' is missing; ", "'shared.banks' is missing; ",
                                               "there is no member 'residensy'; did you mean 'residency'?"}));
}

}  // namespace
}  // namespace lynxpp::models
