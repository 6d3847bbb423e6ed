#include "device/cpu/runtime/wanted_checks.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "device/cpu/simt/check/written_memory.h"
#include "support/log.h"
#include "support/setting.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

struct Wanted {
  CheckSelection launches;
  bool leaks = false;
  std::vector<std::uint32_t> seeds = {1};
};

constexpr std::uint32_t most_schedules = 1'000'000;

/// Returns the number in an environment variable; 0 if it is not set or invalid.
std::uint32_t number_in(const char* variable) {
  const char* const value = setting(variable);
  if (value == nullptr) return 0;
  const std::string_view text = value;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), number);
  if (error == std::errc() && end == text.end() && number != 0 && number <= most_schedules) return number;
  log().error("invalid value '{}' of {}; it must be a number from 1 to {}", text, variable, most_schedules);
  return 0;
}

std::vector<std::uint32_t> find_seeds() {
  if (const std::uint32_t seed = number_in("LYNXPP_CPU_CHECK_SEED"); seed != 0) return {seed};
  std::vector<std::uint32_t> seeds(std::max(1u, number_in("LYNXPP_CPU_CHECK_SCHEDULES")));
  std::iota(seeds.begin(), seeds.end(), 1u);
  return seeds;
}

Wanted find_wanted_checks() {
  Wanted wanted;
  const char* const value = setting("LYNXPP_CPU_CHECK");
  if (value == nullptr) return wanted;
  CheckSelection& launches = wanted.launches;
  const std::pair<std::string_view, bool*> checks[] = {{"memory", &launches.memory},
                                                       {"race", &launches.race},
                                                       {"init", &launches.init},
                                                       {"sync", &launches.sync},
                                                       {"leak", &wanted.leaks}};
  for (const std::string& part : split(value, ',')) {
    const std::string_view name = trim(part);
    if (name.empty()) continue;
    const auto* const found = std::ranges::find(checks, name, &std::pair<std::string_view, bool*>::first);
    if (found != std::end(checks)) {
      *found->second = true;
    } else {
      log().error("unknown check '{}' in LYNXPP_CPU_CHECK; checks are memory, race, init, sync and leak",
                  name);
    }
  }
  wanted.seeds = find_seeds();
  if (launches.init) keep_written_memory();
  if (launches.any() && setting("LYNXPP_CPU_CLOCK") != nullptr)
    log().warn("launches are checked (LYNXPP_CPU_CHECK), so no time is modelled");
  return wanted;
}

const Wanted& wanted() {
  static const auto* const found = new Wanted(find_wanted_checks());
  return *found;
}

}  // namespace

const CheckSelection* wanted_checks() {
  const Wanted& all = wanted();
  return all.launches.any() ? &all.launches : nullptr;
}

const std::vector<std::uint32_t>& wanted_seeds() { return wanted().seeds; }

bool wants_leaks() { return wanted().leaks; }

}  // namespace lynxpp::device::cpu
