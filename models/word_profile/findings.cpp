#include "models/word_profile/findings.h"

#include <algorithm>

namespace lynxpp::models {
namespace {

using Sentence = std::optional<std::string>;

constexpr std::uint64_t words_of_sector = 8;
/// A word is hot if it has this multiple of the average number of accesses.
constexpr double hot = 8;

bool is_device(const ArrayProfile& array) { return array.space == ArrayProfile::Space::device; }

std::string of_words(std::uint64_t part, std::uint64_t all) {
  return grouped(part) + " of " + grouped(all) + " words";
}

Sentence never_accessed(const ArrayProfile& array, const LaunchProfile&) {
  if (array.words == 0 || array.accesses != 0) return {};
  return "none of its " + grouped(array.words) + " words was accessed";
}

Sentence partly_accessed(const ArrayProfile& array, const LaunchProfile&) {
  if (array.accesses == 0 || array.never * 4 < array.words) return {};
  return of_words(array.never, array.words) + " were never accessed";
}

Sentence accessed_once(const ArrayProfile& array, const LaunchProfile&) {
  if (!is_device(array) || array.accesses == 0 || array.once != array.accessed_words()) return {};
  return "each of its " + grouped(array.once) + " accessed words was accessed once";
}

Sentence reused(const ArrayProfile& array, const LaunchProfile&) {
  const std::uint64_t more_than_once = array.accessed_words() - array.once;
  if (!is_device(array) || more_than_once == 0 || more_than_once * 2 < array.accessed_words()) return {};
  return of_words(more_than_once, array.words) + " were accessed more than once, " + rounded(array.mean()) +
         " times on average";
}

Sentence hot_words(const ArrayProfile& array, const LaunchProfile& launch) {
  const double mean = array.mean();
  if (array.greatest < launch.threshold || static_cast<double>(array.greatest) < hot * mean) return {};
  return "its hottest word has " + grouped(array.greatest) + " accesses, " +
         rounded(static_cast<double>(array.greatest) / mean) + " times the mean of " + rounded(mean);
}

Sentence strided(const ArrayProfile& array, const LaunchProfile&) {
  if (!array.layout || array.layout->stride < 2 || array.accessed_words() < 2) return {};
  return "only words " + grouped(array.layout->first) + ", " +
         grouped(array.layout->first + array.layout->stride) + ", … were accessed: at most one of every " +
         grouped(array.layout->stride);
}

Sentence few_words_of_sectors(const ArrayProfile& array, const LaunchProfile&) {
  if (!array.layout || array.layout->sectors < 2) return {};
  const double used =
      static_cast<double>(array.accessed_words()) / static_cast<double>(array.layout->sectors);
  if (used * 2 > static_cast<double>(words_of_sector)) return {};
  return "of the 8 words of a sector " + rounded(used) + " were accessed on average, in " +
         grouped(array.layout->sectors) + " sectors";
}

Sentence misaligned(const ArrayProfile& array, const LaunchProfile&) {
  // One or two runs that start inside a sector do not matter; 5 % more sectors do.
  if (!array.layout || array.layout->sectors * 20 < array.layout->aligned_sectors * 21) return {};
  return "its accessed words touch " + grouped(array.layout->sectors) + " sectors where " +
         grouped(array.layout->aligned_sectors) + " could hold them: rows start inside a sector";
}

Sentence several_at_limit(const ArrayProfile& array, const LaunchProfile& launch) {
  const auto is_there = [&](const ArrayProfile& each) {
    return each.space == array.space && each.greatest == launch.count_limit;
  };
  if (!is_there(array)) return {};
  const auto others = std::ranges::count_if(launch.arrays, is_there) - 1;
  if (others < 1) return {};
  return "its counts stop at " + grouped(launch.count_limit) + ", as do those of " +
         grouped(static_cast<std::uint64_t>(others)) + (others == 1 ? " other array" : " other arrays") +
         ": which one is used most is not known";
}

constexpr Rule rules[] = {
    {"never accessed", &never_accessed, "do not allocate it, or do not hand it to this kernel"},
    {"partly accessed", &partly_accessed, "make it smaller, or bring what is used together"},
    {"accessed once", &accessed_once, ""},
    {"reused", &reused, ""},
    {"hot words", &hot_words,
     "combine the accesses in registers or within a warp first, or spread them over several copies"},
    {"strided use", &strided, "store what is used together side by side (a structure of arrays)"},
    {"few words of sectors", &few_words_of_sectors,
     "let neighbouring threads use neighbouring words, so that whole sectors are used"},
    {"misaligned rows", &misaligned, "begin rows at multiples of 32 bytes (padding, cudaMallocPitch)"},
    {"several at the limit", &several_at_limit, "profile again with a higher threshold"},
};

}  // namespace

std::span<const Rule> word_rules() { return rules; }

std::vector<Finding> findings_of(const LaunchProfile& launch, std::span<const Rule> tried) {
  std::vector<Finding> findings;
  for (const ArrayProfile& array : launch.arrays) {
    for (const Rule& rule : tried) {
      if (Sentence sentence = rule.find(array, launch)) {
        findings.push_back(
            {std::string(rule.name), array.name, std::move(*sentence), std::string(rule.what_to_try)});
      }
    }
  }
  return findings;
}

}  // namespace lynxpp::models
