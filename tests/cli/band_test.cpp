// `lynxpp band calibrate` with benchmarks whose times are known straight lines, and `lynxpp band` with values
// given as options on the resulting calibration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support/text.h"
#include "tests/cli/process.h"

namespace lynxpp::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

/// 10 multiprocessors, 8 warps, 100 transactions per warp: reads take 1 + w ms, 0.5 and 0.25 ms less for 32
/// and 64 bytes; camped 4 times that; writes twice the reads. `warps` is the header's value.
std::string benchmarks(const std::string& extra = "") {
  std::string text =
      "#!/bin/sh\ncat <<'END'\ndevice Straight 1000\nmultiprocessors 10\nwarps 8\ntransactions 100\n";
  for (const bool is_write : {false, true}) {
    for (const bool is_camped : {false, true}) {
      for (const int bytes : {32, 64, 128}) {
        const std::string what = std::string(is_write ? "write " : "read ") +
                                 (is_camped ? "camped " : "spread ") + std::to_string(bytes) + " ";
        const double less = bytes == 32 ? 0.5 : bytes == 64 ? 0.25 : 0;
        for (int warps = 1; warps <= 8; ++warps) {
          const double time = (1 + warps - less) * (is_camped ? 4 : 1) * (is_write ? 2 : 1);
          text += "sample " + what + std::to_string(warps) + " " + std::to_string(time) + "\n";
        }
        text += "validity " + what + (bytes == 32 && !is_camped ? "1.5" : "1.02") + "\n";
      }
    }
  }
  return text + extra + "END\n";
}

/// A user with their own data folder, on a modelled machine.
class Band : public testing::Test {
 protected:
  Outcome run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), LYNXPP_COMMAND);
    return start(arguments, {{"XDG_DATA_HOME", folder_.path("data")}});
  }
  Outcome calibrate(const std::string& program, std::vector<std::string> more = {}) const {
    const std::string file = folder_.write("benchmarks", program);
    EXPECT_EQ(start({"/bin/chmod", "+x", file}).exit_code, 0);
    std::vector<std::string> arguments{"band", "calibrate", "--machine", "compute_1_3", "--benchmarks", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  std::string kept() const { return folder_.path("data/lynxpp/calibrations/compute_1_3.json"); }

  TemporaryFolder folder_;
};

TEST_F(Band, CalibrationShowsAndKeepsItsEquations) {
  const Outcome outcome = calibrate(benchmarks());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("calibration of compute_1_3"));
  EXPECT_THAT(outcome.out, HasSubstr("times modelled"));
  EXPECT_THAT(outcome.out,
              HasSubstr("writes of 128 bytes, 8 warps: 18 ms spread, 72 ms camped, 4.00 times as long"));
  EXPECT_THAT(outcome.out, HasSubstr("stored in " + kept()));
  EXPECT_THAT(outcome.err, HasSubstr("the benchmark of reads of 32 bytes, spread, is not memory bound: added "
                                     "arithmetic makes it take 1.50 times as long"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("camped")));
  std::string text;
  ASSERT_TRUE(read_file(kept(), text));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["modelled"], true);
  EXPECT_EQ(json["samples"].size(), 96u);
  const auto& reads = json["equations"]["sums"][0];
  EXPECT_NEAR(reads["intercept"]["value"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(reads["coefficients"][0]["value"].get<double>(), 1, 1e-9);
  EXPECT_NEAR(reads["coefficients"][1]["value"].get<double>(), -0.5, 1e-9);
  EXPECT_NEAR(reads["coefficients"][2]["value"].get<double>(), -0.25, 1e-9);
}

TEST_F(Band, TypedNumbersMatchGolden) {
  ASSERT_EQ(calibrate(benchmarks(), {"-o", folder_.path("c.json")}).exit_code, 0);
  // The file contains today's date.
  std::string text;
  ASSERT_TRUE(read_file(folder_.path("c.json"), text));
  const std::size_t date = text.find("\"date\": \"") + 9;
  folder_.write("c.json", text.replace(date, 10, "2026-11-24"));
  const Outcome outcome = run({"band", "-c", folder_.path("c.json"), "--gld-128", "1000", "--gst-64", "500",
                               "--warps", "4", "--time", "4"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string path = LYNXPP_SOURCE_DIR "/tests/cli/golden/band.txt";
  if (std::getenv("LYNXPP_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file(path, outcome.out));
  }
  std::string expected;
  ASSERT_TRUE(read_file(path, expected)) << path;
  EXPECT_EQ(outcome.out, expected);
}

TEST_F(Band, JsonHasTheComputedBand) {
  ASSERT_EQ(calibrate(benchmarks()).exit_code, 0);
  // 1,000 reads of 128 bytes at w warps: best 1000 (1 + w) / 1000 w ms, worst 4 times that.
  const Outcome outcome = run({"band", "--json", "--gld-128", "1000", "--warps", "4", "--time", "3.125"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_NEAR(json["best_ms"].get<double>(), 1.25, 1e-9);
  EXPECT_NEAR(json["worst_ms"].get<double>(), 5, 1e-9);
  EXPECT_NEAR(json["degree"].get<double>(), 0.5, 1e-9);
  EXPECT_EQ(json["degree_if_only_stores"], nullptr);
  ASSERT_EQ(json["points"].size(), 8u);
  for (const auto& point : json["points"]) {
    const double best = (1 + point["warps"].get<double>()) / point["warps"].get<double>();
    EXPECT_NEAR(point["best_ms"].get<double>(), best, 1e-9);
    EXPECT_NEAR(point["application_ms"].get<double>(), 2.5 * best, 1e-9);
  }
}

TEST_F(Band, ShareOfTheCeilingTellsMemoryBoundKernels) {
  ASSERT_EQ(calibrate(benchmarks()).exit_code, 0);
  // 1,000 reads of 128 bytes take 1.25 ms at 4 warps and 1.125 ms at 8, the maximum.
  const auto says = [&](const char* time) {
    return run({"band", "--gld-128", "1000", "--warps", "4", "--time", time}).out;
  };
  EXPECT_THAT(says("1.5"),
              HasSubstr("75 % of the memory rate with all accesses spread at 8 warps: memory bound\n"));
  EXPECT_THAT(says("4.5"),
              HasSubstr("25 % of the memory rate with all accesses spread at 8 warps: it waits for"));
  EXPECT_THAT(
      says("1.13"),
      HasSubstr(
          "100 % of the memory rate with all accesses spread at 8 warps: more than a tenth below the band"));
  EXPECT_THAT(says("0.9"),
              HasSubstr("125 % of the memory rate with all accesses spread at 8 warps: a cache serves"));
}

TEST_F(Band, NegligibleStoresHaveNoDegreeOfCamping) {
  ASSERT_EQ(calibrate(benchmarks()).exit_code, 0);
  // At 4 warps 1,000 loads take 1.25 to 5 ms, and a store of 128 bytes 0.0025 to 0.01.
  std::vector<std::string> arguments{"band",    "--gld-128", "1000",   "--gst-128", "4",
                                     "--warps", "4",         "--time", "3"};
  EXPECT_THAT(run(arguments).out,
              HasSubstr("were only the writes camped: too few: best and worst are 1 % of the time apart\n"));
  arguments.insert(arguments.end(), {"--html", folder_.path("few.html"), "--json"});
  const auto json = nlohmann::json::parse(run(arguments).out);
  EXPECT_EQ(json["degree_if_only_stores"], nullptr);
  EXPECT_GT(json["degree_if_only_loads"].get<double>(), 0.4);
  std::string html;
  ASSERT_TRUE(read_file(folder_.path("few.html"), html));
  EXPECT_THAT(html, HasSubstr("<li>were only the writes camped: too few:"));
}

TEST_F(Band, SmallGridLimitsActiveWarps) {
  ASSERT_EQ(calibrate(benchmarks()).exit_code, 0);
  // 15 blocks of 3 warps on 10 multiprocessors: two blocks on some of them.
  const Outcome outcome =
      run({"band", "--json", "--gld-128", "1000", "--warps", "8", "--grid", "15", "--block", "96"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["warps"], 6);
  EXPECT_EQ(json["degree"], nullptr);
  EXPECT_EQ(json["notes"][0], "the grid has blocks for 6 active warps only");
}

TEST_F(Band, HashedAddressesHaveNoDegreeOfCamping) {
  ASSERT_EQ(calibrate(benchmarks(), {"-o", folder_.path("known.json")}).exit_code, 0);
  std::string text;
  ASSERT_TRUE(read_file(folder_.path("known.json"), text));
  auto hashed = nlohmann::json::parse(text);
  EXPECT_EQ(hashed["partitions"], 8);
  hashed["partitions"] = 4096;  // as for every GPU and for machines without a channel width
  folder_.write("hashed.json", hashed.dump());
  const auto show = [&](const char* file, bool json) {
    std::vector<std::string> arguments{"band",    "-c", folder_.path(file), "--gld-128", "1000",
                                       "--warps", "4",  "--time",           "4.5"};
    if (json) arguments.emplace_back("--json");
    return run(arguments).out;
  };
  EXPECT_THAT(show("known.json", false), HasSubstr("degree of camping 0.87"));
  EXPECT_THAT(show("known.json", false), HasSubstr("it waits for camped partitions"));
  const std::string none = show("hashed.json", false);
  EXPECT_THAT(none, HasSubstr("no degree of camping: the device hashes addresses"));
  EXPECT_THAT(none, Not(HasSubstr("degree of camping 0")));
  EXPECT_THAT(none, Not(HasSubstr("camped:")));
  EXPECT_THAT(none, Not(HasSubstr("camped partitions")));
  const auto json = nlohmann::json::parse(show("hashed.json", true));
  EXPECT_EQ(json["degree"], nullptr);
  EXPECT_EQ(json["degree_if_only_loads"], nullptr);
  EXPECT_THAT(json["notes"].back().get<std::string>(), HasSubstr("hashes addresses"));
  // The application line extrapolates the time; it needs no partitions.
  EXPECT_NE(json["points"][0]["application_ms"], nullptr);
}

TEST_F(Band, LinesAreInterpolatedAndByRegression) {
  ASSERT_EQ(calibrate(benchmarks()).exit_code, 0);
  std::vector<std::string> arguments{"band",  "--gld-128",          "1000", "--warps", "4", "--time", "3.125",
                                     "--csv", folder_.path("b.csv")};
  const std::string out = run(arguments).out;
  EXPECT_THAT(out, HasSubstr("interpolation"));
  EXPECT_THAT(out, HasSubstr("regression"));
  EXPECT_THAT(out, HasSubstr("Trust: modelled; "));
  std::string csv;
  ASSERT_TRUE(read_file(folder_.path("b.csv"), csv));
  const std::vector<std::string> lines = split(csv, '\n');
  EXPECT_EQ(lines[0], "kernel,device,times,lines,warps,best_ms,application_ms,worst_ms,ms");
  EXPECT_EQ(lines[4], "kernel,compute_1_3,modelled,interpolation,4,1.25,3.125,5,3.125");
  EXPECT_EQ(lines[12], "kernel,compute_1_3,modelled,regression,4,1.25,3.125,5,3.125");
  arguments.insert(arguments.end(), {"-e", "sums"});
  EXPECT_THAT(run(arguments).out, Not(HasSubstr("interpolation")));
  ASSERT_TRUE(read_file(folder_.path("b.csv"), csv));
  EXPECT_THAT(csv, Not(HasSubstr("interpolation")));
}

TEST_F(Band, DrawsTheBand) {
  ASSERT_EQ(calibrate(benchmarks()).exit_code, 0);
  const Outcome outcome = run({"band", "--gld-128", "1000", "--warps", "4", "--time", "3", "--svg",
                               folder_.path("band.svg"), "--html", folder_.path("band.html")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::string svg, html;
  ASSERT_TRUE(read_file(folder_.path("band.svg"), svg));
  ASSERT_TRUE(read_file(folder_.path("band.html"), html));
  for (const char* line : {"worst, 1: 8", "best, 1: 2", "as it ran, 4: 3", "milliseconds, modelled"})
    EXPECT_THAT(svg, HasSubstr(line));
  EXPECT_THAT(html, HasSubstr(svg));
  EXPECT_THAT(html, HasSubstr("degree of camping 0.47"));
}

TEST_F(Band, ReportsErrors) {
  EXPECT_THAT(run({"band", "--gld-32", "1", "--warps", "1"}).err, HasSubstr("no device is calibrated"));
  EXPECT_THAT(run({"band", "calibrate", "--machine", "abacus"}).err, HasSubstr("abacus"));
  ASSERT_EQ(calibrate(benchmarks()).exit_code, 0);
  EXPECT_THAT(run({"band", "-c", "GeForce", "--gld-32", "1", "--warps", "1"}).err,
              HasSubstr("the device 'GeForce' is not calibrated"));
  const Outcome none = run({"band", "--warps", "4"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("makes no transactions"));
  EXPECT_THAT(run({"band", "--gld-32", "1"}).err, HasSubstr("active warps are not known"));
  EXPECT_THAT(run({"band", "--gld-32", "1", "--warps", "8", "--most-warps", "64"}).err,
              HasSubstr("holds 8 warps"));
  EXPECT_THAT(run({"band", "/no/such/program"}).err, HasSubstr("cannot find the program"));

  std::string text;
  ASSERT_TRUE(read_file(kept(), text));
  folder_.write("old.json", text.replace(text.find("calibration\": 1"), 15, "calibration\": 9"));
  EXPECT_THAT(run({"band", "-c", folder_.path("old.json"), "--gld-32", "1", "--warps", "1"}).err,
              HasSubstr("the calibration has version 9; this lynxpp reads version 1"));
  EXPECT_THAT(calibrate(benchmarks("sample read nowhere\n")).err, HasSubstr("printed 'sample read nowhere'"));
  EXPECT_THAT(calibrate("#!/bin/sh\nexit 3\n").err, HasSubstr("failed with exit code 3"));
}

}  // namespace
}  // namespace lynxpp::cli
