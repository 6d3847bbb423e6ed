// Weights fitted to implementations whose speed is a closed form.
#include "models/proplusplus/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "models/proplusplus/hardware.h"
#include "support/text.h"

namespace lynxpp::models::proplusplus {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

/// Implementations whose speed, relative to the fastest one, is 1 minus Σ weight × difference to it.
std::vector<Implementation> made_for(const PerCriterion<double>& weights, std::size_t primitives,
                                     double noise = 0) {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed,cert-msc*): the same in every run
  std::uniform_real_distribution<double> any(0.2, 0.8), small(-noise, noise);
  std::vector<Implementation> all;
  for (std::size_t p = 0; p < primitives; ++p) {
    std::vector<double> speeds;
    for (std::size_t m = 0; m < 4; ++m) {
      Implementation each{"primitive " + std::to_string(p), std::to_string(m), {}, 0};
      double speed = 0;
      for (std::size_t i = 0; i < criterion_count; ++i) {
        each.criteria.values[i] = i + 1 == criterion_count ? 1 : any(random);
        speed += weights.values[i] * *each.criteria.values[i];
      }
      speeds.push_back(speed + (noise > 0 ? small(random) : 0));
      all.push_back(each);
    }
    const double best = std::ranges::max(speeds);
    for (std::size_t m = 0; m < 4; ++m) all[all.size() - 4 + m].seconds = 1e-6 / (1 - (best - speeds[m]));
  }
  return all;
}

TEST(WeightFit, RecoversTheWeightsOfTheSpeeds) {
  const Result<WeightFit> fit = fit_weights(made_for({{0.1, 0, 0.2, 0, 0, 0.3, 0.4, 0}}, 5));
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->primitives, 5u);
  EXPECT_EQ(fit->used.size(), 20u);
  EXPECT_NEAR(fit->criteria[Criterion::occupancy].coefficient, 0.1, 1e-9);
  EXPECT_NEAR(fit->criteria[Criterion::memory_coalescing].coefficient, 0.4, 1e-9);
  // DT is the same for all and keeps 50 of 405; the rest is proportional to the coefficients.
  const Weights weights = fit->weights("test");
  EXPECT_THAT(weights.of.values, ElementsAre(DoubleNear(35.5, 1e-6), DoubleNear(0, 1e-6),
                                             DoubleNear(71, 1e-6), DoubleNear(0, 1e-6), DoubleNear(0, 1e-6),
                                             DoubleNear(106.5, 1e-6), DoubleNear(142, 1e-6), 50));
  EXPECT_NEAR(fit->r_squared, 1, 1e-9);
  EXPECT_NEAR(fit->validated_r_squared, 1, 1e-9);
  EXPECT_NEAR(fit->validated_rmse, 0, 1e-6);
  // The times of some of the 30 pairs differ by less than 5 %.
  EXPECT_GT(fit->fitted.pairs, 20u);
  EXPECT_LT(fit->fitted.pairs, 30u);
  EXPECT_EQ(fit->fitted.right, fit->fitted.pairs);
  EXPECT_EQ(fit->validated.order, fit->fitted);
  EXPECT_FALSE(fit->validated.is_chance());
  EXPECT_LT(fit->papers.right, fit->papers.pairs);
}

TEST(WeightFit, NoiseReducesValidatedAccuracyMore) {
  const Result<WeightFit> fit = fit_weights(made_for({{0.1, 0, 0.2, 0, 0, 0.3, 0.4, 0}}, 8, 0.05));
  ASSERT_TRUE(fit);
  EXPECT_LT(fit->r_squared, 1);
  EXPECT_LT(fit->validated_r_squared, fit->r_squared);
  EXPECT_GT(fit->validated_r_squared, 0.5);
  const FittedCriterion& coalescing = fit->criteria[Criterion::memory_coalescing];
  EXPECT_NEAR(coalescing.coefficient, 0.4, 0.1);
}

TEST(WeightFit, CriterionAgainstSpeedHasNoWeight) {
  const Result<WeightFit> fit = fit_weights(made_for({{0.5, 0, 0, -0.4, 0, 0, 0.3, 0}}, 5));
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->criteria[Criterion::synchronization].outcome, FittedCriterion::Outcome::against);
  EXPECT_EQ(fit->criteria[Criterion::synchronization].weight, 0);
  EXPECT_EQ(fit->criteria[Criterion::data_transfer].outcome, FittedCriterion::Outcome::same);
  double sum = 0;
  for (const FittedCriterion& each : fit->criteria.values) sum += each.weight;
  EXPECT_NEAR(sum, 405, 1e-9);
}

TEST(WeightFit, AlmostConstantCriterionKeepsThePapersWeight) {
  // A criterion that differs in the sixth digit would get nearly all of the weight by the speeds alone.
  std::vector<Implementation> all = made_for({{0.5, 0, 0, 0, 0, 0, 0.3, 0}}, 5, 0.02);
  for (Implementation& each : all)
    each.criteria[Criterion::data_transfer] = 1 - 1e-6 / (each.seconds * 1e6 + 1);
  const Result<WeightFit> fit = fit_weights(all);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->criteria[Criterion::data_transfer].outcome, FittedCriterion::Outcome::same);
  EXPECT_EQ(fit->criteria[Criterion::data_transfer].weight, 50);
  EXPECT_GT(fit->criteria[Criterion::occupancy].weight, 100);
}

TEST(WeightFit, IncomparableImplementationsAreOmitted) {
  std::vector<Implementation> all = made_for({{0.5, 0, 0, 0, 0, 0, 0.5, 0}}, 5);
  all.push_back({"alone", "one", all.front().criteria, 1e-6});
  all.push_back({"primitive 0", "not timed", all.front().criteria, 0});
  all.push_back({"primitive 1", "not known", all.front().criteria, 1e-6});
  all.back().criteria[Criterion::memory_hierarchy].reset();
  const Result<WeightFit> fit = fit_weights(all);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->left_out, 3u);
  EXPECT_EQ(fit->used.size(), 20u);
}

TEST(WeightFit, TooFewImplementationsAreRejected) {
  const Result<WeightFit> two = fit_weights(made_for({{0.5, 0, 0, 0, 0, 0, 0.5, 0}}, 2));
  ASSERT_FALSE(two);
  EXPECT_THAT(render(two.error().diagnostics),
              HasSubstr("too few implementations to fit weights to: 8 of 2 primitives"));
  EXPECT_FALSE(fit_weights({}));
  std::vector<Implementation> alike = made_for({{0.5, 0, 0, 0, 0, 0, 0.5, 0}}, 5);
  for (Implementation& each : alike) each.seconds = 1;
  const Result<WeightFit> none = fit_weights(alike);
  ASSERT_FALSE(none);
  EXPECT_THAT(render(none.error().diagnostics), HasSubstr("no criterion correlates with the speed"));
}

TEST(WeightFit, ResultParsesAsWeights) {
  const Result<WeightFit> fit = fit_weights(made_for({{0.1, 0, 0.2, 0, 0, 0.3, 0.4, 0}}, 5));
  ASSERT_TRUE(fit);
  std::string text = to_json({"compute_9_0", "2026-11-25", true, *fit});
  const Result<Weights> read = parse_weights(text, "w.json");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->of, fit->weights("").of);
  ASSERT_TRUE(read->evidence);
  EXPECT_EQ(read->evidence->source, "compute_9_0, 2026-11-25");
  EXPECT_EQ(read->evidence->order, fit->validated.order);
  EXPECT_EQ(read->evidence->low, fit->validated.low);
  EXPECT_EQ(read->source,
            "compute_9_0 (modelled), fitted on 2026-11-25 to 20 implementations of 5 primitives");
  text.replace(text.find("\"lynxpp_weights\": 2"), 19, "\"lynxpp_weights\": 1");
  const Result<Weights> other = parse_weights(text, "w.json");
  ASSERT_FALSE(other);
  EXPECT_THAT(render(other.error().diagnostics), HasSubstr("have version 1; this lynxpp reads version 2"));
}

/// The example is the fit of its own implementations (LYNXPP_UPDATE_GOLDEN=1 rewrites it).
TEST(WeightFit, ExampleIsTheFitOfItsImplementations) {
  const std::string path = LYNXPP_SOURCE_DIR "/examples/calibrations/h100-weights.json";
  std::string text;
  ASSERT_TRUE(read_file(path, text));
  const auto json = nlohmann::json::parse(text);
  std::vector<Implementation> all;
  for (const auto& each : json["implementations"]) {
    Implementation implementation{each["primitive"], each["name"], {}, each["seconds"]};
    for (std::size_t i = 0; i < criterion_count; ++i)
      implementation.criteria.values[i] =
          each["criteria"][symbol_of(static_cast<Criterion>(i))].get<double>();
    all.push_back(std::move(implementation));
  }
  Result<WeightFit> fit = fit_weights(all);
  ASSERT_TRUE(fit);
  fit->left_out = json["fit"]["left_out"];
  const std::string refitted = to_json({json["device"], json["date"], false, *fit});
  if (std::getenv("LYNXPP_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file(path, refitted));
  }
  const auto again = nlohmann::json::parse(refitted);
  EXPECT_EQ(again["fit"]["validated_order"]["right"], json["fit"]["validated_order"]["right"]);
  for (const auto& [symbol, weight] : json["weights"].items())
    EXPECT_NEAR(again["weights"][symbol].get<double>(), weight.get<double>(), 1e-6) << symbol;
  // Primitives that the fit has not seen are ordered no better than by chance.
  EXPECT_TRUE(fit->validated.is_chance());
}

TEST(WeightFit, MachineFileDefinesTheRates) {
  Result<Machine> machine = find_machine("compute_1_3");
  ASSERT_TRUE(machine);
  const Hardware hardware = hardware_of(*machine);
  EXPECT_EQ(hardware.multiprocessors, 30u);
  EXPECT_EQ(hardware.clock_hz, 1296e6);
  // Eight cores per multiprocessor, and one for double precision.
  EXPECT_EQ(hardware.single_rate, 8);
  EXPECT_EQ(hardware.double_rate, 1);
  // Eight partitions of 16 bytes per memory cycle.
  EXPECT_EQ(hardware.memory_rate, 8 * 16 * 1107e6);
  EXPECT_EQ(hardware.gap_seconds, 5e-6);
}

}  // namespace
}  // namespace lynxpp::models::proplusplus
