// Counts of words (shared_memory_profile, device_memory_profile) as input of models, and their advice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/word_profile/findings.h"
#include "models/word_profile/profile.h"
#include "models/word_profile/staging.h"
#include "report/record.h"

namespace lynxpp::report {

/// The launch of a kernel that has the most accesses among those whose words were counted.
struct LaunchAdvice {
  std::string kernel;  ///< mangled
  std::string device;
  std::uint64_t launch = 0;
  std::uint64_t launches = 0;  ///< launches with counted words
  models::LaunchProfile profile;
  std::optional<models::StagingAdvice> staging;  ///< needs both profiles
  std::vector<models::Finding> findings;
};

/// Collects the launches of specifications that count words and ignores others.
class WordProfiles {
 public:
  void add(const LaunchRecord& record);
  /// By kernel, in order of appearance.
  std::vector<LaunchAdvice> advice() const;

 private:
  /// Limit on launches kept per kernel, the first ones.
  static constexpr std::size_t kept_launches = 64;
  struct Kernel {
    std::string kernel;
    std::string device;
    std::map<std::uint64_t, models::LaunchProfile> launches;
  };
  std::vector<Kernel> kernels_;
};

/// Returns the advice that suggests an action, in lines of up to `width`. Empty if no words were counted.
std::string advice_text(const std::vector<LaunchAdvice>& advice, std::size_t width);

/// Returns advice, findings and heat maps as a section of an html_page().
std::string advice_html(const std::vector<LaunchAdvice>& advice);

}  // namespace lynxpp::report
