#include "models/sharing/findings.h"

#include <cstdio>

namespace lynxpp::models::sharing {
namespace {

constexpr double hot = 8;
constexpr std::uint64_t hot_visits = 32;
constexpr double read_often = 4;
constexpr double words_of_sector = double{sector_bytes} / word_bytes;

std::string rounded_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string part_of(std::uint64_t part, std::uint64_t all) {
  return std::to_string(part) + " of " + std::to_string(all);
}

/// Applies the rules to one array.
class Rules {
 public:
  Rules(const ArraySharing& array, const Observation& observation, std::vector<Finding>& findings)
      : array_(array), observation_(observation), findings_(findings) {}

  void apply() {
    hot_words();
    if (!array_.is_shared) {
      unused_words();
      shared_sectors();
    }
    for (const SiteUse& use : array_.uses) {
      if (!array_.is_shared) lanes_of(use);
    }
    if (!array_.is_shared) read_again();
  }

 private:
  void hot_words() {
    const Visited& words = array_.words;
    const bool is_hot = static_cast<double>(words.most_visits) >= hot * words.mean_visits();
    if (!is_hot || words.most_visits < hot_visits) return;
    add("hot_words", "word " + std::to_string(array_.hottest_word) + " was visited " +
                         std::to_string(words.most_visits) + " times; the average per word is " +
                         rounded_number(words.mean_visits()));
  }

  void unused_words() {
    const double used = static_cast<double>(array_.words.count) / static_cast<double>(array_.sectors.count);
    if (used * 2 > words_of_sector) return;
    add("unused_words", "of the 8 words of a sector " + rounded_number(used) +
                            " were visited on average, in " + std::to_string(array_.sectors.count) +
                            " sectors");
  }

  void shared_sectors() {
    const Visited& sectors = array_.sectors;
    if (sectors.of_several_blocks * 2 < sectors.count) return;
    add("shared_sectors", part_of(sectors.of_several_blocks, sectors.count) +
                              " sectors were visited by more than one thread block; the average is " +
                              rounded_number(sectors.mean_blocks()) + " blocks per sector");
  }

  void lanes_of(const SiteUse& use) {
    const AccessSite& site = observation_.sites[use.site];
    if (use.misaligned != 0 && use.misaligned * 2 >= use.executions)
      add("misaligned",
          part_of(use.misaligned, use.executions) +
              " warp accesses are to neighbouring elements that start inside a sector",
          location_of(site));
    if (use.strided != 0 && use.strided * 2 >= use.executions)
      add("strided",
          part_of(use.strided, use.executions) + " warp accesses have lanes at most " +
              std::to_string(use.stride) + " bytes apart",
          location_of(site));
  }

  void read_again() {
    const Visited& words = array_.read_words;
    if (words.warps == 0) return;
    const double times = static_cast<double>(words.visits) / static_cast<double>(words.warps);
    if (times < read_often) return;
    add("read_again", "a warp reads a word " + rounded_number(times) + " times on average");
  }

  void add(std::string_view rule, std::string text, std::string location = {}) {
    findings_.push_back({rule, array_.name, std::move(location), std::move(text)});
  }

  const ArraySharing& array_;
  const Observation& observation_;
  std::vector<Finding>& findings_;
};

}  // namespace

std::vector<Finding> findings_of(const Sharing& sharing, const Observation& observation) {
  std::vector<Finding> findings;
  for (const ArraySharing& array : sharing.arrays) Rules(array, observation, findings).apply();
  return findings;
}

}  // namespace lynxpp::models::sharing
