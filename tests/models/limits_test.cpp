// Gains from synthetic times, and schedules that launch a synthetic kernel whose costs are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "models/limits/gain.h"
#include "models/limits/schedule.h"

namespace lynxpp::models::limits {
namespace {

constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

Gain gain(const std::vector<double>& native, const std::vector<double>& again,
          const std::vector<double>& harmless) {
  const std::vector<std::vector<double>> all = {native, again, harmless};
  return gain_of({native, again, harmless}, noise_of(all)).value();
}

TEST(Gain, IsTheDifferenceAsAFractionOfTheOriginal) {
  const Gain found = gain({10, 10, 10}, {15, 15, 15}, {11, 11, 11});
  EXPECT_DOUBLE_EQ(found.at_most, 0.4);
  EXPECT_DOUBLE_EQ(found.low, 0.4);
  EXPECT_DOUBLE_EQ(found.high, 0.4);
}

TEST(Gain, IsAFraction) {
  EXPECT_EQ(gain({10, 10, 10}, {9, 9, 9}, {11, 11, 11}).at_most, 0);
  EXPECT_EQ(gain({10, 10, 10}, {9, 9, 9}, {11, 11, 11}).high, 0);
  EXPECT_EQ(gain({10, 10, 10}, {35, 35, 35}, {11, 11, 11}).at_most, 1);
}

TEST(Gain, LeavesWhatOtherOperationsNeed) {
  const Gain cost{0.6, 0.5, 0.7};
  const Gain small = without(cost, std::vector<Gain>{{0.1, 0, 0.2}, {0.75, 0.7, 0.8}});
  EXPECT_DOUBLE_EQ(small.at_most, 0.25);
  EXPECT_DOUBLE_EQ(small.low, 1 - 0.8) << "if the others need most";
  EXPECT_DOUBLE_EQ(small.high, 1 - 0.7) << "if they need least";
  EXPECT_DOUBLE_EQ(without(cost, std::vector<Gain>{{0.3, 0.2, 0.4}}).at_most, 0.6);
  EXPECT_DOUBLE_EQ(without(cost, {}).high, 0.7);
}

TEST(Gain, NeedsATimeOfEachVariant) {
  const std::vector<double> some = {1, 1}, none;
  EXPECT_FALSE(gain_of({some, some, none}, 0.0));
  EXPECT_FALSE(gain_of({none, some, some}, 0.0));
  EXPECT_FALSE(noise_of({}));
}

TEST(Gain, IsUncertainAfterOneLaunchOfEach) {
  const std::vector<double> native = {10}, again = {15}, harmless = {11};
  const Gain unknown = gain_of({native, again, harmless}, std::nullopt).value();
  EXPECT_DOUBLE_EQ(unknown.at_most, 0.4);
  EXPECT_EQ(unknown.low, 0);
  EXPECT_EQ(unknown.high, 1);
  EXPECT_DOUBLE_EQ(gain_of({native, again, harmless}, 0.0)->high, 0.4) << "a deterministic clock";
}

TEST(Gain, IgnoresWarmUps) { EXPECT_DOUBLE_EQ(gain({50, 10, 10}, {70, 15, 15}, {90, 11, 11}).high, 0.4); }

TEST(Gain, ToleratesAnOutlier) {
  const Gain found =
      gain({10, 10, 10.1, 9.9, 10, 10}, {15, 15, 15.1, 14.9, 40, 15}, {11, 11, 11, 11.1, 11, 10.9});
  EXPECT_NEAR(found.at_most, 0.4, 0.01);
  EXPECT_LE(found.low, 0.4);
}

TEST(Gain, CancelsADriftIfTheOrderAlternates) {
  // Each launch takes 0.1 ms longer than the one before; neither form costs anything.
  const Gain found = gain({10, 10.5, 11, 11.5}, {9, 10.1, 10.8, 11.1}, {9, 10.2, 10.7, 11.2});
  EXPECT_LT(found.at_most, 0.006);
  EXPECT_EQ(found.low, 0);
}

TEST(Gain, IntervalsContainTheTruth) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (const int launches : {3, 4, 6, 10}) {
    int contained = 0;
    constexpr int runs = 400;
    for (int run = 0; run < runs; ++run) {
      std::vector<double> native, again, harmless;
      for (int i = 0; i < launches; ++i) {
        native.push_back(10 * (1 + 0.02 * normal(random)));
        again.push_back(13 * (1 + 0.02 * normal(random)));
        harmless.push_back(11 * (1 + 0.02 * normal(random)));
      }
      const Gain found = gain(native, again, harmless);
      contained += found.low <= 0.2 && found.high >= 0.2;
    }
    EXPECT_GE(contained, runs * 93 / 100) << launches << " launches";
  }
}

TEST(Gain, IsReproducible) {
  const std::vector<double> native = {9, 10, 11, 10}, again = {14, 15, 16, 14}, harmless = {11, 10, 12, 11};
  EXPECT_EQ(gain(native, again, harmless).low, gain(native, again, harmless).low);
  EXPECT_EQ(gain(native, again, harmless).high, gain(native, again, harmless).high);
}

TEST(Noise, IsTheStandardDeviationWithoutDriftAndOutliers) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> variants(10);
  for (std::size_t variant = 0; variant < variants.size(); ++variant) {
    variants[variant].push_back(100);  // a warm-up
    for (int i = 0; i < 20; ++i) {
      const double drift = 1 + 0.01 * i, outlier = i == 7 ? 3 : 1;
      variants[variant].push_back((5.0 + static_cast<double>(variant)) * drift * outlier *
                                  (1 + 0.03 * normal(random)));
    }
  }
  EXPECT_NEAR(noise_of(variants).value(), 0.03, 0.01);
}

// ---- schedules

/// A kernel whose groups of lines cost fractions of its time of 10 ms.
struct Kernel {
  std::vector<std::vector<double>>
      costs;  ///< by class and group; the lines of group g are 2 g + 10 and 2 g + 11
  double noise = 0;
  double drift = 0;  ///< added per launch, as a fraction
  std::mt19937_64 random{3};

  std::vector<ClassOfOperations> classes() const {
    std::vector<ClassOfOperations> all;
    for (const std::vector<double>& each : costs) {
      ClassOfOperations& added = all.emplace_back();
      for (std::uint32_t group = 0; group < each.size(); ++group)
        added.groups.push_back({2 * group + 10, 2 * group + 11});
    }
    return all;
  }

  double cost(const Variant& variant) const {
    const std::vector<double>& groups = costs[variant.class_index];
    if (variant.lines.empty()) return std::accumulate(groups.begin(), groups.end(), 0.0);
    double sum = 0;
    for (const std::uint32_t line : variant.lines) sum += groups[(line - 10) / 2] / 2;
    return sum;
  }

  double launch(const Variant& variant, std::size_t launches) {
    double time = variant.form == TrialForm::native ? 1.0 : 1.2;
    if (variant.form == TrialForm::again) time += cost(variant);
    std::normal_distribution<double> normal;
    return 10 * time * (1 + drift * static_cast<double>(launches)) * (1 + noise * normal(random));
  }
};

/// The launches that a schedule chose.
struct Launched {
  explicit Launched(Kernel of) : kernel(std::move(of)) {}

  /// Launches until the schedule ends or `most` launches have been made; times arrive `lag` launches later.
  void go(Schedule& schedule, std::size_t most = 1000, std::size_t lag = 0) {
    std::deque<std::pair<TrialId, double>> late;
    while (launches < most) {
      const std::optional<TrialId> id = schedule.next();
      if (!id) break;
      ids.push_back(*id);
      const Variant& variant = schedule.variant(*id);
      if (!variant.lines.empty()) ++line_launches;
      late.emplace_back(*id, kernel.launch(variant, launches++));
      times[{variant.class_index, variant.form, variant.lines}].push_back(late.back().second);
      for (; late.size() > lag; late.pop_front()) schedule.add(late.front().first, late.front().second);
    }
  }

  std::optional<Gain> found(std::size_t class_index, const std::vector<std::uint32_t>& lines = {}) {
    std::vector<std::vector<double>> all;
    for (const auto& [key, each] : times) all.push_back(each);
    return gain_of({times[{0, TrialForm::native, {}}], times[{class_index, TrialForm::again, lines}],
                    times[{class_index, TrialForm::harmless, lines}]},
                   noise_of(all));
  }

  /// The smallest tried groups of lines of a class that cost more than 3 %.
  std::set<std::vector<std::uint32_t>> culprits(std::size_t class_index) {
    std::set<std::vector<std::uint32_t>> all;
    for (const auto& [key, each] : std::map(times)) {
      const auto& [index, form, lines] = key;
      if (index != class_index || form != TrialForm::again || lines.empty()) continue;
      const std::optional<Gain> gain = found(index, lines);
      if (gain && gain->low > 0.03) all.insert(lines);
    }
    for (const std::vector<std::uint32_t>& large : std::set(all)) {
      const bool has_smaller = std::ranges::any_of(all, [&](const auto& small) {
        return small.size() < large.size() && std::ranges::includes(large, small);
      });
      if (has_smaller) all.erase(large);
    }
    return all;
  }

  Kernel kernel;
  std::size_t launches = 0, line_launches = 0;
  std::vector<TrialId> ids;
  std::map<std::tuple<std::size_t, TrialForm, std::vector<std::uint32_t>>, std::vector<double>> times;
};

TEST(Schedule, EndsAtOnceWithoutClasses) {
  Schedule schedule({}, Budget{});
  EXPECT_FALSE(schedule.next());
}

TEST(Schedule, WarmsUpEachVariantOnceAndAlternates) {
  Launched run(Kernel{.costs = {{0.0}, {0.0}}, .noise = 0.02});
  Schedule schedule(run.kernel.classes(), Budget{});
  run.go(schedule, 15);
  EXPECT_EQ(run.ids, (std::vector<TrialId>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 0, 4, 3, 2, 1}));
}

TEST(Schedule, ComparesWithTheOriginalIfNothingIsHarmless) {
  Schedule schedule({{.groups = {}, .has_harmless = false}}, Budget{});
  Launched run(Kernel{.costs = {{0.1}}});
  run.go(schedule);
  EXPECT_EQ(run.ids, (std::vector<TrialId>{0, 0, 1, 1, 0, 1}));
}

TEST(Schedule, LaunchesABaselineWithTheOriginalAndACountOnce) {
  Launched launched({.costs = {{}, {}, {0.5}}, .noise = 0.05});
  std::vector<ClassOfOperations> classes = launched.kernel.classes();
  classes[0].has_harmless = classes[1].has_harmless = classes[1].is_timed = false;
  classes[0].is_baseline = true;
  Schedule schedule(classes, {});
  launched.go(schedule);
  const auto count = [&](TrialId id) { return std::ranges::count(launched.ids, id); };
  EXPECT_GT(count(native_trial), 5);
  EXPECT_EQ(count(1), count(native_trial)) << "the baseline is never decided";
  EXPECT_EQ(count(2), 1) << "it counts";
}

TEST(Schedule, JudgesPatternsByTheirWholeCost) {
  Launched launched({.costs = {{0.0, 0.0}}});  // its harmless form costs as much as it does: 0.2
  std::vector<ClassOfOperations> classes = launched.kernel.classes();
  classes[0].has_pattern = true;
  Schedule schedule(classes, {});
  launched.go(schedule);
  EXPECT_GT(launched.line_launches, 0u);
}

TEST(Schedule, LaunchesEachVariantOnceOnADeterministicClock) {
  Launched run(Kernel{.costs = {{0.5}, {0.0}, {0.2}}});
  Schedule schedule(run.kernel.classes(), Budget{.is_deterministic = true});
  run.go(schedule);
  EXPECT_EQ(run.ids, (std::vector<TrialId>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Schedule, FindsTheLine) {
  Launched run(Kernel{.costs = {{0, 0, 0, 0, 0, 0.6, 0, 0, 0, 0, 0}, {0.01, 0.01}}, .noise = 0.005});
  Schedule schedule(run.kernel.classes(), Budget{});
  run.go(schedule);
  EXPECT_EQ(run.culprits(0), (std::set<std::vector<std::uint32_t>>{{20, 21}}));
  EXPECT_TRUE(run.culprits(1).empty());
  EXPECT_FALSE(run.times.contains({1, TrialForm::again, {10, 11}}))
      << "a class that costs nothing is not split";
}

TEST(Schedule, FindsTwoLinesOfAClass) {
  Launched run(Kernel{.costs = {{0.3, 0, 0, 0, 0, 0, 0.4, 0}}, .noise = 0.005});
  Schedule schedule(run.kernel.classes(), Budget{});
  run.go(schedule);
  EXPECT_EQ(run.culprits(0), (std::set<std::vector<std::uint32_t>>{{10, 11}, {22, 23}}));
}

TEST(Schedule, StopsSplittingWhereNoHalfExplainsTheCost) {
  Launched run(Kernel{.costs = {{0.01, 0.01, 0.01, 0.01, 0.01, 0.01}}, .noise = 0.001});
  Schedule schedule(run.kernel.classes(), Budget{});
  run.go(schedule);
  EXPECT_GT(run.found(0)->low, 0.03);
  EXPECT_EQ(run.times.size(), 1 + 2 + 4) << "the original, the class and its halves";
}

TEST(Schedule, LivesWithFewLaunches) {
  for (std::size_t launches = 0; launches < 30; ++launches) {
    Launched run(Kernel{.costs = {{0.5, 0}, {0.0}, {0.3}}, .noise = 0.01});
    Schedule schedule(run.kernel.classes(), Budget{});
    run.go(schedule, launches);
    if (const std::optional<Gain> first = run.found(0)) {
      EXPECT_NEAR(first->at_most, 0.5, 0.06) << launches;
    }
    EXPECT_EQ(run.found(0).has_value(), launches >= 5);
  }
}

TEST(Schedule, WaitsForTimesOnlyWithTheOriginal) {
  Launched run(Kernel{.costs = {{0.5, 0}, {0.0}}, .noise = 0.01});
  Schedule schedule(run.kernel.classes(), Budget{.class_launches = 20, .line_launches = 20});
  run.go(schedule, 100, 1000);  // no time ever arrives
  EXPECT_EQ(run.launches, 100);
  EXPECT_EQ(std::ranges::count(run.ids, native_trial), 100 - 16);
}

TEST(Schedule, FindsTheLineFromLateTimes) {
  for (const std::size_t lag : {1, 7, 40}) {
    Launched run(Kernel{.costs = {{0, 0, 0.5, 0}, {0.0}}, .noise = 0.005});
    Schedule schedule(run.kernel.classes(), Budget{});
    run.go(schedule, 2000, lag);
    EXPECT_LT(run.launches, 400) << lag;
    EXPECT_EQ(run.culprits(0), (std::set<std::vector<std::uint32_t>>{{14, 15}})) << lag;
  }
}

TEST(Schedule, AbandonsAVariantThatCannotBeMade) {
  Kernel kernel{.costs = {{0.5, 0}, {0.2}}};
  Schedule schedule(kernel.classes(), Budget{});
  std::size_t launches = 0;
  std::set<TrialId> launched;
  while (const std::optional<TrialId> id = schedule.next()) {
    if (*id == 2) {
      schedule.drop(*id);
      continue;
    }
    launched.insert(*id);
    schedule.add(*id, kernel.launch(schedule.variant(*id), launches++));
  }
  EXPECT_EQ(launched, (std::set<TrialId>{0, 1, 3, 4})) << "no lines of the abandoned class";
}

TEST(Schedule, EndsIfNothingCanBeMeasured) {
  Schedule schedule({{.groups = {{1}, {2}}}}, Budget{});
  std::size_t launches = 0;
  while (const std::optional<TrialId> id = schedule.next()) {
    schedule.add(*id, not_measured);
    ASSERT_LE(++launches, Budget{}.class_launches);
  }
}

/// Random kernels: one expensive line in some classes, none in the others, with noise and drift.
TEST(Schedule, OrdersRandomCosts) {
  std::mt19937_64 random(4);
  int lines = 0, lines_found = 0, intervals = 0, containing = 0;
  for (int run_number = 0; run_number < 150; ++run_number) {
    Kernel kernel{
        .costs = {}, .noise = 0.004, .drift = 0.0003 * static_cast<double>(run_number % 3), .random = random};
    const std::size_t count = 1 + random() % 8;
    std::vector<std::size_t> culprit;
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<double> groups(1 + random() % 12, 0.0);
      culprit.push_back(random() % groups.size());
      if (random() % 2 == 0) groups[culprit.back()] = 0.1 * static_cast<double>(1 + random() % 8);
      kernel.costs.push_back(groups);
    }
    Launched run(kernel);
    Schedule schedule(kernel.classes(), Budget{});
    run.go(schedule);
    ASSERT_LE(run.launches, 120U);
    EXPECT_LE(run.launches - run.line_launches, 60U + 30U) << "launches of lines include the original's";
    for (std::size_t i = 0; i < count; ++i) {
      const double cost = kernel.cost({TrialForm::again, i, {}});
      const Gain gain = run.found(i).value();
      ++intervals;
      containing += gain.low <= cost && cost <= gain.high;
      EXPECT_NEAR(gain.at_most, cost, 0.04);
      EXPECT_TRUE(cost != 0 || gain.low < 0.03);
      for (std::size_t j = 0; j < i; ++j) {  // costs are multiples of 10 %
        const double other = kernel.cost({TrialForm::again, j, {}});
        EXPECT_TRUE(cost == other || (cost < other) == (gain.at_most < run.found(j)->at_most));
      }
    }
    // The most expensive class is followed to its line.
    std::map<double, std::vector<std::size_t>> by_cost;
    for (std::size_t i = 0; i < count; ++i) by_cost[kernel.cost({TrialForm::again, i, {}})].push_back(i);
    const auto& [cost, worst] = *by_cost.rbegin();
    if (cost == 0 || worst.size() > 1 || kernel.costs[worst[0]].size() < 2) continue;
    ++lines;
    const auto line = static_cast<std::uint32_t>(2 * culprit[worst[0]] + 10);
    lines_found += run.culprits(worst[0]) == std::set<std::vector<std::uint32_t>>{{line, line + 1}};
  }
  EXPECT_GT(lines, 80);
  EXPECT_EQ(lines_found, lines);
  EXPECT_GE(containing * 100, intervals * 93);
}

}  // namespace
}  // namespace lynxpp::models::limits
