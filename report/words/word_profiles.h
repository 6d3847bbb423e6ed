// Counts of words (shared_memory_profile, device_memory_profile) as models read them, and what these advise.
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

/// About one launch of a kernel: of those whose words were counted the one with the most accesses.
struct LaunchAdvice {
  std::string kernel;  ///< mangled
  std::string device;
  std::uint64_t launch = 0;
  std::uint64_t launches = 0;  ///< among which it has the most accesses
  models::LaunchProfile profile;
  std::optional<models::StagingAdvice> staging;  ///< needs both profiles
  std::vector<models::Finding> findings;
};

/// Collects the launches of specifications that count words; the others' are not kept.
class WordProfiles {
 public:
  void add(const LaunchRecord& record);
  /// By kernel, in order of appearance.
  std::vector<LaunchAdvice> advice() const;

 private:
  /// Of a kernel's launches the first ones are kept.
  static constexpr std::size_t kept_launches = 64;
  struct Kernel {
    std::string kernel;
    std::string device;
    std::map<std::uint64_t, models::LaunchProfile> launches;
  };
  std::vector<Kernel> kernels_;
};

/// What of the advice is a matter of doing something, as text of lines up to `width`. Empty: no words were
/// counted.
std::string advice_text(const std::vector<LaunchAdvice>& advice, std::size_t width);

/// Advice, findings and heat maps, as a part of an html_page().
std::string advice_html(const std::vector<LaunchAdvice>& advice);

}  // namespace lynxpp::report
