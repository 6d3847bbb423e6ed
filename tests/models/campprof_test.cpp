// The band compared with manual calculations: a device whose benchmark times are known straight lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "models/campprof/arithmetic.h"
#include "models/campprof/band.h"

namespace lynxpp::models::campprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Times of a device with 10 multiprocessors and 100 transactions per warp: spread 1 + w ms, reduced by 0.5
/// and 0.25 for 32 and 64 bytes; camped 4 times that; writes twice the reads.
double time_of(Direction direction, Placement placement, std::uint32_t type, double warps) {
  constexpr double less[] = {0.5, 0.25, 0};
  return (1 + warps - less[type]) * (placement == Placement::camped ? 4 : 1) *
         (direction == Direction::write ? 2 : 1);
}

Calibration straight() {
  Calibration calibration;
  calibration.device = "straight";
  calibration.date = "2026-11-24";
  calibration.multiprocessors = 10;
  calibration.most_warps = 32;
  calibration.partitions = 8;
  calibration.transactions_per_warp = 100;
  for (const Direction direction : {Direction::read, Direction::write}) {
    for (const Placement placement : {Placement::spread, Placement::camped}) {
      for (std::uint32_t type = 0; type < 3; ++type) {
        for (const std::uint32_t warps : configurations(32))
          calibration.samples.push_back(
              {direction, placement, type, warps, time_of(direction, placement, type, warps)});
        calibration.validity.push_back({direction, placement, type, 1.01});
      }
    }
  }
  return calibration;
}

std::string message_of(const auto& result) {
  return result ? "" : result.error().diagnostics.front().message;
}

TEST(CampProf, ConfigurationsMatchThePaper) {
  EXPECT_THAT(configurations(24),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24));
  EXPECT_EQ(configurations(32).size(), 24u);
  EXPECT_EQ(configurations(7).size(), 7u);
}

TEST(CampProf, EquationsReproduceStraightLines) {
  const Calibration calibration = straight();
  for (const Form form : {Form::sums, Form::products}) {
    const Result<Equations> equations = equations_of(calibration, form);
    ASSERT_TRUE(equations) << message_of(equations);
    const statistics::Regression& reads = equations->of(Direction::read, Placement::spread);
    EXPECT_NEAR(reads.coefficients[0].value, 1, 1e-12);
    EXPECT_NEAR(reads.coefficients[1].value, -0.5, 1e-12);
    EXPECT_NEAR(reads.coefficients[2].value, -0.25, 1e-12);
    EXPECT_NEAR(reads.intercept.value, 1, 1e-12);
    // 8 (1 + 6 - 0.25) ms for 10 multiprocessors with 6 warps each and 100 transactions.
    const auto one = equations->milliseconds_of_one(calibration, Direction::write, Placement::camped, 1, 6);
    ASSERT_TRUE(one);
    EXPECT_NEAR(*one, 54.0 / 6000, 1e-12);
  }
}

TEST(CampProf, LineIsTheSumOverTheTypes) {
  const Calibration calibration = straight();
  const Result<Equations> equations = equations_of(calibration, Form::sums);
  ASSERT_TRUE(equations);
  const Kernel kernel{{1000, 0, 3000}, {0, 500, 0}, 8, 16, 70.0};
  const Result<Band> band = band_of(calibration, *equations, kernel);
  ASSERT_TRUE(band) << message_of(band);
  const double reads = (1000 * 8.5 + 3000 * 9) / 8000, writes = 500 * 17.5 / 8000;
  EXPECT_NEAR(band->here.reads.best, reads, 1e-12);
  EXPECT_NEAR(band->here.reads.worst, 4 * reads, 1e-12);
  EXPECT_NEAR(band->here.writes.best, writes, 1e-12);
  EXPECT_NEAR(band->here.writes.worst, 4 * writes, 1e-12);
  EXPECT_EQ(band->points.size(), 16u);
  EXPECT_TRUE(band->left_out.empty());
}

TEST(CampProf, DegreeIsConstantAlongTheApplicationsLine) {
  const Calibration calibration = straight();
  const Result<Equations> equations = equations_of(calibration, Form::sums);
  // 1,000 reads of 128 bytes at w warps: best 1000 (1 + w) / 1000 w.
  Kernel kernel{{0, 0, 1000}, {}, 4, 20, 1.25 * 2.5};
  const Result<Band> band = band_of(calibration, *equations, kernel);
  ASSERT_TRUE(band) << message_of(band);
  ASSERT_TRUE(band->degree);
  EXPECT_NEAR(*band->degree, 0.5, 1e-12);
  EXPECT_NEAR(*band->degree_if_only_reads, 0.5, 1e-12);
  EXPECT_FALSE(band->degree_if_only_writes);
  EXPECT_NEAR(*band->share_of_ceiling, 33.0 / 32 / (1.25 * 2.5), 1e-12);  // at the device's 32 warps
  EXPECT_EQ(band->points.size(), 18u);
  for (const Point& point : band->points) {
    const double best = (1.0 + point.warps) / point.warps;
    EXPECT_NEAR(point.all().best, best, 1e-12);
    ASSERT_TRUE(point.application);
    EXPECT_NEAR(*point.application, 2.5 * best, 1e-12);
  }
  kernel.milliseconds.reset();
  const Result<Band> untimed = band_of(calibration, *equations, kernel);
  ASSERT_TRUE(untimed);
  EXPECT_FALSE(untimed->degree);
  EXPECT_FALSE(untimed->share_of_ceiling);
  EXPECT_FALSE(untimed->points[0].application);
}

TEST(CampProf, ReadsAndWritesAreJudgedSeparately) {
  const Calibration calibration = straight();
  const Result<Equations> equations = equations_of(calibration, Form::sums);
  // Reads and writes of 128 bytes: at 1 warp the reads take 2 to 8 ms and the writes 4 to 16 ms.
  Kernel kernel{{0, 0, 1000}, {0, 0, 1000}, 1, 1, 18.0};
  const Result<Band> writes_camped = band_of(calibration, *equations, kernel);
  ASSERT_TRUE(writes_camped) << message_of(writes_camped);
  EXPECT_NEAR(*writes_camped->degree, 12.0 / 18, 1e-12);
  EXPECT_NEAR(*writes_camped->degree_if_only_writes, 1, 1e-12);
  EXPECT_NEAR(*writes_camped->degree_if_only_reads, 2, 1e-12);  // the reads cannot explain the time
}

TEST(CampProf, AlmostNoWritesHaveNoDegreeOfTheirOwn) {
  const Calibration calibration = straight();
  const Result<Equations> equations = equations_of(calibration, Form::sums);
  // At 1 warp 1,000 reads take 2 to 8 ms, and a write 0.004 to 0.016 ms: a tenth of 3 ms is 25 writes.
  const auto with_writes = [&](double writes) {
    const Result<Band> band = band_of(calibration, *equations, {{0, 0, 1000}, {0, 0, writes}, 1, 1, 3.0});
    EXPECT_TRUE(band) << message_of(band);
    EXPECT_TRUE(band->degree && band->degree_if_only_reads);
    EXPECT_EQ(band->degree_if_only_writes.has_value(), apart_of(band->here.writes, 3.0) == Apart::enough);
    return apart_of(band->here.writes, 3.0);
  };
  EXPECT_EQ(with_writes(0), Apart::none);
  EXPECT_EQ(with_writes(1), Apart::too_few);
  EXPECT_EQ(with_writes(24.9), Apart::too_few);
  EXPECT_EQ(with_writes(25.1), Apart::enough);
  EXPECT_EQ(apart_of({2, 2.1}, 1), Apart::flat);
}

TEST(CampProf, TimeScalesWithInstructionsOrMemory) {
  // 1,000 instructions, 100 of them memory accesses: 4 more at each are 40 %.
  const AddedArithmetic none{4, 1000, 100, 10, 11, 11};
  const AddedArithmetic all{4, 1000, 100, 10, 11, 15};
  const AddedArithmetic some{4, 1000, 100, 10, 11, 12};
  EXPECT_NEAR(all.more_instructions(), 0.4, 1e-12);
  EXPECT_NEAR(some.longer(), 0.1, 1e-12);
  EXPECT_NEAR(*part_of_instructions(none), 0, 1e-12);
  EXPECT_NEAR(*part_of_instructions(all), 1, 1e-12);
  EXPECT_NEAR(*part_of_instructions(some), 0.25, 1e-12);
  EXPECT_EQ(message_of(part_of_instructions({4, 1000, 12, 10, 11, 12})),
            "4 additions at each access are 4.8 % more instructions: too few to determine if it is "
            "memory bound");
  EXPECT_TRUE(part_of_instructions({4, 1000, 12.5, 10, 11, 12}));
  for (const AddedArithmetic& each : {AddedArithmetic{4, 0, 0, 10, 11, 12},
                                      {4, 9, 9, 0, 11, 12},
                                      {4, 9, 9, 10, 0, 12},
                                      {4, 9, 9, 10, 11, 0}})
    EXPECT_THAT(message_of(part_of_instructions(each)), HasSubstr("are not known"));
}

TEST(CampProf, InvalidKernelsAreRejected) {
  const Calibration calibration = straight();
  const Result<Equations> equations = equations_of(calibration, Form::sums);
  const auto problem = [&](const Kernel& kernel) {
    return message_of(band_of(calibration, *equations, kernel));
  };
  EXPECT_THAT(problem({{}, {}, 4, 4, 1.0}), HasSubstr("no transactions"));
  EXPECT_THAT(problem({{1}, {}, 0, 4, 1.0}), HasSubstr("no active warps"));
  EXPECT_THAT(problem({{1}, {}, 8, 4, 1.0}), HasSubstr("8 active warps and could have 4"));
  EXPECT_THAT(problem({{-1}, {}, 4, 4, 1.0}), HasSubstr("negative"));
  EXPECT_THAT(problem({{1}, {}, 4, 4, 0.0}), HasSubstr("not above 0"));

  Calibration few = calibration;
  std::erase_if(few.samples, [](const Sample& each) { return each.placement == Placement::camped; });
  EXPECT_THAT(message_of(equations_of(few, Form::sums)), HasSubstr("reads, camped: too few points"));
  Calibration flat = calibration;
  for (Sample& each : flat.samples)
    each.milliseconds = time_of(each.direction, Placement::spread, each.type, each.warps);
  const Result<Equations> same = equations_of(flat, Form::sums);
  ASSERT_TRUE(same);
  EXPECT_THAT(message_of(band_of(flat, *same, {{0, 0, 1}, {}, 4, 4, 1.0})), HasSubstr("does not camp"));
}

TEST(CampProf, SamplesYieldTimesWhereStraightLinesDoNot) {
  // Flat until the memory is saturated, then proportional to the warps: at 8, 16 and 24 warps.
  Calibration calibration = straight();
  for (Sample& each : calibration.samples)
    each.milliseconds = std::max(8.0 * (3 - each.type), 1.0 * each.warps) * (each.type + 1) *
                        (each.placement == Placement::camped ? 7 : 1);
  const Result<Equations> sums = equations_of(calibration, Form::sums);
  const Result<Equations> samples = equations_of(calibration, Form::samples);
  ASSERT_TRUE(sums);
  ASSERT_TRUE(samples);
  EXPECT_TRUE(gaps_of(calibration, *samples).empty());
  const auto one = [&](std::uint32_t type, double warps) {
    return samples->milliseconds_of_one(calibration, Direction::read, Placement::spread, type, warps);
  };
  EXPECT_NEAR(*one(0, 4), 24.0 / 4000, 1e-12);
  EXPECT_NEAR(*one(2, 16), 3 * 16.0 / 16'000, 1e-12);
  EXPECT_NEAR(*one(2, 17), 3 * 17.0 / 17'000, 1e-12);  // 17 was not measured: between 16 and 18
  EXPECT_FALSE(one(2, 33));
  EXPECT_FALSE(one(2, 0.5));
  const Kernel kernel{{1000, 0, 0}, {}, 1, 32, 24.0 * 4};
  const Result<Band> band = band_of(calibration, *samples, kernel);
  ASSERT_TRUE(band) << message_of(band);
  EXPECT_EQ(band->points.size(), 24u);
  EXPECT_NEAR(*band->degree, (96 - 24) / (6.0 * 24), 1e-12);
}

TEST(CampProf, GapsOfEquationsAreReported) {
  Calibration calibration = straight();
  // 0 at 2.5 warps.
  for (Sample& each : calibration.samples)
    each.milliseconds = each.placement == Placement::spread ? each.warps + 1.0 : 10.0 * each.warps - 25;
  const Result<Equations> sums = equations_of(calibration, Form::sums);
  ASSERT_TRUE(sums);
  const std::vector<Gap> gaps = gaps_of(calibration, *sums);
  ASSERT_EQ(gaps.size(), 6u);  // reads and writes of three sizes, camped
  for (const Gap& gap : gaps) {
    EXPECT_EQ(gap.placement, Placement::camped);
    EXPECT_THAT(gap.warps, ElementsAre(1, 2));
  }
}

/// Ratios of an H100 at 64 warps (docs/measurements): reads camp, writes do not.
TEST(CampProf, ReadsHaveABandEvenIfWritesDoNotCamp) {
  Calibration calibration = straight();
  constexpr double reads[] = {14.24, 7.70, 8.01}, writes[] = {1.01, 1.04, 1.00};
  for (Sample& each : calibration.samples) {
    const double spread = time_of(each.direction, Placement::spread, each.type, each.warps);
    const double ratio = each.direction == Direction::read ? reads[each.type] : writes[each.type];
    each.milliseconds = spread * (each.placement == Placement::camped ? ratio : 1);
  }
  EXPECT_NEAR(
      longest_of(calibration, Direction::read, 0).camped / longest_of(calibration, Direction::read, 0).spread,
      14.24, 1e-9);
  EXPECT_EQ(longest_of(calibration, Direction::write, 2).warps, 32u);
  const Result<Equations> samples = equations_of(calibration, Form::samples);
  ASSERT_TRUE(samples);
  const Kernel both{{0, 0, 1000}, {0, 0, 1000}, 4, 32, 40.0};
  const Result<Band> band = band_of(calibration, *samples, both);
  ASSERT_TRUE(band) << message_of(band);
  EXPECT_TRUE(band->degree);
  EXPECT_TRUE(band->degree_if_only_reads);
  EXPECT_FALSE(band->degree_if_only_writes);
  const Kernel only_writes{{}, {1000, 1000, 1000}, 4, 32, 40.0};
  EXPECT_THAT(message_of(band_of(calibration, *samples, only_writes)), HasSubstr("does not camp"));
}

TEST(CampProf, MissingBenchmarkIsReported) {
  Calibration calibration = straight();
  std::erase_if(calibration.samples, [](const Sample& each) {
    return each.direction == Direction::write && each.placement == Placement::camped && each.type == 1;
  });
  EXPECT_EQ(message_of(equations_of(calibration, Form::samples)), "no times of writes of 64 bytes, camped");
}

TEST(CampProf, ConfigurationsWithoutATimeAreOmitted) {
  Calibration calibration = straight();
  for (Sample& each : calibration.samples)
    each.milliseconds = each.placement == Placement::spread ? each.warps + 1.0 : 10.0 * each.warps - 25;
  const Result<Equations> equations = equations_of(calibration, Form::sums);
  ASSERT_TRUE(equations);
  const Result<Band> band = band_of(calibration, *equations, {{0, 0, 100}, {}, 8, 8, 1.0});
  ASSERT_TRUE(band) << message_of(band);
  EXPECT_THAT(band->left_out, ElementsAre(1, 2));
  EXPECT_EQ(band->points.front().warps, 3u);
  EXPECT_THAT(message_of(band_of(calibration, *equations, {{0, 0, 100}, {}, 2, 8, 1.0})),
              HasSubstr("at 2 active warps the equations yield no time"));
}

TEST(CampProf, CalibrationSurvivesARoundTrip) {
  const Calibration calibration = straight();
  const Result<std::string> text = to_json(calibration);
  ASSERT_TRUE(text) << message_of(text);
  const Result<Calibration> again = parse_calibration(*text, "c.json");
  ASSERT_TRUE(again) << message_of(again);
  EXPECT_EQ(again->device, "straight");
  EXPECT_TRUE(again->is_modelled);
  EXPECT_EQ(again->loop, Calibration::Loop::bare);
  EXPECT_EQ(again->samples.size(), calibration.samples.size());
  EXPECT_EQ(again->validity.size(), 12u);
  EXPECT_EQ(*to_json(*again), *text);
}

TEST(CampProf, CalibrationErrorsAreReported) {
  const std::string text = *to_json(straight());
  const auto problem_with = [&](const std::string& old, const std::string& now) {
    std::string changed = text;
    changed.replace(changed.find(old), old.size(), now);
    return message_of(parse_calibration(changed, "c.json"));
  };
  EXPECT_EQ(message_of(parse_calibration("[1]", "c.json")), "the file is not a calibration");
  EXPECT_THAT(message_of(parse_calibration("{", "c.json")), testing::StartsWith("syntax error"));
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  const auto nested = parse_calibration("{\"lynxpp_calibration\": 1,\n\"samples\": " + deep + "}", "c.json");
  ASSERT_FALSE(nested);
  EXPECT_EQ(render(nested.error().diagnostics), "c.json:2:111: error: the JSON is nested too deeply here\n");
  EXPECT_EQ(problem_with("\"lynxpp_calibration\": 1", "\"lynxpp_calibration\": 7"),
            "the calibration has version 7; this lynxpp reads version 1");
  EXPECT_EQ(problem_with("\"partitions\": 8", "\"partitions\": 0"),
            "'partitions' must be a positive integer");
  EXPECT_EQ(problem_with("\"date\"", "\"dote\""), "'date' is missing");
  EXPECT_EQ(problem_with("\"ms\": 1.5", "\"ms\": -1.5"), "'ms' must be a number above 0");
  EXPECT_EQ(problem_with("\"direction\": \"read\",\n   \"placement\": \"spread\",\n   \"bytes\": 32",
                         "\"direction\": \"read\",\n   \"placement\": \"spread\",\n   \"bytes\": 33"),
            "'bytes' must be 32, 64 or 128");
}

}  // namespace
}  // namespace lynxpp::models::campprof
