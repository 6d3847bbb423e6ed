// Findings about a launch's arrays, made by rules. A rule has a name, a condition with its sentence, and what
// to try;
// word_rules() is the table of those that read counts of words.
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
  /// The sentence, with its numbers, where the rule holds for the array; else nullopt. What the profile does
  /// not know (no layout) is no reason for a finding.
  std::optional<std::string> (*find)(const ArrayProfile& array, const LaunchProfile& launch);
  std::string_view what_to_try;  ///< empty: nothing is wrong
};

/// Rules that read the counts of words and where the words lie.
std::span<const Rule> word_rules();

struct Finding {
  std::string rule;
  std::string array;
  std::string sentence;
  std::string what_to_try;
};

/// By array, in the order of the rules.
std::vector<Finding> findings_of(const LaunchProfile& launch, std::span<const Rule> rules = word_rules());

}  // namespace lynxpp::models
