// Schedules: the same seed makes the same choices, deviations can be repeated and reduced, and have limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/cpu/simt/execute/order/explore.h"
#include "device/cpu/simt/execute/order/schedule.h"

namespace lynxpp::device::cpu::test::schedules {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr ChoiceKind kinds[] = {ChoiceKind::rotation, ChoiceKind::delay, ChoiceKind::slice,
                                ChoiceKind::rounds,   ChoiceKind::side,  ChoiceKind::completion};
constexpr std::uint32_t alternatives = 5;

/// The choices of actors 0 to 3, `times` of each kind; one actor after the other, or in turns.
std::vector<std::vector<std::uint32_t>> choices_of(Schedule& schedule, std::uint32_t times, bool in_turns) {
  std::vector<std::vector<std::uint32_t>> made(4);
  const auto choose = [&](std::uint32_t actor) {
    for (const ChoiceKind kind : kinds)
      made[actor].push_back(schedule.choose(kind, {0, actor}, alternatives));
  };
  for (std::uint32_t i = 0; i < 4 * times; ++i) choose(in_turns ? i % 4 : i / times);
  return made;
}

TEST(CpuSchedule, SeedsDetermineChoicesWhateverTheOrderOfActors) {
  std::vector<std::vector<std::vector<std::uint32_t>>> of_seeds;
  for (std::uint32_t seed = 2; seed < 12; ++seed) {
    Schedule first(seed);
    Schedule second(seed);
    const auto choices = choices_of(first, 40, false);
    EXPECT_EQ(choices, choices_of(second, 40, true)) << seed;
    EXPECT_THAT(of_seeds, testing::Not(testing::Contains(choices))) << seed;
    of_seeds.push_back(choices);
    for (const auto& of_actor : choices) {
      for (const std::uint32_t each : of_actor) EXPECT_LT(each, alternatives);
    }
  }
}

TEST(CpuSchedule, DeviationsAreTheChoicesOtherThan0) {
  Schedule schedule(4);
  std::vector<std::array<std::uint32_t, 3>> expected;
  std::array<std::uint32_t, 6> occasions{};
  for (int i = 0; i < 50; ++i) {
    for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
      const std::uint32_t chosen = schedule.choose(kinds[kind], {7, 3}, 2);
      if (chosen != 0) expected.push_back({static_cast<std::uint32_t>(kinds[kind]), occasions[kind], chosen});
      ++occasions[kind];
    }
  }
  ASSERT_EQ(schedule.deviations().size(), expected.size());
  EXPECT_FALSE(expected.empty());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Deviation& each = schedule.deviations()[i];
    EXPECT_EQ((std::array<std::uint32_t, 3>{static_cast<std::uint32_t>(each.kind), each.occasion,
                                            each.alternative}),
              expected[i]);
    EXPECT_EQ(each.actor, (Actor{7, 3}));
  }
}

TEST(CpuSchedule, RepeatsExactlyTheGivenDeviations) {
  Schedule original(6);
  const auto choices = choices_of(original, 40, true);
  Schedule again(original.deviations());
  EXPECT_EQ(choices_of(again, 40, false), choices);
  EXPECT_EQ(again.deviations().size(), original.deviations().size());

  const std::vector<Deviation> few = {{ChoiceKind::delay, {0, 2}, 3, 4}, {ChoiceKind::side, {0, 1}, 0, 9}};
  Schedule repeated(few);
  const auto made = choices_of(repeated, 40, true);
  ASSERT_EQ(repeated.deviations().size(), 2u);
  EXPECT_EQ(made[2][3 * std::size(kinds) + 1], 4u);
  EXPECT_EQ(made[1][4], alternatives - 1) << "an alternative that does not exist becomes the last one";
  EXPECT_THAT(made[0], testing::Each(0u));
  EXPECT_THAT(made[3], testing::Each(0u));
}

TEST(CpuSchedule, ASingleAlternativeIsNotAChoice) {
  Schedule schedule({{ChoiceKind::rotation, {0, 0}, 0, 1}});
  EXPECT_EQ(schedule.choose(ChoiceKind::rotation, {0, 0}, 1), 0u);
  EXPECT_THAT(schedule.deviations(), IsEmpty());
  EXPECT_EQ(schedule.choose(ChoiceKind::rotation, {0, 0}, 2), 1u);
}

TEST(CpuSchedule, ActorsAndLaunchesDeviateALimitedNumberOfTimes) {
  Schedule one(2);  // reverses every rotation
  for (int i = 0; i < 1000; ++i) (void)one.choose(ChoiceKind::rotation, {0, 0}, 4);
  EXPECT_EQ(one.deviations().size(), 256u);
  EXPECT_EQ(one.deviations().back().occasion, 255u);
  EXPECT_EQ(one.choose(ChoiceKind::side, {0, 0}, 2), 1u) << "the limit is that of a kind";

  Schedule many(2);
  for (std::uint32_t actor = 0; actor < 300; ++actor) {
    for (int i = 0; i < 256; ++i) (void)many.choose(ChoiceKind::rotation, {0, actor}, 4);
  }
  EXPECT_EQ(many.deviations().size(), std::size_t{1} << 16);
  EXPECT_EQ(many.choose(ChoiceKind::side, {1, 0}, 2), 0u);
}

// ---------------------------------------------------------------- reduction

/// A launch without code: it makes choices of four warps, writes memory, and has a finding in some orders.
class FakeLaunch {
 public:
  explicit FakeLaunch(std::string name, std::function<bool(const std::vector<Deviation>&)> fails)
      : name_(std::move(name)), fails_(std::move(fails)) {}

  LaunchChecks explore_with(std::vector<std::uint32_t> seeds) {
    LaunchChecks checks{.selection = {.race = true}, .seeds = std::move(seeds)};
    const ExplorableLaunch launch{.name = name_,
                                  .shape = {{1, 1, 1}, {128, 1, 1}},
                                  .memory = &unchecked_memory(),
                                  .run = [this](ExploredRun& run, LaunchChecks& to) { return go(run, to); }};
    EXPECT_TRUE(explore(launch, checks));
    return checks;
  }
  int runs() const { return runs_; }
  int memory() const { return memory_; }

 private:
  Status go(ExploredRun& run, LaunchChecks& checks) {
    ++runs_;
    EXPECT_EQ(memory_, 5) << "each order begins with the memory before the launch";
    AccessSite store;
    store.role.writes = true;
    run.log->note(store, reinterpret_cast<std::uint64_t>(&memory_), sizeof memory_);
    memory_ = run.schedule == nullptr ? 1 : 2;
    if (run.schedule == nullptr) return success();
    (void)choices_of(*run.schedule, 60, true);
    if (!fails_(run.schedule->deviations())) return success();
    Finding& made = checks.findings.emplace_back();
    made.kind = FindingKind::race;
    made.place.line = 7;
    return success();
  }

  std::string name_;
  std::function<bool(const std::vector<Deviation>&)> fails_;
  int memory_ = 5;
  int runs_ = 0;
};

bool has(const std::vector<Deviation>& all, ChoiceKind kind, std::uint32_t warp, std::uint32_t least) {
  return std::ranges::any_of(all, [&](const Deviation& each) {
    return each.kind == kind && each.actor.warp == warp && each.occasion >= least;
  });
}

TEST(CpuSchedule, FindingsAreReducedToTheDeviationsThatTheyNeed) {
  FakeLaunch launch("one deviation",
                    [](const std::vector<Deviation>& all) { return has(all, ChoiceKind::side, 2, 4); });
  const LaunchChecks checks = launch.explore_with({1, 2, 3, 4});
  EXPECT_EQ(launch.memory(), 1) << "the program sees the results of order 1";
  ASSERT_EQ(checks.findings.size(), 1u);
  const FoundOrders& orders = checks.findings[0].orders;
  EXPECT_EQ(orders.judged, 4u);
  EXPECT_THAT(orders.seeds, ElementsAre(2u, 4u)) << "only these seeds take other sides";
  EXPECT_THAT(orders.deviations, ElementsAre(HasSubstr("warp 2 of block (0, 0, 0) runs the other side of")));
  EXPECT_LE(launch.runs(), 4 + 48 + 6);
}

TEST(CpuSchedule, FindingsThatNeedSeveralDeviationsKeepThem) {
  FakeLaunch launch("two deviations", [](const std::vector<Deviation>& all) {
    return has(all, ChoiceKind::side, 1, 0) && has(all, ChoiceKind::completion, 3, 0);
  });
  const LaunchChecks checks = launch.explore_with({1, 2});
  ASSERT_EQ(checks.findings.size(), 1u);
  EXPECT_THAT(checks.findings[0].orders.deviations,
              testing::UnorderedElementsAre(HasSubstr("warp 1 of block (0, 0, 0) runs the other side"),
                                            HasSubstr("of warp 3 of block (0, 0, 0) takes effect at once")));
}

TEST(CpuSchedule, ManyNeededDeviationsAreCounted) {
  FakeLaunch launch("many deviations", [](const std::vector<Deviation>& all) {
    return std::ranges::count(all, ChoiceKind::side, &Deviation::kind) >= 12;
  });
  const LaunchChecks checks = launch.explore_with({1, 2});
  ASSERT_EQ(checks.findings.size(), 1u);
  ASSERT_EQ(checks.findings[0].orders.deviations.size(), 9u);
  EXPECT_THAT(checks.findings[0].orders.deviations.back(), testing::MatchesRegex("and [0-9]+ more"));
  EXPECT_LE(launch.runs(), 2 + 48 + 6);
}

}  // namespace
}  // namespace lynxpp::device::cpu::test::schedules
