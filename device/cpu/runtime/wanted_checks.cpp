#include "device/cpu/runtime/wanted_checks.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "device/cpu/simt/check/written_memory.h"
#include "support/log.h"
#include "support/text.h"

namespace lynxpp::device::cpu {
namespace {

struct Wanted {
  CheckSelection launches;
  bool leaks = false;
};

Wanted find_wanted_checks() {
  Wanted wanted;
  const char* const value = secure_getenv("LYNXPP_CPU_CHECK");
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
  if (launches.init) keep_written_memory();
  if (launches.any() && secure_getenv("LYNXPP_CPU_CLOCK") != nullptr)
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

bool wants_leaks() { return wanted().leaks; }

}  // namespace lynxpp::device::cpu
