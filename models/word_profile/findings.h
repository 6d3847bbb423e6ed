// Rule-based findings about a launch's arrays. A rule has a name, a condition with its sentence, and a
// suggestion; word_rules() is the table of rules on word counts.
//
//   for (const Finding& each : findings_of(profile)) print(each.array, each.sentence, each.what_to_try);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/word_profile/profile.h"

namespace lynxpp::models {

struct Rule {
  std::string_view name;  ///< in plain words
  /// Returns the sentence, with its counts, if the rule applies to the array, otherwise nullopt. Rules whose
  /// data is missing (no layout) do not apply.
  std::optional<std::string> (*find)(const ArrayProfile& array, const LaunchProfile& launch);
  std::string_view what_to_try;  ///< empty: nothing is wrong
};

/// Rules on the counts and the layout of words.
std::span<const Rule> word_rules();

struct Finding {
  std::string rule;
  std::string array;
  std::string sentence;
  std::string what_to_try;
};

/// Returns the findings by array, in the order of the rules.
std::vector<Finding> findings_of(const LaunchProfile& launch, std::span<const Rule> rules = word_rules());

}  // namespace lynxpp::models
