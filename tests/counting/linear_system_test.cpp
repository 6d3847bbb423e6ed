// Linear forms, their evaluation and their columns (ptx/passes/counting/linear_system.h).
#include "ptx/passes/counting/linear_system.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

namespace lynxpp::ptx {
namespace {

TEST(LinearSystem, EvaluatesDefinitionsInAnyOrder) {
  LinearSystem system;
  const VariableId launched = system.measure();
  const VariableId body = system.measure();
  const VariableId header = system.define({{launched, 1}, {body, 3}});
  const VariableId skipped = system.define({{launched, 1}, {body, minus_one}});
  system.redefine(body, {{launched, 2}});  // after its uses
  const std::optional<SolvedSystem> solved = system.solve();
  ASSERT_TRUE(solved);
  std::vector<std::uint64_t> values(solved->size());
  values[launched] = 10;
  solved->evaluate(values);
  EXPECT_EQ(values[header], 70u);
  EXPECT_EQ(values[skipped], static_cast<std::uint64_t>(-10));
}

TEST(LinearSystem, DetectsCyclicDefinitions) {
  LinearSystem system;
  const VariableId first = system.measure();
  const VariableId second = system.define({{first, 1}});
  EXPECT_TRUE(system.solve());
  system.redefine(first, {{second, 1}});
  EXPECT_FALSE(system.solve());
}

TEST(LinearColumns, CancelAndExhaustTheBudget) {
  LinearSystem system;
  const VariableId counted = system.measure();
  const VariableId other = system.measure();
  const VariableId twice = system.define({{counted, 2}, {other, 1}});
  const VariableId none = system.define({{twice, 1}, {counted, static_cast<std::uint64_t>(-2)}});
  const std::optional<SolvedSystem> solved = system.solve();
  ASSERT_TRUE(solved);
  const std::vector<LinearColumns::Use> uses = {{none, 0, 5}, {twice, 1, 3}};
  LinearColumns columns(*solved, uses, 1000);
  EXPECT_EQ(columns.column_of(counted), (LinearColumns::Column{{1, 6}}));
  EXPECT_EQ(columns.column_of(other), (LinearColumns::Column{{0, 5}, {1, 3}}));
  const std::vector<LinearColumns::Use> opposite = {{counted, 0, 2}, {twice, 0, minus_one}};
  LinearColumns differences(*solved, opposite, 1000);
  EXPECT_EQ(differences.column_of(counted), LinearColumns::Column{}) << "no sum contains it";
  EXPECT_EQ(differences.column_of(other), (LinearColumns::Column{{0, minus_one}}));
  LinearColumns poor(*solved, uses, 2);
  EXPECT_EQ(poor.column_of(counted), std::nullopt);
}

/// For any definitions, a sum grows by the column's factor if a measured variable grows by one.
TEST(LinearColumns, EqualTheDifferencesOfSums) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    LinearSystem system;
    std::vector<VariableId> measured;
    for (int i = 0; i < 4; ++i) measured.push_back(system.measure());
    for (int i = 0; i < 12; ++i) {
      LinearForm form;
      for (std::uint32_t term = random() % 4; term-- > 0;)
        form.push_back({static_cast<VariableId>(random() % system.size()), random() % 5 - 2});
      system.define(std::move(form));
    }
    const std::optional<SolvedSystem> solved = system.solve();
    ASSERT_TRUE(solved);
    std::vector<LinearColumns::Use> uses;
    for (std::uint32_t sum = 0; sum < 3; ++sum) {
      for (int i = 0; i < 3; ++i)
        uses.push_back({static_cast<VariableId>(random() % system.size()), sum, random() % 7});
    }
    const auto sums_of = [&](std::vector<std::uint64_t> values) {
      values.resize(system.size());
      solved->evaluate(values);
      std::vector<std::uint64_t> sums(3);
      for (const LinearColumns::Use& use : uses) sums[use.sum] += use.factor * values[use.variable];
      return sums;
    };
    LinearColumns columns(*solved, uses, 1'000'000);
    for (const VariableId variable : measured) {
      std::vector<std::uint64_t> values(system.size());
      for (const VariableId each : measured) values[each] = random() % 1000;
      const std::vector<std::uint64_t> before = sums_of(values);
      ++values[variable];
      std::vector<std::uint64_t> grown = sums_of(values);
      for (std::uint32_t sum = 0; sum < 3; ++sum) grown[sum] -= before[sum];
      std::vector<std::uint64_t> expected(3);
      const std::optional<LinearColumns::Column> column = columns.column_of(variable);
      ASSERT_TRUE(column.has_value());
      for (const auto& [sum, factor] : *column) expected[sum] = factor;
      ASSERT_EQ(grown, expected) << "system " << round;
    }
  }
}

}  // namespace
}  // namespace lynxpp::ptx
